#!/usr/bin/env bash
# What only a nightly compiler can tell: that `Arc` has what stable Rust does not let it implement (`--cfg tenure_nightly`),
# and that examples which must not compile fail with the error that they name, which a stable rustdoc does not compare.
#
# Runs where rustup has a nightly toolchain, and says so where it has none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! cargo +nightly --version >/dev/null 2>&1; then
    echo "nightly: nothing was checked, for there is no nightly toolchain: rustup toolchain install nightly"
    exit 0
fi
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/nightly"

# The flag for the library and its tests alone, so that both commands share what they depend on. Users have RUSTFLAGS.
tests=()
for file in crates/tenure/tests/arc_*.rs; do tests+=(--test "$(basename "$file" .rs)"); done
cargo +nightly -Zprofile-rustflags --config 'profile.dev.package.tenure.rustflags=["--cfg", "tenure_nightly"]' \
    test -p tenure "${tests[@]}"
cargo +nightly test -p tenure --doc -- arc
