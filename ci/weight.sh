#!/usr/bin/env bash
# What the code weighs, by crate, against the budgets in ci/weight.txt: lines of source and of tests, and how many type names
# several crates define.
#
# Usage: ci/weight.sh [--list]     (also prints those names)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The check itself: a budget that is exceeded is seen.
planted=$(mktemp)
trap 'rm -f "$planted"' EXIT
echo "tenure 1 1" >"$planted"
if WEIGHTS=$planted python3 ci/weight.py >/dev/null 2>&1; then
    echo "weight: a budget that is exceeded was not seen" >&2
    exit 1
fi

python3 ci/weight.py "$@"
