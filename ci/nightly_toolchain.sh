# Sourced by the scripts that need a nightly toolchain: names it as `toolchain`, and installs it where it is missing.
#
# Pinned, so that a check fails through a change of this repository and through nothing else. To move it on, take a date
# for which https://rust-lang.github.io/rustup-components-history has Miri.

toolchain=nightly-2026-10-30
if ! cargo +$toolchain miri --version >/dev/null 2>&1 ||
    [[ ! -d $(rustc +$toolchain --print sysroot)/lib/rustlib/src/rust/library ]]; then
    rustup toolchain install $toolchain --profile minimal --component miri --component rust-src --no-self-update
fi
