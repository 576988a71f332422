//! The runtime that `tenure run` gives an instrumented program, and the form in which it writes what it sees.
//!
//! Compilers insert a call before each access under `-fsanitize=thread`. The library here takes the place of
//! ThreadSanitizer's runtime: it looks for contended lines, not for data races. The same sources are two
//! crates: compiled by cargo they are this one, for programs that read what was recorded; the build script compiles
//! them again, with `--cfg tenure_runtime`, to the shared libraries that [`library`] returns.
#![cfg_attr(tenure_runtime, no_std)]

pub mod segment;

#[cfg(all(
    any(tenure_runtime, test),
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#[cfg_attr(not(tenure_runtime), expect(dead_code, reason = "the tests do not use all of it"))]
mod runtime;

/// The runtime for lines of 64 or 128 bytes: a shared library that takes the place of `libtsan.so.2`, for the target of
/// this crate. `None` where there is none, and for other lines: it is for Linux with glibc, on x86-64 and aarch64.
#[cfg(not(tenure_runtime))]
#[must_use]
pub fn library(line_bytes: u32) -> Option<&'static [u8]> {
    const LIBRARIES: Option<[&[u8]; 2]> = include!(concat!(env!("OUT_DIR"), "/libraries.rs"));
    let [of_64, of_128] = LIBRARIES?;
    match line_bytes {
        64 => Some(of_64),
        128 => Some(of_128),
        _ => None,
    }
}
