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

/// Bytes of the longest call.
pub(crate) const CALL_BYTES: usize = 7;

/// The call right before an address, if the code there, which ends at the address, is one: where it goes, if it says so.
pub(crate) fn call_before(code: &[u8; CALL_BYTES], end: u64) -> Option<Option<u64>> {
    /// The `/2` of a ModRM byte.
    const REG: u8 = 0o20;
    let is_call = |at: usize| code[at] == 0xff && code[at + 1] & 0o70 == REG;
    if code[2] == 0xe8 {
        let distance = i32::from_le_bytes([code[3], code[4], code[5], code[6]]);
        return Some(Some(end.wrapping_add_signed(distance.into())));
    }
    // Through a register or memory: a call is two to seven bytes long, with or without a prefix before.
    (0..CALL_BYTES - 1).any(is_call).then_some(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_says_where_it_goes_unless_a_register_does() {
        let direct = [0x90, 0x90, 0xe8, 0xfb, 0xff, 0xff, 0xff];
        assert_eq!(call_before(&direct, 0x1000), Some(Some(0xffb)));
        // call rax; call [rip + 4].
        assert_eq!(call_before(&[0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0], 0x1000), Some(None));
        assert_eq!(call_before(&[0x90, 0xff, 0x15, 4, 0, 0, 0], 0x1000), Some(None));
        assert_eq!(call_before(&[0x90; CALL_BYTES], 0x1000), None);
        // jmp rax.
        assert_eq!(call_before(&[0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0], 0x1000), None);
    }
}
