#!/usr/bin/env bash
# Drops each check of the rooms whose protocols are models, one at a time, and says which test notices. Exits with 1 if
# none does and ci/mutants.txt does not say why. Takes hours: by hand, a room at a time.
#
# With --orderings: weakens each ordering instead, at run time in the models. Takes minutes, for lazy an hour: there is
# nothing to build.
# A room is then a module of tests/models that has `orderings`.
#
# Usage: ci/mutants.sh [ROOM...] [--list] [--only REGEX] [--jobs N] [--limit SECONDS] [--work DIR] [--fresh]
#        ci/mutants.sh --orderings [ROOM]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ ${1-} == --orderings ]]; then
    exec cargo test -p tenure --test models -- --ignored --nocapture "${2:+$2::}orderings::each"
fi
exec python3 ci/mutants.py "$@"
