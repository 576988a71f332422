#!/usr/bin/env bash
# What only a nightly compiler can tell: that `Arc` has what stable Rust does not let it implement (`--cfg tenure_nightly`),
# and that examples which must not compile fail with the error that they name, which a stable rustdoc does not compare.
#
# Not by `+nightly`: the traits behind the flag change their names now and then.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

source ci/nightly_toolchain.sh
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/nightly"
# No model is run, so loom is not compiled.
export RUSTFLAGS="${RUSTFLAGS:-} --cfg without_loom"

# The flag for the library and its tests alone, so that both commands share what they depend on.
cargo +$toolchain -Zprofile-rustflags --config 'profile.dev.package.tenure.rustflags=["--cfg", "tenure_nightly"]' \
    test -p tenure --test arc
cargo +$toolchain test -p tenure --doc -- arc
