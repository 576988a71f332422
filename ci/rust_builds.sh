#!/usr/bin/env bash
# `tenure run` records what cargo builds: with the toolchains that it promises, through a command of cargo that is a program of
# its own, and with each allocator that a program can bring. Downloads the allocators, and the toolchains that are missing.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# snmalloc is built with all three. ci/packages.sh installs them.
for program in c++ make cmake; do
    command -v "$program" >/dev/null || { echo "rust_builds: $program is not installed: run ci/packages.sh first" >&2; exit 1; }
done
cargo build --release
target=$(realpath "${CARGO_TARGET_DIR:-target}")
tenure=$target/release/tenure
cp -r crates/tenure-run/tests/allocators "$out/program"
cd "$out/program"

# Records the program, and checks that its one finding is that of the slots, in one piece.
record() {
    local name=$1
    shift
    # On a busy machine its threads may never meet: then there is no finding, and it runs again.
    for _ in 1 2 3 4 5; do
        "$tenure" run --json "$out/report.json" -- "$@" >"$out/text" 2>&1 || { cat "$out/text"; echo "$name: failed" >&2; exit 1; }
        case $(judge "$out/report.json") in
        found) echo "$name: found"; return ;;
        nothing) ;;
        *) break ;;
        esac
    done
    cat "$out/text"
    echo "$name: the slots are not the one finding" >&2
    exit 1
}

# Says whether the report has the slots, nothing, or something else.
judge() {
    python3 - "$1" <<'PYTHON'
import json, sys
findings = json.load(open(sys.argv[1]))["findings"]
is_slots = len(findings) == 1 and "Slot" in findings[0]["type"] and findings[0]["contended"]["path"].endswith("users")
print("nothing" if findings == [] else "found" if is_slots else "wrong")
PYTHON
}

export CARGO_TARGET_DIR=$target/rust_builds
record "no allocator" cargo run --locked --release
for allocator in mimalloc tikv-jemallocator snmalloc-rs; do
    record "$allocator" cargo run --locked --release --features "$allocator"
done

# As `cargo nextest` and its like, which get no options that are for cargo.
mkdir "$out/bin"
printf '#!/bin/sh\nshift\nexec "$CARGO" run --locked "$@"\n' >"$out/bin/cargo-again"
chmod +x "$out/bin/cargo-again"
PATH=$PATH:$out/bin record "a command that calls cargo" cargo again --release

# GNU ld links for the first two.
for toolchain in 1.85.0 1.88.0; do
    rustup toolchain install "$toolchain" --profile minimal --no-self-update
    record "Rust $toolchain" cargo +"$toolchain" run --locked --release
done
