#!/usr/bin/env bash
# Lints: no warning, in no combination of the library's features.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo clippy --workspace --all-targets -- -D warnings
# Its tests have all features (Cargo.toml), and are seen above.
cargo clippy -p tenure --all-features -- -D warnings
cargo clippy -p tenure --features registry -- -D warnings
cargo clippy -p tenure --no-default-features -- -D warnings
cargo clippy -p tenure --no-default-features --features alloc,serde -- -D warnings
cargo clippy -p tenure --no-default-features --features derive -- -D warnings
# The runtime is a crate of its own (crates/tenure-probe/build.rs).
RUSTFLAGS="--cfg tenure_runtime -Cpanic=abort" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/runtime" \
    cargo clippy -p tenure-probe --lib -- -D warnings
