#!/usr/bin/env bash
# The library without std: builds it for every bare-metal target that is installed, and links a
# program that has no std on this machine. Were std still in it, the program's panic handler would
# be the second one, and its allocator would not be missed: the controls at the end show both.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/no_std"
# Unwinding is std's affair.
export CARGO_PROFILE_DEV_PANIC=abort
host=$(rustc -vV | sed -n 's/^host: //p')
installed=$(ls "$(rustc --print sysroot)/lib/rustlib" | grep -v '^manifest-' | grep -E -- '-none(-|$)' || true)

for target in $host $installed; do
    if ! rustc --print cfg --target "$target" | grep -qx 'target_has_atomic="32"'; then
        echo "no_std: left out $target, which has no 32-bit atomics to exchange: every count needs them"
        continue
    fi
    for features in "" alloc derive; do
        cargo build --quiet --package tenure --lib --target "$target" \
            --no-default-features --features "$features"
        echo "no_std: built for $target with features '$features'"
    done
done

# link FEATURES PROGRAM-CFG... : links ci/no_std.rs to the library with these features.
link() {
    local features=$1 cfg
    local cfgs=()
    shift
    for cfg in "$@"; do cfgs+=(--cfg "$cfg"); done
    cargo build --quiet --package tenure --lib --target "$host" \
        --no-default-features --features "$features"
    rustc --edition 2024 -O -Cpanic=abort -Clink-arg=-nostartfiles "${cfgs[@]}" \
        --extern "tenure=$CARGO_TARGET_DIR/$host/debug/libtenure.rlib" \
        -L "dependency=$CARGO_TARGET_DIR/$host/debug/deps" \
        -o "$CARGO_TARGET_DIR/no_std_program" ci/no_std.rs
}

# fails MESSAGE FEATURES PROGRAM-CFG... : linking fails for this reason.
fails() {
    local message=$1 output
    shift
    if output=$(link "$@" 2>&1); then
        echo "no_std: the control with features '$1' linked, so a link proves nothing" >&2
        exit 1
    fi
    if ! grep -qE "$message" <<<"$output"; then
        echo "no_std: the control with features '$1' failed for another reason:" >&2
        echo "$output" >&2
        exit 1
    fi
    echo "no_std: control with features '$1' does not link: $(grep -m1 -E "$message" <<<"$output")"
}

case $host in
*-linux-*)
    link ""
    echo "no_std: linked without features"
    link alloc allocator
    echo "no_std: linked with alloc and an allocator"
    fails 'panic_impl' std allocator
    fails 'no global memory allocator' alloc
    ;;
*) echo "no_std: no program was linked, for -nostartfiles is Linux's" ;;
esac
