#!/usr/bin/env bash
# The code compiles, without a warning, for machines that are not at hand: `cargo check` needs neither their linker nor
# their C compiler. The workspace for Windows, and for Linux with 32 bits; for Apple's systems the crates that know Unix (the
# others have the code there that they have on Windows: none of Linux); the library's tests for Windows and for 32 bits;
# the tests of `tenure watch`, all features of the library, the simulator, and the runtime of `tenure run`
# for Linux on Arm; the command for musl; the library without std where atomics have 32 bits at most.
#
# Rustup installs the targets. Where it cannot have the first of a class it takes the next; none of a class is a failure.
#
# Usage: ci/targets.sh [CLASS...]     (windows apple bits32 arm64 musl bare; all of them without arguments)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

declare -A candidates=(
    [windows]="x86_64-pc-windows-gnu x86_64-pc-windows-msvc"
    [apple]="aarch64-apple-darwin x86_64-apple-darwin"
    [bits32]="i686-unknown-linux-gnu armv7-unknown-linux-gnueabihf"
    [arm64]="aarch64-unknown-linux-gnu aarch64-unknown-linux-musl"
    [musl]="x86_64-unknown-linux-musl"
    [bare]="thumbv7em-none-eabi riscv32imac-unknown-none-elf"
)
classes=("$@")
[[ ${#classes[@]} -gt 0 ]] || classes=(windows apple bits32 arm64 musl bare)

# install CLASS : has $target be the first of the class that this machine has, or can get.
install() {
    local said
    for target in ${candidates[$1]:?"targets: there is no class of that name"}; do
        if [[ -d $(rustc --print sysroot)/lib/rustlib/$target/lib ]] || said=$(rustup target add "$target" 2>&1); then
            return
        fi
        echo "targets: $target cannot be installed: $(tail -n 1 <<<"$said")" >&2
    done
    echo "targets: no target of the class '$1' can be installed, so nothing says that the code compiles there" >&2
    exit 1
}

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/targets"
# The dependencies' own warnings are not shown.
export RUSTFLAGS="-D warnings"
# The parsers of tenure-edit are C, which a check does not read: `true` stands in for the other machines' C compilers.
export TARGET_CC=true TARGET_AR=true
check() { cargo check --quiet "$@"; }

# The runtime of `tenure run`, down to machine code, as its assembly is checked there alone.
runtime() {
    if [[ $target != *-linux-gnu ]]; then
        echo "targets: \`tenure run\` has no runtime for $target, so it is not compiled"
        return
    fi
    for line in 64 128; do
        rustc crates/tenure-probe/src/lib.rs --crate-name tsan --crate-type lib --emit obj --edition 2024 --cap-lints allow \
            --cfg tenure_runtime --cfg "tenure_line=\"$line\"" -C panic=abort -C opt-level=3 -C force-frame-pointers=yes \
            --target "$target" -o "$CARGO_TARGET_DIR/runtime-$line.o"
    done
    echo "targets: the runtime of \`tenure run\` compiles for $target"
}

tested=() all=()
for class in "${classes[@]}"; do
    install "$class"
    case $class in
        windows | bits32) all+=(--target "$target") tested+=(--target "$target") ;;
        apple)
            mapfile -t unix < <(grep -lrE 'cfg.*\bunix\b' crates/*/Cargo.toml crates/*/src | cut -d / -f 2 | sort -u | grep -vx tenure-cli)
            check --all-features "${unix[@]/#/--package=}" --target "$target"
            echo "targets: ${unix[*]} compile for $target"
            ;;
        arm64)
            all+=(--target "$target")
            check --package tenure --package tenure-sim --all-features --target "$target"
            check --package tenure-watch --all-targets --target "$target"
            echo "targets: the library, the simulator and the tests of \`tenure watch\` compile for $target"
            runtime
            ;;
        musl)
            check --package tenure-cli --target "$target"
            echo "targets: the command compiles for $target"
            ;;
        bare)
            for features in "" alloc derive; do
                check --package tenure --lib --target "$target" --no-default-features --features "$features"
                echo "targets: tenure with features '$features' compiles for $target"
            done
            ;;
    esac
done
# One command for all that are alike, so that there is work for every core.
if [[ ${#all[@]} -gt 0 ]]; then
    check --workspace "${all[@]}"
    echo "targets: the workspace compiles with ${all[*]}"
fi
if [[ ${#tested[@]} -gt 0 ]]; then
    check --package tenure --all-targets --all-features "${tested[@]}"
    echo "targets: the library's tests compile with ${tested[*]}"
fi
