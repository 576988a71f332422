#!/usr/bin/env bash
# The tests that `cargo test` leaves out: those of the instruments, and every documentation example. --workspace, and the others'
# tests left out by name, so that features are those that ci/test.sh has compiled.
set -euo pipefail
cd "$(dirname "$0")/.."
tests=()
for file in crates/*/tests/*.rs crates/*/tests/*/main.rs; do
    case $file in crates/tenure/* | crates/tenure-cli/*) continue ;; esac
    file=${file%/main.rs}
    tests+=(--test "$(basename "$file" .rs)")
done
cargo test --workspace --lib "${tests[@]}"
cargo test --workspace --doc
