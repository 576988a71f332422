#!/usr/bin/env bash
# Formatting: rustfmt.toml is the only style. And no source file has more than 600 lines.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo fmt --all --check

long=$(git ls-files '*.rs' | xargs wc -l | awk '$2 != "total" && $1 > 600 { print "fmt: " $2 " has " $1 " lines; split it" }')
if [[ -n $long ]]; then
    echo "$long" >&2
    exit 1
fi
