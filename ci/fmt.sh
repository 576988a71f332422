#!/usr/bin/env bash
# Formatting: rustfmt.toml is the only style.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo fmt --all --check
