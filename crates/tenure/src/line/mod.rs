//! Cache lines: the unit in which cores take memory from each other.
//!
//! A word that many cores write drags its whole line from cache to cache, and with it every field
//! that happens to share the line. Two constants describe a processor:
//!
//! - [`LINE_BYTES`]: the line of the coherence protocol. Fields within one line share their fate.
//! - [`ISOLATION_BYTES`]: how far apart two values must start so that neither disturbs the other.
//!   Larger than a line where the processor fetches lines in pairs, or where cores of one family
//!   differ.
//!
//! [`Isolated<T>`](Isolated) puts a value on a line of its own.

mod isolated;
mod layout;
mod report;
mod rules;

pub use isolated::Isolated;
pub use layout::{Field, Layout, LineLayout, Role, check};
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
/// | others | 64 | the largest line of their current cores (32-bit Arm has 32 and 64): isolating too far costs bytes, too near costs time |
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

/// The distance at which two values no longer disturb each other: the alignment of [`Isolated`].
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
/// use tenure::line::{LINE_BYTES, line_of};
///
/// assert_eq!(line_of(0), line_of(LINE_BYTES - 1));
/// assert_ne!(line_of(0), line_of(LINE_BYTES));
/// ```
#[must_use]
pub const fn line_of(address: usize) -> usize {
    address / LINE_BYTES
}
