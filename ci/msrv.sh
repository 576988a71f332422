#!/usr/bin/env bash
# The oldest toolchain that each crate promises (rust-version) checks the crate. It is installed where it is missing.
#
# Where that does not work, clippy's lint `incompatible_msrv` has compared every use of std's API with the version that
# brought it (ci/clippy.sh), and this sees that the lint denies. It does not know the language's own features, so the line
# that is printed says which of the two it was.
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

# The crates of each version.
declare -A promised
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
    promised[$version]+=" $crate"
done

for version in "${!promised[@]}"; do
    read -ra crates <<<"${promised[$version]}"
    if timeout 120 rustup toolchain install "$version" --profile minimal --no-self-update >/dev/null 2>&1; then
        # One command for all: what they depend on is compiled once.
        cargo "+$version" check --quiet --all-features "${crates[@]/#/--package=}"
        echo "msrv: built with Rust $version: ${crates[*]}"
        continue
    fi
    grep -q '^incompatible_msrv = "deny"$' Cargo.toml || {
        echo "msrv: Cargo.toml does not have clippy deny incompatible_msrv" >&2
        exit 1
    }
    for crate in "${crates[@]}"; do
        grep -A1 '^\[lints\]$' "crates/$crate/Cargo.toml" | grep -q '^workspace = true$' || {
            echo "msrv: crates/$crate/Cargo.toml does not have the lints of the workspace" >&2
            exit 1
        }
    done
    echo "msrv: Rust $version is not installed; by clippy's lint no younger API is used in: ${crates[*]}"
done
