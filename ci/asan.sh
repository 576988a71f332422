#!/usr/bin/env bash
# AddressSanitizer and LeakSanitizer over the library's tests that use real threads: report every access to freed memory,
# and every object that was not destroyed.
#
# Runs on the stable toolchain (RUSTC_BOOTSTRAP). loom's tests are left out: loom switches stacks by
# itself.
#
# Usage: ci/asan.sh [ARGUMENTS OF THE TEST BINARIES]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/sanitizer.sh

export ASAN_OPTIONS="halt_on_error=1 detect_leaks=1 detect_stack_use_after_return=1"
# Counts are words on the stack, without memory to free: stress/ frees it. The other one has an allocator which accounts
# for leaks by itself, and a control that leaks.
LEFT_OUT='^(count|pool_buffers_memory)$' sanitize address "$@"
expect_report address use-after-free "AddressSanitizer: heap-use-after-free"
expect_report address leak "LeakSanitizer: detected memory leaks"
