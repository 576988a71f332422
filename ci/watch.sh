#!/usr/bin/env bash
# By hand, on a machine where programs can be watched: each known fault is found and each control is silent, again and
# again, watched for 4 s as `tenure watch` does by default. TENURE_RUNS says how often each fault is run (20), and
# TENURE_CONTROLS each control (100); hours for all six builds, of which TENURE_BUILDS names some. With BUSY=1 two busy
# loops run beside it.
set -euo pipefail
cd "$(dirname "$0")/.."
loops=()
trap '((${#loops[@]} == 0)) || kill "${loops[@]}"' EXIT
if [[ ${BUSY-} == 1 ]]; then
  for _ in 1 2; do
    (while :; do :; done) &
    loops+=($!)
  done
fi
cargo test -p tenure-watch --test cases -- --ignored --exact --nocapture all_cases_again_and_again
