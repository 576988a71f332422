#!/usr/bin/env bash
# Lints, without a warning: the library's feature combinations that ci/clippy.sh leaves out, and the runtime of `tenure run`.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo clippy -p tenure --all-features -- -D warnings
cargo clippy -p tenure --features registry -- -D warnings
cargo clippy -p tenure --no-default-features --features alloc,serde -- -D warnings
cargo clippy -p tenure --no-default-features --features derive -- -D warnings
# The runtime is a crate of its own (crates/tenure-probe/build.rs).
RUSTFLAGS="--cfg tenure_runtime -Cpanic=abort" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/runtime" \
    cargo clippy -p tenure-probe --lib -- -D warnings
