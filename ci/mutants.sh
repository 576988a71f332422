#!/usr/bin/env bash
# Weakens each ordering and drops each check of the rooms whose protocols are models, one at a time, and says which
# test notices. Exits with 1 if none does and ci/mutants.txt does not say why. Takes hours: by hand, a room at a time.
#
# Usage: ci/mutants.sh [ROOM...] [--list] [--only REGEX] [--jobs N] [--limit SECONDS] [--work DIR] [--fresh]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec python3 ci/mutants.py "$@"
