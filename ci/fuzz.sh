#!/usr/bin/env bash
# The fuzz targets compile. Each folder of them is a workspace of its own, which no other check builds. What the targets do
# with bytes, `cargo test` does with the seeds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# libFuzzer is C++, and nothing is linked here.
export CUSTOM_LIBFUZZER_PATH=/is-not-linked/libfuzzer.a
for fuzz in crates/*/fuzz; do
    # The workspace's versions: a check does not fail through a release of another crate.
    cp Cargo.lock "$fuzz/Cargo.lock"
    # With the workspace's target directory, for most of what they depend on has been checked there.
    cargo check --manifest-path "$fuzz/Cargo.toml" --target-dir "${CARGO_TARGET_DIR:-target}"
done
