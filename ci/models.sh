#!/usr/bin/env bash
# Every model up to its bound. `cargo test` explores the slowest ones with fewer preemptions.
set -euo pipefail
cd "$(dirname "$0")/.."
# --workspace: with the features that ci/instruments.sh has compiled.
TENURE_MODELS=all cargo test --workspace --test models --test segment_models
