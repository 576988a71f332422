#!/usr/bin/env bash
# Miri over the library's quick tests, by Tree Borrows. ci/miri.sh has Stacked Borrows.
set -euo pipefail
exec "$(dirname "$0")/miri.sh" --trees
