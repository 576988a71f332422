#!/usr/bin/env bash
# Documentation: builds without a warning, links included; the library's as users see it, too (no feature `raw`).
set -euo pipefail
cd "$(dirname "$0")/.."
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --all-features --no-deps
RUSTDOCFLAGS="-D warnings" cargo doc -p tenure --no-deps \
    --features arc-swap,bytes,derive,metrics,registry,seize,serde,stable_deref_trait
