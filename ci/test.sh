#!/usr/bin/env bash
# CONTRIBUTING's first command: every test, loom models and documentation examples included.
set -euo pipefail
cd "$(dirname "$0")/.."
host=$(rustc -vV | sed -n 's/^host: //p')
host=${host^^}
export "CARGO_TARGET_${host//-/_}_RUNNER=$PWD/ci/runner.sh"
cargo test
