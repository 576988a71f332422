#!/usr/bin/env bash
# AddressSanitizer and LeakSanitizer over the library's tests that use real threads: report every access to freed memory,
# and every object that was not destroyed. A control has to be caught.
#
# Runs on the stable toolchain (RUSTC_BOOTSTRAP). loom's tests are left out: loom switches stacks by itself.
#
# Usage: ci/asan.sh [ARGUMENTS OF THE TEST BINARIES]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export RUSTC_BOOTSTRAP=1
# A quarter of the objects (crates/tenure/tests/stress/main.rs): a tenth of the speed.
export TENURE_STRESS="${TENURE_STRESS:-0.25}"
export ASAN_OPTIONS="halt_on_error=1 detect_leaks=1 detect_stack_use_after_return=1"
host=$(rustc -vV | sed -n 's/^host: //p')

# sanitized COMMAND ARGUMENT... : runs the cargo command on the library with the sanitizer on.
#
# --target, so that build scripts and macros, which run inside the compiler, are not instrumented.
sanitized() {
    local command=$1
    shift
    # --cfg sanitized leaves out loom, which takes longer to compile than the rest. Reports name lines of dependencies, too.
    RUSTFLAGS="-Zsanitizer=address -Cunsafe-allow-abi-mismatch=sanitizer -Cforce-frame-pointers=yes --cfg sanitized" \
        CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/sanitizer-address" \
        cargo --config 'profile.dev.package."*".debug="line-tables-only"' \
        "$command" --package tenure --target "$host" "$@"
}

# expect_report BUG MESSAGE : the sanitizer finds a bug that is there on purpose.
expect_report() {
    local bug=$1 message=$2 output
    if output=$(sanitized run --quiet --example sanitizer_control -- "$bug" 2>&1); then
        echo "asan: the control '$bug' was not reported: $output" >&2
        exit 1
    fi
    if ! grep -qF "$message" <<<"$output"; then
        echo "asan: the control '$bug' failed without '$message': $output" >&2
        exit 1
    fi
    echo "asan: control '$bug' was reported: $(grep -m1 -F "$message" <<<"$output")"
}

# Left out: count/ has words on the stack, without memory to free, which stress/ frees; memory/ has an allocator that
# accounts for leaks by itself; models/ is loom's; and the sanitizer's threads and locks do not follow those of forks/.
targets=(--lib)
for name in arc in_allocator revocable revocable_exit pool registry stress; do
    targets+=(--test "$name")
done
# One test at a time: a report shows the threads of that test and no others. The rules of lines are arithmetic.
sanitized test --all-features "${targets[@]}" -- --test-threads=1 --skip cache_line::rules "$@"
expect_report use-after-free "AddressSanitizer: heap-use-after-free"
expect_report leak "LeakSanitizer: detected memory leaks"
