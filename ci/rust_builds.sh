#!/usr/bin/env bash
# `tenure run` records what cargo builds: with the toolchains that it promises, through a command of cargo that is a program of
# its own, and with each allocator that a program can bring. Downloads the allocators; snmalloc needs cmake.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cargo --config ci/release.toml build --release
tenure=$PWD/target/release/tenure
target=$PWD/target/rust_builds
cp -r crates/tenure-run/tests/allocators "$out/program"
cd "$out/program"

# Records the program, and sees that its one finding is that of the slots, in one piece.
record() {
    local name=$1 tries
    shift
    # Its threads may not have met on a busy machine.
    for tries in 1 2 3 4 5; do
        "$tenure" run --json "$out/report.json" -- "$@" >"$out/text" 2>&1 || { cat "$out/text"; echo "$name: failed" >&2; exit 1; }
        if python3 - "$out/report.json" <<'PYTHON'; then echo "$name: found"; return; fi
import json, sys
findings = json.load(open(sys.argv[1]))["findings"]
sys.exit(not (len(findings) == 1 and "Slot" in findings[0]["type"] and findings[0]["contended"]["path"].endswith("users")))
PYTHON
    done
    cat "$out/text"
    echo "$name: the slots are not the one finding" >&2
    exit 1
}

export CARGO_TARGET_DIR=$target
record "no allocator" cargo run --release
for allocator in mimalloc tikv-jemallocator snmalloc-rs; do
    record "$allocator" cargo run --release --features "$allocator"
done

# As `cargo nextest` and its like, which get no options that are for cargo.
mkdir "$out/bin"
printf '#!/bin/sh\nshift\nexec "$CARGO" run "$@"\n' >"$out/bin/cargo-again"
chmod +x "$out/bin/cargo-again"
PATH=$PATH:$out/bin record "a command that calls cargo" cargo again --release

# GNU ld links for the first two.
for toolchain in 1.85.0 1.88.0; do
    rustup toolchain install "$toolchain" --profile minimal --no-self-update >/dev/null 2>&1 ||
        { echo "skipped: rustup cannot install $toolchain"; continue; }
    record "Rust $toolchain" cargo +"$toolchain" run --release
done
