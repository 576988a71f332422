#!/usr/bin/env bash
# CONTRIBUTING's first command: every test, loom models and documentation examples included; then
# what only the feature `serde` compiles, which no test asks for.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo test
cargo test -p tenure --all-features --lib --test arc_traits
