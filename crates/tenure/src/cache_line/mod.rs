//! Cache lines: the unit in which cores take memory from each other.
//!
//! A word that many cores write drags its whole line from cache to cache, and with it every field on that line. Two
//! constants describe a processor:
//!
//! - [`LINE_BYTES`]: the line of the coherence protocol.
//! - [`ISOLATION_BYTES`]: how far apart two values must start so that neither disturbs the other. More than a line if
//!   the processor fetches lines in pairs, or if cores of one family differ.
//!
//! [`CachePadded<T>`](CachePadded) puts a value on a line of its own. `#[derive(LineLayout)]` lets the compiler check that
//! fields which need different lines have them.
//!
//! # Checked by the compiler
//!
//! Linux kept the count of its routes 16 bytes ahead of a pointer that every packet reads: each get and put of the
//! count took the pointer's line from all other cores. This outline of the struct does not compile:
//!
#![cfg_attr(feature = "derive", doc = "```compile_fail,E0080")]
#![cfg_attr(not(feature = "derive"), doc = "```ignore")]
//! use std::sync::atomic::AtomicU32; use tenure::cache_line::LineLayout;
//!
//! #[derive(LineLayout)]
//! #[repr(C, align(64))]
//! struct Route {
//!     #[line(read_mostly)]
//!     gateway: [u64; 8],
//!     #[line(contended)] // every core adds and subtracts one
//!     refs: AtomicU32,
//!     last_used: u64,
//!     #[line(read_mostly)] // by every core, after each get
//!     tunnel: usize,
//!     #[line(cold)]
//!     deferred: [usize; 6],
//! }
//! ```
//!
//! ```text
//! error[E0080]: evaluation panicked: the cache lines of `Route`:
//!                 - contended `refs` (offset 64, 4 bytes) shares line 1 with read-mostly `tunnel` (offset 80, 8 bytes)
//!                 = note: a line has 64 bytes
//!                 = help: order the fields by who touches them, cold ones in between; or wrap the smaller side in `tenure::cache_line::CachePadded`
//! ```
//!
//! With the advice taken, the cold field fills the line of the count, and the struct has not grown:
//!
// Elsewhere lines may have more than 64 bytes, and `gateway` would be on the count's.
#![cfg_attr(all(feature = "derive", target_arch = "x86_64"), doc = "```")]
#![cfg_attr(not(all(feature = "derive", target_arch = "x86_64")), doc = "```ignore")]
//! # use std::sync::atomic::AtomicU32;
//! # use tenure::cache_line::LineLayout;
//! #[derive(LineLayout)]
//! #[repr(C, align(64))]
//! struct Route {
//!     #[line(read_mostly)]
//!     gateway: [u64; 8],
//!     #[line(contended)]
//!     refs: AtomicU32,
//!     last_used: u64,
//!     #[line(cold)]
//!     deferred: [usize; 6],
//!     #[line(read_mostly)]
//!     tunnel: usize,
//! }
//! # assert_eq!(size_of::<Route>(), 192);
//! ```
//!
//! The derive's documentation has all attributes. `repr(C)` is not required: without it the compiler orders the fields,
//! and the result is checked. Then wrap the contended field in [`CachePadded`], since no order of the source keeps it away
//! from the others.
//!
//! # The rules
//!
//! 1. **A contended field shares no line with a read-mostly one**, and none with a contended one of another group: a
//!    queue's head and tail, say, in groups "producer" and "consumer". Contended fields of one group, or without one,
//!    may share: a lock and what it guards should.
//! 2. **A group lies on one line**, or on as many as the struct declares. Every line that holds a byte of the group
//!    counts; the padding of a [`CachePadded`] field does not. If a field's type is a type parameter, which may be a
//!    `CachePadded`, neither do the last bytes that its alignment may have added.
//! 3. **A struct that is assumed to start on a line** (`#[line(assume_aligned)]`) is embedded only where it does.
//!
//! The fields of a struct in an `embed` field count as the outer struct's own, to any depth: in Linux the second victim
//! of that count sat in the struct around it. Messages give the path, `dst.refs`, and offsets from the start of the
//! outermost struct. Groups stay their struct's own, except in rule 1, where groups of one name are one.
//!
//! Fields that are `cold` or have no role or no bytes may lie anywhere.
//!
//! **A struct may start in the middle of a line** if its alignment is less than a line. Fields then break a rule if
//! they do so at *any* address that the alignment allows, so that what compiles is right for each allocator, and as a
//! part of anything. The remedy is `#[repr(align(64))]`, a [`CachePadded`] field (which aligns the struct around it), or
//! `#[line(assume_aligned)]`, with which the author vouches for the allocator.
//!
//! **A line has [`LINE_BYTES`]**, not [`ISOLATION_BYTES`]. Within a line false sharing is certain; across a pair of
//! lines it depends on a prefetcher, and a pair for one word costs twice the bytes. Linux's repair has the count and
//! its readers in neighbouring lines. `#[line(apart = ISOLATION_BYTES)]` asks rule 1 for more. The compiler's target
//! decides: a struct that compiles for x86-64 may not for s390x.
//!
//! # Costs and limits
//!
//! - Compile time only: the check is a constant, and adds nothing to a program that does not read
//!   [`LineLayout::LAYOUT`].
//! - Declared, not measured: nothing finds out who writes a field. An unmarked field is not looked at. An array is one
//!   block of bytes, and so is a field whose type is not `embed`ded.
//! - A struct's last line may hold other objects, and so may its first one if it is not aligned; so do the elements of
//!   an array. `#[repr(align(64))]` and [`CachePadded`] make a struct fill its lines.
//! - Generic structs are checked per instance, where [`check`] is called.

