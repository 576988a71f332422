//! The runtime that `tenure run` gives an instrumented program, and the form in which it writes what it sees.

pub mod segment;

/// The runtime: a shared library for this crate's target that takes the place of `libtsan.so.2`. `None` where there is
/// none (it runs on Linux, on x86-64 and aarch64).
pub const LIBRARY: Option<&[u8]> = None;
