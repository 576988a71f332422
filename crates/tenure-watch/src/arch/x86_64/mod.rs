//! x86-64.

mod code;
mod decode;
mod trace;
pub(crate) mod traced;

pub(crate) use code::Instruction;
use gimli::Vendor;
use iced_x86::{FlowControl, Mnemonic, OpKind, Register};

use super::Read;

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
pub(crate) const FRAME: gimli::Register = gimli::Register(6);
pub(crate) const STACK: gimli::Register = gimli::Register(7);
pub(crate) const RETURN: gimli::Register = gimli::Register(16);
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
    pub(crate) const IP: usize = 8;
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

/// The system call by which a thread has entered the kernel that would go on at an address, if it was one: its number, if that is
/// known. This word is on top of its stack. The kernel has overwritten the register that had the number.
pub(crate) fn system_call(ip: u64, _: &Registers, top: u64, read: Read<'_>) -> Option<Option<u64>> {
    let before = |at| decode::before(at, read);
    let call = before(ip).filter(|one| one.mnemonic() == Mnemonic::Syscall)?;
    // `syscall` is given the number, and leaves its caller on top.
    let is_call = |one: &iced_x86::Instruction| {
        matches!(one.flow_control(), FlowControl::Call | FlowControl::IndirectCall)
    };
    let given = || constant(before(top).filter(is_call)?.ip(), Register::RDI, read);
    Some(constant(call.ip(), Register::RAX, read).or_else(given))
}

/// The number that a register has before an instruction, if the code right before that writes it there.
fn constant(at: u64, register: Register, read: Read<'_>) -> Option<u64> {
    /// C libraries load other arguments after the number.
    const MAX_INSTRUCTIONS: usize = 8;
    let mut at = at;
    for _ in 0..MAX_INSTRUCTIONS {
        let one = decode::before(at, read)?;
        if one.flow_control() != FlowControl::Next {
            return None;
        }
        if one.op0_kind() == OpKind::Register && one.op0_register().full_register() == register {
            return match (one.mnemonic(), one.op1_kind()) {
                (Mnemonic::Mov, OpKind::Immediate32 | OpKind::Immediate32to64) => {
                    Some(one.immediate(1))
                }
                (Mnemonic::Xor, OpKind::Register) if one.op1_register() == one.op0_register() => {
                    Some(0)
                }
                _ => None,
            };
        }
        at = one.ip();
    }
    None
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
    fn a_system_calls_number_stands_before_it() {
        for (code, expected) in [
            // mov eax, 202; mov r10, rcx; syscall.
            (&[0xb8, 0xca, 0, 0, 0, 0x49, 0x89, 0xca, 0x0f, 0x05][..], Some(Some(202))),
            // xor eax, eax; syscall.
            (&[0x31, 0xc0, 0x0f, 0x05], Some(Some(0))),
            // mov rax, rdi; syscall.
            (&[0x48, 0x89, 0xf8, 0x0f, 0x05], Some(None)),
            // mov eax, 1; ret; syscall.
            (&[0xb8, 1, 0, 0, 0, 0xc3, 0x0f, 0x05], Some(None)),
            // mov edi, 110; xor eax, eax; call, and 59 bytes later mov rax, rdi; syscall.
            (
                &[
                    &[0xbf, 0x6e, 0, 0, 0, 0x31, 0xc0, 0xe8, 0, 0, 0, 0][..],
                    &[0x90; 59],
                    &[0x48, 0x89, 0xf8, 0x0f, 0x05],
                ]
                .concat(),
                Some(Some(110)),
            ),
            // mov rax, [rdi].
            (&[0x48, 0x8b, 0x07], None),
        ] {
            let mut page = vec![0x90; 128 - code.len()];
            page.extend(code);
            let read = |address: u64, bytes: &mut [u8]| {
                let start = usize::try_from(address - 0x1000).unwrap();
                page.get(start..start + bytes.len()).is_some_and(|from| {
                    bytes.copy_from_slice(from);
                    true
                })
            };
            assert_eq!(
                system_call(0x1080, &Registers::default(), 0x1040, &read),
                expected,
                "{code:x?}"
            );
        }
    }

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
