#!/usr/bin/env bash
# Documentation: builds without a warning, links included.
set -euo pipefail
cd "$(dirname "$0")/.."
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --all-features --no-deps
