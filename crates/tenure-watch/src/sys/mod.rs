//! The kernel's interfaces: samples, breakpoints, and what `/proc` says of a process.

mod child;
pub(crate) mod guard;
pub(crate) mod lost;
pub(crate) mod machine;
pub(crate) mod perf;
pub(crate) mod process;
pub(crate) mod specimen;
mod tracee;
pub(crate) mod tracer;

pub(crate) use child::now;

pub(crate) use crate::arch::Registers;

/// What a thread did when its clock ticked, or when it met a breakpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sample {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) cpu: u32,
    /// The time on the clock of [`now`].
    pub(crate) time: u64,
    /// Whether the thread was in the kernel. Then the registers are those that it has left the program with.
    pub(crate) is_kernel: bool,
    /// The instruction that would have been next; of a breakpoint that comes before the access, the one that does it.
    pub(crate) ip: u64,
    /// Where the breakpoint is; 0 of a sample.
    pub(crate) address: u64,
    /// None of a 32-bit thread.
    pub(crate) registers: Option<Registers>,
    /// The words from the stack pointer on; zeros after what could be had.
    pub(crate) stack: [u64; Self::STACK],
}

impl Sample {
    /// So many that the samples of a probe fit into a page.
    pub(crate) const STACK: usize = 32;

    /// A word of the stack.
    pub(crate) fn word(&self, address: u64) -> Option<u64> {
        let from = self.registers.as_ref()?.0[Registers::SP];
        let at = usize::try_from(address.checked_sub(from)? / 8).ok()?;
        self.stack.get(at).copied().filter(|_| address.is_multiple_of(8))
    }
}
