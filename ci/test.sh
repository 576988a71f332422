#!/usr/bin/env bash
# CONTRIBUTING's first command: every test, loom models and documentation examples included.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo test
