#!/usr/bin/env bash
# The public face of the library, as users see it (all features): compares it with
# crates/tenure/public-api.txt, counts its types, and refuses more than 42, and two of one name but `Stats`, of which each
# module may have one.
#
# Usage: ci/public_api.sh [--update]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/nightly_toolchain.sh

target=${CARGO_TARGET_DIR:-target}/public_api
# Lists of items as JSON are what needs the nightly compiler.
RUSTDOCFLAGS="-Zunstable-options --output-format json --cap-lints allow" \
    cargo "+$toolchain" doc --quiet --package tenure --lib --no-deps --target-dir "$target" \
    --all-features
exec python3 ci/public_api.py "$target/doc/tenure.json" crates/tenure/public-api.txt "$@"