mod layout;
mod padded;
mod report;
mod rules;

pub use layout::{Field, Layout, LineLayout, Role};
pub use padded::CachePadded;
#[doc(hidden)]
pub use padded::{Used, UsedBytes};
pub use rules::check;
#[cfg(feature = "derive")]
pub use tenure_derive::LineLayout;

/// The bytes that move together between caches on this architecture.
///
/// | architecture | bytes | source |
/// |---|---|---|
/// | x86, x86-64 | 64 | Intel 64 and IA-32 Optimization Reference Manual, cache hierarchy tables; AMD Software Optimization Guide for family 1Ah |
/// | AArch64 | 64, Apple 128 | Arm Neoverse N1 and V2 Technical Reference Manuals; `sysctl hw.cachelinesize` on Apple silicon |
/// | powerpc64 | 128 | Power ISA implementations since POWER4; Linux `arch/powerpc/include/asm/cache.h` |
/// | s390x | 256 | z/Architecture; Linux `arch/s390/include/asm/cache.h` |
/// | riscv64, loongarch64 | 64 | Linux `arch/riscv/include/asm/cache.h`, `arch/loongarch/include/asm/cache.h` |
/// | others | 64 | the largest line of their current cores (32-bit Arm has 32 and 64) |
pub const LINE_BYTES: usize = if cfg!(any(
    target_arch = "powerpc64",
    all(target_arch = "aarch64", target_vendor = "apple")
)) {
    128
} else if cfg!(target_arch = "s390x") {
    256
} else {
    64
};

/// The distance at which two values no longer disturb each other: the alignment of [`CachePadded`].
///
/// | architecture | bytes | source |
/// |---|---|---|
/// | x86-64 | 128 | the spatial prefetcher fetches lines in aligned pairs: Intel 64 and IA-32 Optimization Reference Manual, "Data Prefetching"; folly `lang/Align.h` measured it |
/// | AArch64 | 128 | big.LITTLE parts mix cores of 64- and 128-byte lines, Apple's have 128: <https://go.dev/src/internal/cpu/cpu_arm64.go> pads likewise |
/// | others | [`LINE_BYTES`] | |
pub const ISOLATION_BYTES: usize =
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) { 128 } else { LINE_BYTES };

/// The index of the line that holds `address`.
///
/// ```
/// use tenure::cache_line::{LINE_BYTES, line_of};
///
/// assert_eq!(line_of(0), line_of(LINE_BYTES - 1));
/// assert_ne!(line_of(0), line_of(LINE_BYTES));
/// ```
#[must_use]
pub const fn line_of(address: usize) -> usize {
    address / LINE_BYTES
}
