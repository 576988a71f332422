//! x86-64.

mod code;
mod decode;
mod trace;
pub(crate) mod traced;

pub(crate) use code::Instruction;
use gimli::{Register, Vendor};

/// Name of the architecture, as users write it.
pub(crate) const NAME: &str = "x86-64";

/// What an ELF file of its programs says.
pub(crate) const MACHINE: u16 = object::elf::EM_X86_64.0;

/// First address after the last that a program can have.
pub(crate) const USER_END: u64 = 1 << 47;

/// The codes of a SIGTRAP that comes of a debug register: `TRAP_BRKPT` and `TRAP_HWBKPT`. That of a breakpoint instruction
/// has another one.
pub(crate) const TRAPS: &[i32] = &[1, 4];

/// DWARF's numbers of `rbp`, `rsp` and the return address.
pub(crate) const FRAME: Register = Register(6);
pub(crate) const STACK: Register = Register(7);
pub(crate) const RETURN: Register = Register(16);
pub(crate) const VENDOR: Vendor = Vendor::Default;

/// The general registers of a thread, in the order of perf's masks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Registers(pub(crate) [u64; Self::COUNT]);

impl Registers {
    /// `ax bx cx dx si di bp sp`, `ip`, and `r8` to `r15`.
    pub(crate) const COUNT: usize = 17;
    /// The bits of these in perf's mask. Between `ip` and `r8` are flags and segments.
    pub(crate) const MASK: u64 = 0xff_01ff;
    pub(crate) const BP: usize = 6;
    pub(crate) const SP: usize = 7;
    const R8: usize = 9;
    /// Where Go keeps its goroutine: `r14`.
    pub(crate) const GOROUTINE: usize = Self::R8 + 6;

    /// The return address of a function that has called no other one yet; calls leave it on the stack.
    pub(crate) fn link(&self) -> Option<u64> {
        None
    }
}

/// An address without what the processor ignores: nothing here.
pub(crate) fn data_address(pointer: u64) -> u64 {
    pointer
}

/// The address that a word of the stack holds, if it is one of code.
pub(crate) fn code_address(word: u64) -> u64 {
    word
}
