//! aarch64. It has run on an emulated machine, and not on hardware: what a processor does is from Arm's and Linux's
//! descriptions.

mod code;
mod exclusive;
mod memory;
pub(crate) mod traced;

pub(crate) use code::Instruction;
use gimli::{Register, Vendor};

use super::Read;

/// Name of the architecture, as users write it.
pub(crate) const NAME: &str = "aarch64";

/// What an ELF file of its programs says.
pub(crate) const MACHINE: u16 = object::elf::EM_AARCH64.0;

/// First address after the last that a program can have: of 52 bits, on kernels that have so many.
pub(crate) const USER_END: u64 = 1 << 52;

/// The code of a SIGTRAP that comes of a watchpoint: `TRAP_HWBKPT`. That of a breakpoint instruction has another one.
pub(crate) const TRAPS: &[i32] = &[4];

/// DWARF's numbers of `x29`, `sp` and `x30`.
pub(crate) const FRAME: Register = Register(29);
pub(crate) const STACK: Register = Register(31);
pub(crate) const RETURN: Register = Register(30);
pub(crate) const VENDOR: Vendor = Vendor::AArch64;

/// The general registers of a thread, in the order of perf's masks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Registers(pub(crate) [u64; Self::COUNT]);

impl Registers {
    /// `x0` to `x30`, `sp` and `pc`.
    pub(crate) const COUNT: usize = 33;
    /// The bits of these in perf's mask.
    pub(crate) const MASK: u64 = (1 << Self::COUNT) - 1;
    pub(crate) const BP: usize = 29;
    pub(crate) const SP: usize = 31;
    /// Where Go keeps its goroutine: `x28`.
    pub(crate) const GOROUTINE: usize = 28;
    const LINK: usize = 30;
    pub(crate) const IP: usize = 32;

    /// The return address of a function that has called no other one yet.
    pub(crate) fn link(&self) -> Option<u64> {
        Some(self.0[Self::LINK])
    }
}

// The standard library has none of so many.
impl Default for Registers {
    fn default() -> Self {
        Self([0; Self::COUNT])
    }
}

/// The address that a word of the stack holds, if it is one of code: without the signature of a return address, which
/// lies above the 48 bits that code is in.
pub(crate) fn code_address(word: u64) -> u64 {
    word & ((1 << 48) - 1)
}

/// The address that an access with this one goes to: the processor ignores the first byte.
pub(crate) fn data_address(pointer: u64) -> u64 {
    pointer & (u64::MAX >> 8)
}

/// The system call by which a thread has entered the kernel that would go on at an address, if it was one: its number.
pub(crate) fn system_call(
    ip: u64,
    registers: &Registers,
    _: u64,
    read: Read<'_>,
) -> Option<Option<u64>> {
    /// `svc #0`.
    const CALL: u32 = 0xd400_0001;
    const NUMBER: usize = 8;
    let mut code = [0; 4];
    let is_call = read(ip.wrapping_sub(4), &mut code) && u32::from_le_bytes(code) == CALL;
    is_call.then_some(Some(registers.0[NUMBER]))
}

/// Bytes of a call.
pub(crate) const CALL_BYTES: usize = 4;

/// The call right before an address, if the code there, which ends at the address, is one: where it goes, if it says so.
pub(crate) fn call_before(code: &[u8; CALL_BYTES], end: u64) -> Option<Option<u64>> {
    let instruction = u32::from_le_bytes(*code);
    if instruction >> 26 == 0b10_0101 {
        // BL: 26 bits of words from the instruction.
        let words = i64::from((instruction << 6).cast_signed() >> 6);
        return Some(Some(end.wrapping_sub(4).wrapping_add_signed(words * 4)));
    }
    // BLR, with and without a check of the pointer's signature.
    let is_through_register =
        instruction & 0xffff_fc1f == 0xd63f_0000 || instruction & 0xfeff_f800 == 0xd63f_0800;
    is_through_register.then_some(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_calls_number_is_in_a_register() {
        let mut registers = Registers::default();
        registers.0[8] = 98;
        let of = |instruction: u32| {
            let read = |address: u64, bytes: &mut [u8]| {
                bytes.copy_from_slice(&instruction.to_le_bytes());
                address == 0xffc
            };
            system_call(0x1000, &registers, 0, &read)
        };
        assert_eq!(of(0xd400_0001), Some(Some(98)));
        assert_eq!(of(0xf940_0000), None);
    }

    #[test]
    fn a_call_says_where_it_goes_unless_a_register_does() {
        let call = |instruction: u32| call_before(&instruction.to_le_bytes(), 0x1004);
        assert_eq!(call(0x9400_0004), Some(Some(0x1010)));
        assert_eq!(call(0x97ff_ffff), Some(Some(0xffc)));
        assert_eq!(call(0xd63f_0100), Some(None));
        assert_eq!(call(0xd503_201f), None);
    }

    #[test]
    fn signatures_and_tags_are_no_part_of_an_address() {
        assert_eq!(code_address(0x003c_aaaa_d5c0_1234), 0xaaaa_d5c0_1234);
        assert_eq!(data_address(0x5a00_ffff_8000_0010), 0xffff_8000_0010);
        assert_eq!(data_address(0xffff_8000_0010), 0xffff_8000_0010);
    }
}
