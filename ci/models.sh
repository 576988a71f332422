#!/usr/bin/env bash
# Every model up to its bound. `cargo test` explores the slowest ones with fewer preemptions.
set -euo pipefail
cd "$(dirname "$0")/.."
# No --package: with the features that ci/test.sh has compiled.
TENURE_MODELS=all cargo test --test models
