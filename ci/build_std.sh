#!/usr/bin/env bash
# `tenure run --build-std`: std is recorded where cargo compiles it. Its source comes with the nightly toolchain.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

source ci/nightly_toolchain.sh
TENURE_TOOLCHAIN=$toolchain cargo test -p tenure-run --test cases -- --ignored std_is_instrumented
