#!/usr/bin/env bash
# The servers as programs, with the clients that other people wrote: all of them, installed where they are missing.
#
# Not called by .ci/run, where ci/test.sh runs these tests among all others, after ci/clients.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
ci/clients.sh
TENURE_CLIENTS=required cargo test -p tenure-cli --test command serve::
