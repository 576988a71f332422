#!/usr/bin/env bash
# Drops each check and each step of the library, one at a time, and says which test notices. Exits with 1 if none does and
# ci/mutants.txt does not say why. Takes hours: by hand, a room at a time.
#
# With --orderings: weakens each ordering instead, at run time in the models. Takes minutes, for revocable an hour.
#
# Usage: ci/mutants.sh [ROOM...] [--orderings] [--list] [--only REGEX] [--quick] [--jobs N]
#        [--limit SECONDS] [--work DIR] [--fresh]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec python3 ci/mutants.py "$@"
