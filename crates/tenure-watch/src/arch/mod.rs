//! What depends on the processor: its registers and instructions, what a thread that stops has done, and how ptrace sets
//! breakpoints.

// Its decoding is tested on other processors too.
#[cfg(any(target_arch = "aarch64", test))]
#[cfg_attr(not(target_arch = "aarch64"), expect(dead_code, unused_imports))]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64 as this;
#[cfg(target_arch = "x86_64")]
use x86_64 as this;

pub(crate) use this::{
    CALL_BYTES, FRAME, Instruction, MACHINE, NAME, RETURN, Registers, STACK, TRAPS, USER_END,
    VENDOR, call_before, code_address, data_address, system_call, traced,
};

/// A request to ptrace: an enum in glibc, an `int` in other C libraries.
#[cfg(target_env = "gnu")]
pub(crate) type PtraceRequest = nix::libc::c_uint;
#[cfg(not(target_env = "gnu"))]
pub(crate) type PtraceRequest = nix::libc::c_int;

/// The debug registers of a thread, at most.
pub(crate) const WORDS: usize = 4;

/// A breakpoint turns itself off after so many hits: two in a row tell a lock's taking from its release, and a load from the
/// store that follows it. There has to be an end: on aarch64 the kernel's step over a load exclusive makes its store fail.
///
/// With ptrace it is less on aarch64, where a thread meets a breakpoint before the access, and once more as it goes on. A store
/// or an atomic instruction takes both hits, for one sample: a lock's release is not met after its taking. A load exclusive
/// and its store take both, for two samples of one operation. After a load the breakpoint is for stores alone, and the word
/// counts as watched all the same: later loads are missed, so their rate is too low.
pub(crate) const HITS: u8 = 2;

/// What a thread has stopped for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Stop {
    Clock,
    Breakpoint,
}

/// What a turn of a walk along a list loaded, over the address of the node that it loaded it from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WalkStep {
    pub(crate) loaded: u64,
    /// Bytes from the node to where it was.
    pub(crate) offset: u64,
}

/// Reads bytes of code. Whether all of them could be read.
pub(crate) type Read<'a> = &'a dyn Fn(u64, &mut [u8]) -> bool;

/// Where a thread has stopped.
pub(crate) struct Stopped<R> {
    pub(crate) ip: u64,
    pub(crate) stack: u64,
    /// None of a 32-bit thread.
    pub(crate) registers: Option<R>,
    /// Whether it is in the kernel.
    pub(crate) is_call: bool,
}
