#!/usr/bin/env bash
# ThreadSanitizer over the library's tests that use real threads: reports two accesses of which one
# writes and that no ordering keeps apart, which a plain run survives nearly always.
#
# Runs on the stable toolchain (RUSTC_BOOTSTRAP). std is not instrumented, so the tests synchronise
# by the library's own atomics. loom's tests are left out: loom switches stacks by itself.
#
# Usage: ci/tsan.sh [ARGUMENTS OF THE TEST BINARIES]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/sanitizer.sh

# halt_on_error: the first report fails the test, where its output is still near. atexit_sleep_ms: 1,000 otherwise, in which
# other threads go on, and tests/lazy_exit.rs ends 160 processes.
export TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 atexit_sleep_ms=20 suppressions=$PWD/ci/tsan.supp"
# Left out: what has one thread (counts, models, interruptions, random operations), and what has threads that meet in
# std's channels, scopes and `Arc`s. The races of counts, pools and registries are stress/'s subject.
LEFT_OUT='^(count|in_allocator|pool(_buffers_memory)?|registry)$' sanitize thread \
    --skip interrupted:: --skip model:: --skip every_sequence_of_operations "$@"
sanitized thread test tenure --all-features --test pool -- --test-threads=1 threads:: "$@"
expect_report thread race "ThreadSanitizer: data race"
