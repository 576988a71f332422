#!/usr/bin/env bash
# How ci/test.sh runs each test binary: loom's models one at a time. They map and unmap a stack for each thread of each
# execution, and two of them in one process wait for each other there: a third more processor time.
[[ ${1##*/} != models-* ]] || export RUST_TEST_THREADS=1
exec "$@"
