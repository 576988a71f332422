//! What the kernel is asked for: samples, breakpoints, and what `/proc` says of a process.

mod child;
pub(crate) mod guard;
pub(crate) mod lost;
pub(crate) mod perf;
pub(crate) mod process;
pub(crate) mod specimen;
mod tracee;
pub(crate) mod tracer;

pub(crate) use child::now;

/// The general registers of a thread, in the order of perf's masks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Registers(pub(crate) [u64; Self::COUNT]);

impl Registers {
    /// `ax bx cx dx si di bp sp`, `ip`, and `r8` to `r15`.
    const COUNT: usize = 17;
    /// The bits of these in perf's mask. Between `ip` and `r8` are flags and segments.
    pub(crate) const MASK: u64 = 0xff_01ff;
    pub(crate) const BP: usize = 6;
    pub(crate) const SP: usize = 7;
    pub(crate) const R8: usize = 9;
}

/// What a thread did when its clock ticked, or when it met a breakpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sample {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) cpu: u32,
    /// Of the clock of [`now`].
    pub(crate) time: u64,
    /// The instruction that would have been next.
    pub(crate) ip: u64,
    /// Of a breakpoint: where it is.
    pub(crate) address: u64,
    /// None of a 32-bit thread.
    pub(crate) registers: Option<Registers>,
    /// The words from the stack pointer on; zeros behind what could be had.
    pub(crate) stack: [u64; Self::STACK],
}

impl Sample {
    /// So many that the samples of a look fit into a page.
    pub(crate) const STACK: usize = 32;
}
