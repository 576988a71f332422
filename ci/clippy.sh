#!/usr/bin/env bash
# Lints, without a warning: the workspace, and the library without its default features. ci/features.sh has the other combinations.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo clippy --workspace --all-targets -- -D warnings
# Its tests have all features (Cargo.toml), and are seen above.
cargo clippy -p tenure --no-default-features -- -D warnings
