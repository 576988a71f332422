#!/usr/bin/env bash
# Miri over the library's tests: reports undefined behaviour of every access that they make, by the stricter model of what
# pointers may alias, Stacked Borrows. Installs a nightly toolchain with Miri where it is missing.
#
# Without tests it runs those that take seconds, with few objects and few turns (`cfg!(miri)`). Tests of machine
# code, of forks and of a process's end do not run under Miri, nor do the models: loom switches stacks by itself.
#
# Usage: ci/miri.sh [--trees] [--target TARGET] [TEST...]     (ci/miri.sh pool registry)
#   --trees                             by the other model, Tree Borrows
#   --target i686-unknown-linux-gnu     32 bits
#   --target s390x-unknown-linux-gnu    big endian
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

arguments=() skip=() borrows=
if [[ ${1:-} == --trees ]]; then
    borrows=-Zmiri-tree-borrows
    shift
fi
if [[ ${1:-} == --target ]]; then
    arguments+=(--target "${2:?miri: --target wants the name of one}")
    shift 2
fi
tests=("$@")

source ci/nightly_toolchain.sh

if [[ ${#tests[@]} -eq 0 ]]; then
    arguments+=(--lib)
    # The rules of lines are arithmetic, without a pointer; the scheme `Verified` does all that `Shootdown` does, and then
    # looks. The rest takes minutes.
    skip=(-- --skip cache_line::rules --skip behaviour::shootdown:: --skip like_std:: --skip foreign:: --skip traits:: --skip types:: --skip waits::
        --skip buffers --skip contents:: --skip limits:: --skip lists:: --skip slots --skip turns::
        --skip rcu_cell --skip destructors:: --skip forgotten::
        --skip threads::shootdown --skip threads::counted:: --skip threads::mask::)
    tests=(arc revocable pool)
fi
arguments+=("${tests[@]/#/--test=}")

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/miri"
export CARGO_INCREMENTAL=0
MIRIFLAGS="${MIRIFLAGS:-} -Zmiri-strict-provenance $borrows" \
    cargo +$toolchain miri test --quiet --package tenure --all-features "${arguments[@]}" "${skip[@]}"
