#!/usr/bin/env bash
# The oldest toolchain that each crate promises (rust-version). Where that toolchain is installed,
# it checks the crate; elsewhere clippy's lint `incompatible_msrv` compares every use of std's API
# with the version that brought it. The lint does not know the language's own features, so
# the line that is printed says which of the two it was.
#
# Usage: ci/msrv.sh [CRATE...]   (all of them without arguments)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/msrv"
version_in() { sed -n 's/^rust-version = "\([0-9.]*\)"$/\1/p' "$1"; }

crates=("$@")
if [[ ${#crates[@]} -eq 0 ]]; then
    for manifest in crates/*/Cargo.toml; do crates+=("$(basename "$(dirname "$manifest")")"); done
fi

for crate in "${crates[@]}"; do
    manifest=crates/$crate/Cargo.toml
    version=$(version_in "$manifest")
    if [[ -z $version ]] && grep -q '^rust-version.workspace = true$' "$manifest"; then
        version=$(version_in Cargo.toml)
    fi
    if [[ -z $version ]]; then
        echo "msrv: $manifest promises no rust-version; add one" >&2
        exit 1
    fi
    toolchain=$(rustup toolchain list 2>/dev/null | grep -oE "^$version(\.[0-9]+)?-[^ ]+" | head -1 || true)
    if [[ -n $toolchain ]]; then
        cargo "+$toolchain" check --quiet --package "$crate" --all-features
        echo "msrv: $crate builds with Rust $version (toolchain $toolchain)"
    else
        cargo clippy --quiet --package "$crate" --all-features -- -D clippy::incompatible_msrv
        echo "msrv: $crate uses no API younger than Rust $version (clippy; that toolchain is not installed)"
    fi
done
