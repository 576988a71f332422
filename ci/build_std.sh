#!/usr/bin/env bash
# `tenure run --build-std`: std is recorded where cargo compiles it. Its source comes with the nightly toolchain.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

source ci/nightly_toolchain.sh
# --workspace: with the features that ci/instruments.sh has compiled. std is not optimised: that takes longer than to run it.
TENURE_TOOLCHAIN=$toolchain CARGO_PROFILE_RELEASE_OPT_LEVEL=0 cargo test --workspace --test cases -- --ignored std_is_instrumented
