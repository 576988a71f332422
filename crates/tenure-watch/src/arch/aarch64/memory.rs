//! What an instruction does to memory, and to which address by the registers before it or after it.

use tenure_model::Access;
use yaxpeax_arch::{Decoder as _, U8Reader};
use yaxpeax_arm::armv8::a64::{
    InstDecoder, Instruction, Opcode, Operand, SIMDSizeCode, ShiftStyle, SizeCode,
};

use super::{Registers, data_address};

/// An instruction's access to memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MemoryOperand {
    pub(super) access: Access,
    /// Bytes.
    pub(super) size: u8,
    place: Operand,
    /// The general registers that it overwrites, a bit for each. A base that it moves is none of them.
    overwritten: u32,
}

/// The instruction of a word; `None` if that is none, or one of vectors whose length is the processor's.
pub(super) fn decoded(word: u32) -> Option<Instruction> {
    InstDecoder::default().decode(&mut U8Reader::new(&word.to_le_bytes())).ok()
}

impl MemoryOperand {
    /// What an instruction does to memory that is not the top of its thread's stack.
    pub(super) fn of(instruction: &Instruction) -> Option<Self> {
        let (access, bytes) = access(instruction.opcode)?;
        let operands = &instruction.operands;
        let place = *operands.iter().find(|operand| is_place(operand))?;
        if let Operand::RegPreIndex(STACK, _, true) | Operand::RegPostIndex(STACK, _) = place {
            return None;
        }
        let size = bytes.unwrap_or_else(|| size(access, instruction));
        Some(Self { access, size, place, overwritten: overwritten(access, instruction) })
    }

    /// The same access as another kind.
    pub(super) fn with(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Whether both go to the same address, by the same register.
    pub(super) fn is_where(&self, other: &Self) -> bool {
        self.place == other.place
    }

    /// The general registers that say where it is, a bit for each.
    pub(super) fn registers(&self) -> u32 {
        match self.place {
            Operand::RegPreIndex(base, ..) | Operand::RegPostIndex(base, _) => 1 << base,
            Operand::RegPostIndexReg(base, index) | Operand::RegRegOffset(base, index, ..) => {
                1 << base | 1 << index
            }
            _ => 0,
        }
    }

    /// The register that it loads and whose value it overwrites with that, and what it adds to it.
    pub(super) fn own_base(&self) -> Option<(u16, u64)> {
        let Operand::RegPreIndex(base, offset, false) = self.place else { return None };
        let is_own = self.access == Access::Read && self.size == 8 && self.overwritten == 1 << base;
        is_own.then(|| (base, i64::from(offset).cast_unsigned()))
    }

    /// Where it is for an instruction at an address, by the registers before it, or after it if it is done; `None` if
    /// those do not tell any more.
    pub(super) fn address(&self, at: u64, is_done: bool, registers: &Registers) -> Option<u64> {
        let value = |register: u16| {
            let is_gone = is_done && self.overwritten & 1 << register != 0;
            (!is_gone).then(|| registers.0.get(usize::from(register)).copied())?
        };
        let pointer = match self.place {
            Operand::PCOffset(offset) => at.wrapping_add_signed(offset),
            // The base has been moved to where the access is.
            Operand::RegPreIndex(base, _, true) if is_done => value(base)?,
            Operand::RegPreIndex(base, offset, _) => {
                value(base)?.wrapping_add_signed(offset.into())
            }
            Operand::RegPostIndex(base, offset) if is_done => {
                value(base)?.wrapping_sub(i64::from(offset).cast_unsigned())
            }
            Operand::RegPostIndexReg(base, index) if is_done => {
                value(base)?.wrapping_sub(value(index)?)
            }
            Operand::RegPostIndex(base, _) | Operand::RegPostIndexReg(base, _) => value(base)?,
            Operand::RegRegOffset(base, index, _, style, shift) => {
                let index = if index == ZERO { 0 } else { value(index)? };
                let index = match style {
                    ShiftStyle::UXTW => index & 0xffff_ffff,
                    ShiftStyle::SXTW => i64::from(index as i32).cast_unsigned(),
                    _ => index,
                };
                value(base)?.wrapping_add(index << shift)
            }
            _ => return None,
        };
        Some(data_address(pointer))
    }
}

/// Number 31 is the stack pointer as a base, and zero otherwise.
const STACK: u16 = 31;
const ZERO: u16 = 31;

fn is_place(operand: &Operand) -> bool {
    matches!(
        operand,
        Operand::PCOffset(_)
            | Operand::RegPreIndex(..)
            | Operand::RegPostIndex(..)
            | Operand::RegPostIndexReg(..)
            | Operand::RegRegOffset(..)
    )
}

/// The bytes of an operand that is loaded or stored, and the general registers that it is, a bit for each.
fn value(operand: &Operand) -> Option<(u8, u32)> {
    let general = |size| if size == SizeCode::X { 8 } else { 4 };
    // A write to the last one is lost.
    let bit = |register: u16| 1_u32.checked_shl(register.into()).unwrap_or(0) & !(1 << ZERO);
    Some(match *operand {
        Operand::Register(size, number) => (general(size), bit(number)),
        Operand::RegisterPair(size, number) => (2 * general(size), bit(number) | bit(number + 1)),
        Operand::SIMDRegister(size, _) => (vector(size), 0),
        Operand::SIMDRegisterGroup(size, _, _, count) => (vector(size) * count, 0),
        Operand::SIMDRegisterGroupLane(_, size, count, _) => (vector(size) * count, 0),
        _ => return None,
    })
}

fn vector(size: SIMDSizeCode) -> u8 {
    match size {
        SIMDSizeCode::B => 1,
        SIMDSizeCode::H => 2,
        SIMDSizeCode::S => 4,
        SIMDSizeCode::D => 8,
        SIMDSizeCode::Q => 16,
    }
}

/// How many bytes an instruction loads or stores by its registers.
fn size(access: Access, instruction: &Instruction) -> u8 {
    use Opcode as O;
    let (skipped, taken) = match (access, instruction.opcode) {
        // Each element of a register has the same.
        (_, O::LD1R | O::LD2R | O::LD3R | O::LD4R) => {
            let Operand::SIMDRegisterGroup(_, _, element, count) = instruction.operands[0] else {
                return 0;
            };
            return vector(element) * count;
        }
        // The first says whether it has succeeded.
        (_, opcode) if is_store_exclusive(opcode) => (1, 2),
        // The second is as long.
        (Access::Add | Access::Exchange | Access::CompareExchange, _) => (0, 1),
        _ => (0, 2),
    };
    let values = instruction.operands.iter().map_while(value);
    values.skip(skipped).take(taken).map(|(bytes, _)| bytes).sum()
}

/// The general registers that an instruction overwrites.
fn overwritten(access: Access, instruction: &Instruction) -> u32 {
    let bits = |at: usize| value(&instruction.operands[at]).map_or(0, |(_, bits)| bits);
    match access {
        Access::Read | Access::Load => bits(0) | bits(1),
        // Whether it has succeeded.
        Access::Store if is_store_exclusive(instruction.opcode) => bits(0),
        // What was there before.
        Access::Add | Access::Exchange => bits(1),
        Access::CompareExchange => bits(0),
        _ => 0,
    }
}

/// The general registers that may have another value after an instruction.
pub(super) fn changed(instruction: &Instruction) -> u32 {
    let moved = |operand: &Operand| match *operand {
        Operand::RegPreIndex(base, _, true) | Operand::RegPostIndex(base, _) => 1 << base,
        Operand::RegPostIndexReg(base, _) => 1 << base,
        _ => 0,
    };
    let first = match (MemoryOperand::of(instruction), instruction.operands[0]) {
        (Some(memory), _) => memory.overwritten,
        (None, Operand::RegisterOrSP(_, number)) => 1 << number,
        (None, first) => value(&first).map_or(0, |(_, bits)| bits),
    };
    instruction.operands.iter().map(moved).fold(first, |all, bits| all | bits)
}

pub(super) fn is_load_exclusive(opcode: Opcode) -> bool {
    use Opcode as O;
    matches!(
        opcode,
        O::LDXR | O::LDXRB | O::LDXRH | O::LDXP | O::LDAXR | O::LDAXRB | O::LDAXRH | O::LDAXP
    )
}

pub(super) fn is_store_exclusive(opcode: Opcode) -> bool {
    use Opcode as O;
    matches!(
        opcode,
        O::STXR | O::STXRB | O::STXRH | O::STXP | O::STLXR | O::STLXRB | O::STLXRH | O::STLXP
    )
}

/// What an instruction does, and to how many bytes if its registers do not say so. Prefetches and tags are no accesses.
fn access(opcode: Opcode) -> Option<(Access, Option<u8>)> {
    use Opcode as O;
    Some(match opcode {
        O::LDR | O::LDUR | O::LDTR | O::LDP | O::LDNP | O::LDRAA | O::LDRAB => (Access::Read, None),
        O::LD1 | O::LD2 | O::LD3 | O::LD4 => (Access::Read, None),
        O::LD1R | O::LD2R | O::LD3R | O::LD4R => (Access::Read, None),
        O::LDRB | O::LDRSB | O::LDURB | O::LDURSB | O::LDTRB | O::LDTRSB => (Access::Read, Some(1)),
        O::LDRH | O::LDRSH | O::LDURH | O::LDURSH | O::LDTRH | O::LDTRSH => (Access::Read, Some(2)),
        O::LDRSW | O::LDURSW | O::LDTRSW => (Access::Read, Some(4)),
        O::LDPSW => (Access::Read, Some(8)),
        O::STR | O::STUR | O::STTR | O::STP | O::STNP => (Access::Write, None),
        O::ST1 | O::ST2 | O::ST3 | O::ST4 => (Access::Write, None),
        // With a tag they also write zeros.
        O::STZG => (Access::Write, Some(16)),
        O::STZ2G => (Access::Write, Some(32)),
        O::STRB | O::STURB | O::STTRB => (Access::Write, Some(1)),
        O::STRH | O::STURH | O::STTRH => (Access::Write, Some(2)),

        O::LDAR | O::LDLAR | O::LDAPR | O::LDAPUR => (Access::Load, None),
        O::LDXR | O::LDAXR | O::LDXP | O::LDAXP => (Access::Load, None),
        O::LDARB | O::LDLARB | O::LDAPRB | O::LDAPURB | O::LDAPURSB | O::LDXRB | O::LDAXRB => {
            (Access::Load, Some(1))
        }
        O::LDARH | O::LDLARH | O::LDAPRH | O::LDAPURH | O::LDAPURSH | O::LDXRH | O::LDAXRH => {
            (Access::Load, Some(2))
        }
        O::LDAPURSW => (Access::Load, Some(4)),
        O::STLR | O::STLLR | O::STLUR => (Access::Store, None),
        O::STXR | O::STLXR | O::STXP | O::STLXP => (Access::Store, None),
        O::STLRB | O::STLLRB | O::STLURB | O::STXRB | O::STLXRB => (Access::Store, Some(1)),
        O::STLRH | O::STLLRH | O::STLURH | O::STXRH | O::STLXRH => (Access::Store, Some(2)),

        O::LDADD(_) => (Access::Add, None),
        O::LDADDB(_) => (Access::Add, Some(1)),
        O::LDADDH(_) => (Access::Add, Some(2)),
        O::SWP(_) | O::LDCLR(_) | O::LDEOR(_) | O::LDSET(_) => (Access::Exchange, None),
        O::LDSMAX(_) | O::LDSMIN(_) | O::LDUMAX(_) | O::LDUMIN(_) => (Access::Exchange, None),
        O::SWPB(_) | O::LDCLRB(_) | O::LDEORB(_) | O::LDSETB(_) => (Access::Exchange, Some(1)),
        O::LDSMAXB(_) | O::LDSMINB(_) | O::LDUMAXB(_) | O::LDUMINB(_) => {
            (Access::Exchange, Some(1))
        }
        O::SWPH(_) | O::LDCLRH(_) | O::LDEORH(_) | O::LDSETH(_) => (Access::Exchange, Some(2)),
        O::LDSMAXH(_) | O::LDSMINH(_) | O::LDUMAXH(_) | O::LDUMINH(_) => {
            (Access::Exchange, Some(2))
        }
        O::CAS(_) | O::CASP(_) => (Access::CompareExchange, None),
        O::CASB(_) => (Access::CompareExchange, Some(1)),
        O::CASH(_) => (Access::CompareExchange, Some(2)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Access as A;

    const AT: u64 = 0x40_0040;

    /// Each has a number of its own: 0x1000 in the first one, 0x20000 in the stack pointer.
    fn registers() -> Registers {
        let mut registers = Registers::default();
        for (at, register) in registers.0.iter_mut().enumerate() {
            *register = 0x1000 * (at as u64 + 1);
        }
        registers
    }

    /// What an instruction does, to how many bytes, and where by the registers before and after it.
    type Expected = Option<(Access, u8, Option<u64>, Option<u64>)>;

    fn moved(access: Access, size: u8, before: u64, after: u64) -> Expected {
        Some((access, size, Some(before), Some(after)))
    }

    fn same(access: Access, size: u8, address: u64) -> Expected {
        moved(access, size, address, address)
    }

    fn gone(access: Access, size: u8, before: u64) -> Expected {
        Some((access, size, Some(before), None))
    }

    fn found(word: u32) -> Expected {
        let memory = MemoryOperand::of(&decoded(word)?)?;
        let address = |is_done| memory.address(AT, is_done, &registers());
        Some((memory.access, memory.size, address(false), address(true)))
    }

    /// As GNU's assembler makes them.
    #[test]
    fn an_instruction_says_what_it_does_and_where() {
        for (text, word, expected) in [
            ("ldr x0, [x1]", 0xf940_0020, same(A::Read, 8, 0x2000)),
            ("ldr w2, [x3, #16]", 0xb940_1062, same(A::Read, 4, 0x4010)),
            ("ldrb w4, [x5, #1]", 0x3940_04a4, same(A::Read, 1, 0x6001)),
            ("ldrsh x6, [x7, #2]", 0x7980_04e6, same(A::Read, 2, 0x8002)),
            ("ldrsw x8, [x9, #4]", 0xb980_0528, same(A::Read, 4, 0xa004)),
            ("str x10, [x11, #8]", 0xf900_056a, same(A::Write, 8, 0xc008)),
            ("strb wzr, [x12]", 0x3900_019f, same(A::Write, 1, 0xd000)),
            ("sturh w13, [x14, #-2]", 0x781f_e1cd, same(A::Write, 2, 0xeffe)),
            ("ldur x15, [x16, #-8]", 0xf85f_820f, same(A::Read, 8, 0x10ff8)),
            ("sturb w17, [x18, #255]", 0x380f_f251, same(A::Write, 1, 0x130ff)),
            ("ldr x30, [x29, #-8]", 0xf85f_83be, same(A::Read, 8, 0x1dff8)),
            ("ldr x0, [sp, #24]", 0xf940_0fe0, same(A::Read, 8, 0x20018)),
            ("str xzr, [sp, #8]", 0xf900_07ff, same(A::Write, 8, 0x20008)),
            ("ldr x0, [x0]", 0xf940_0000, gone(A::Read, 8, 0x1000)),
            ("ldr w1, [x2, w1, uxtw #2]", 0xb861_5841, gone(A::Read, 4, 0xb000)),
            ("ldr x0, [x1], #8", 0xf840_8420, moved(A::Read, 8, 0x2000, 0x1ff8)),
            ("ldr x0, [x1, #-16]!", 0xf85f_0c20, moved(A::Read, 8, 0x1ff0, 0x2000)),
            ("str x0, [x1], #-8", 0xf81f_8420, moved(A::Write, 8, 0x2000, 0x2008)),
            ("str w0, [x1, #64]!", 0xb804_0c20, moved(A::Write, 4, 0x2040, 0x2000)),
            ("ldr x0, [x1, x2]", 0xf862_6820, same(A::Read, 8, 0x5000)),
            ("ldr x0, [x1, x2, lsl #3]", 0xf862_7820, same(A::Read, 8, 0x1a000)),
            ("ldr w0, [x1, w2, uxtw #2]", 0xb862_5820, same(A::Read, 4, 0xe000)),
            ("str x0, [x1, w2, sxtw #3]", 0xf822_d820, same(A::Write, 8, 0x1a000)),
            ("str x0, [x1, x2, sxtx]", 0xf822_e820, same(A::Write, 8, 0x5000)),
            ("ldrb w0, [x1, xzr]", 0x387f_6820, same(A::Read, 1, 0x2000)),
            ("ldtr x0, [x1, #8]", 0xf840_8820, same(A::Read, 8, 0x2008)),
            ("sttrh w0, [x1, #8]", 0x7800_8820, same(A::Write, 2, 0x2008)),
            ("ldp x0, x1, [x2, #16]", 0xa941_0440, same(A::Read, 16, 0x3010)),
            ("ldp x0, x2, [x2, #16]", 0xa941_0840, gone(A::Read, 16, 0x3010)),
            ("ldp w0, w1, [x2], #8", 0x28c1_0440, moved(A::Read, 8, 0x3000, 0x2ff8)),
            ("stp x0, x1, [x2, #-32]!", 0xa9be_0440, moved(A::Write, 16, 0x2fe0, 0x3000)),
            ("ldpsw x0, x1, [x2, #8]", 0x6941_0440, same(A::Read, 8, 0x3008)),
            ("ldnp x0, x1, [x2, #16]", 0xa841_0440, same(A::Read, 16, 0x3010)),
            ("stnp w0, w1, [x2, #-8]", 0x283f_0440, same(A::Write, 8, 0x2ff8)),
            ("stp q0, q1, [x2, #32]", 0xad01_0440, same(A::Write, 32, 0x3020)),
            ("ldp d0, d1, [x2, #-16]", 0x6d7f_0440, same(A::Read, 16, 0x2ff0)),
            ("ldr b0, [x1, #3]", 0x3d40_0c20, same(A::Read, 1, 0x2003)),
            ("ldr h0, [x1, #6]", 0x7d40_0c20, same(A::Read, 2, 0x2006)),
            ("str s0, [x1, #4]", 0xbd00_0420, same(A::Write, 4, 0x2004)),
            ("ldr d1, [x1, x2, lsl #3]", 0xfc62_7821, same(A::Read, 8, 0x1a000)),
            ("str q0, [x1, #32]", 0x3d80_0820, same(A::Write, 16, 0x2020)),
            ("ldur q0, [x1, #-16]", 0x3cdf_0020, same(A::Read, 16, 0x1ff0)),
            ("ldr x0, .+16", 0x5800_0080, same(A::Read, 8, 0x400050)),
            ("ldrsw x0, .-4", 0x98ff_ffe0, same(A::Read, 4, 0x40003c)),
            ("ldr q0, .+32", 0x9c00_0100, same(A::Read, 16, 0x400060)),
            ("ldraa x0, [x1, #8]", 0xf820_1420, same(A::Read, 8, 0x2008)),
            ("ldrab x0, [x1, #-16]!", 0xf8ff_ec20, moved(A::Read, 8, 0x1ff0, 0x2000)),
            ("ld1 {v0.16b}, [x0]", 0x4c40_7000, same(A::Read, 16, 0x1000)),
            ("ld1 {v0.16b-v3.16b}, [x0], #64", 0x4cdf_2000, moved(A::Read, 64, 0x1000, 0xfc0)),
            ("st1 {v0.8b}, [x5], x1", 0x0c81_70a0, moved(A::Write, 8, 0x6000, 0x4000)),
            ("st4 {v0.2d-v3.2d}, [x0]", 0x4c00_0c00, same(A::Write, 64, 0x1000)),
            ("ld1 {v0.s}[1], [x0]", 0x0d40_9000, same(A::Read, 4, 0x1000)),
            ("st2 {v0.h, v1.h}[3], [x0], #4", 0x0dbf_5800, moved(A::Write, 4, 0x1000, 0xffc)),
            ("ld1r {v0.2d}, [x0]", 0x4d40_cc00, same(A::Read, 8, 0x1000)),
            ("ld4r {v0.8b-v3.8b}, [x7], x2", 0x0de2_e0e0, moved(A::Read, 4, 0x8000, 0x5000)),
            ("stz2g x0, [x1], #32", 0xd9e0_2420, moved(A::Write, 32, 0x2000, 0x1fe0)),
            ("ldar x0, [x1]", 0xc8df_fc20, same(A::Load, 8, 0x2000)),
            ("ldarb w0, [x1]", 0x08df_fc20, same(A::Load, 1, 0x2000)),
            ("ldapr w0, [x1]", 0xb8bf_c020, same(A::Load, 4, 0x2000)),
            ("ldapur x0, [x1, #-8]", 0xd95f_8020, same(A::Load, 8, 0x1ff8)),
            ("ldapursw x0, [x1]", 0x9980_0020, same(A::Load, 4, 0x2000)),
            ("ldlar x0, [x0]", 0xc8df_7c00, gone(A::Load, 8, 0x1000)),
            ("stlr x0, [x1]", 0xc89f_fc20, same(A::Store, 8, 0x2000)),
            ("stlrh w0, [x1]", 0x489f_fc20, same(A::Store, 2, 0x2000)),
            ("stlur w0, [x1, #4]", 0x9900_4020, same(A::Store, 4, 0x2004)),
            ("stllrb w0, [x1]", 0x089f_7c20, same(A::Store, 1, 0x2000)),
            ("ldxr x0, [x1]", 0xc85f_7c20, same(A::Load, 8, 0x2000)),
            ("ldaxrb w0, [x1]", 0x085f_fc20, same(A::Load, 1, 0x2000)),
            ("ldaxp w0, w1, [x2]", 0x887f_8440, same(A::Load, 8, 0x3000)),
            ("stxr w3, x0, [x1]", 0xc803_7c20, same(A::Store, 8, 0x2000)),
            ("stlxrh w3, w0, [x1]", 0x4803_fc20, same(A::Store, 2, 0x2000)),
            ("stlxp w3, x0, x1, [x2]", 0xc823_8440, same(A::Store, 16, 0x3000)),
            ("ldadd w0, w1, [x2]", 0xb820_0041, same(A::Add, 4, 0x3000)),
            ("ldaddal x0, x1, [x2]", 0xf8e0_0041, same(A::Add, 8, 0x3000)),
            ("ldaddalh w0, w1, [x2]", 0x78e0_0041, same(A::Add, 2, 0x3000)),
            ("ldaddl x0, x2, [x2]", 0xf860_0042, gone(A::Add, 8, 0x3000)),
            ("stadd x0, [x2]", 0xf820_005f, same(A::Add, 8, 0x3000)),
            ("staddlb w0, [x2]", 0x3860_005f, same(A::Add, 1, 0x3000)),
            ("ldclra w0, w1, [x2]", 0xb8a0_1041, same(A::Exchange, 4, 0x3000)),
            ("ldsetl x0, x1, [x2]", 0xf860_3041, same(A::Exchange, 8, 0x3000)),
            ("ldeoralb w0, w1, [x2]", 0x38e0_2041, same(A::Exchange, 1, 0x3000)),
            ("ldsmax x0, x1, [x2]", 0xf820_4041, same(A::Exchange, 8, 0x3000)),
            ("ldsminh w0, w1, [x2]", 0x7820_5041, same(A::Exchange, 2, 0x3000)),
            ("ldumaxb w0, w1, [x2]", 0x3820_6041, same(A::Exchange, 1, 0x3000)),
            ("ldumin x0, x1, [x2]", 0xf820_7041, same(A::Exchange, 8, 0x3000)),
            ("stset w0, [x2]", 0xb820_305f, same(A::Exchange, 4, 0x3000)),
            ("swp x0, x1, [x2]", 0xf820_8041, same(A::Exchange, 8, 0x3000)),
            ("swpalh w0, w1, [x2]", 0x78e0_8041, same(A::Exchange, 2, 0x3000)),
            ("swpab w0, w1, [x2]", 0x38a0_8041, same(A::Exchange, 1, 0x3000)),
            ("cas w0, w1, [x2]", 0x88a0_7c41, same(A::CompareExchange, 4, 0x3000)),
            ("casal x0, x1, [x2]", 0xc8e0_fc41, same(A::CompareExchange, 8, 0x3000)),
            ("casa x2, x1, [x2]", 0xc8e2_7c41, gone(A::CompareExchange, 8, 0x3000)),
            ("casalb w0, w1, [x2]", 0x08e0_fc41, same(A::CompareExchange, 1, 0x3000)),
            ("caslh w0, w1, [x2]", 0x48a0_fc41, same(A::CompareExchange, 2, 0x3000)),
            ("casp w0, w1, w2, w3, [x4]", 0x0820_7c82, same(A::CompareExchange, 8, 0x5000)),
            ("caspal x0, x1, x2, x3, [x4]", 0x4860_fc82, same(A::CompareExchange, 16, 0x5000)),
            ("prfm pldl1keep, [x0, #64]", 0xf980_2000, None),
            ("prfum pldl1keep, [x0, #-8]", 0xf89f_8000, None),
            ("prfm pstl1strm, [x0, x1]", 0xf8a1_6811, None),
            ("stg x0, [x1]", 0xd920_0820, None),
            ("ldg x0, [x1]", 0xd960_0020, None),
            ("stp x29, x30, [sp, #-32]!", 0xa9be_7bfd, None),
            ("ldp x29, x30, [sp], #32", 0xa8c2_7bfd, None),
            ("dmb ish", 0xd503_3bbf, None),
            ("clrex", 0xd503_3f5f, None),
            ("add x0, x1, x2", 0x8b02_0020, None),
            ("nop", 0xd503_201f, None),
            ("b.ne .", 0x5400_0001, None),
            ("cbnz w3, .", 0x3500_0003, None),
            ("svc #0", 0xd400_0001, None),
            ("ret", 0xd65f_03c0, None),
            ("adrp x0, .", 0x9000_0000, None),
        ] {
            assert_eq!(found(word), expected, "{text}");
        }
    }

    #[test]
    fn an_index_of_32_bits_is_extended_and_a_tag_is_no_part_of_an_address() {
        let mut registers = registers();
        registers.0[1] = 0x5a00_0000_0001_0000;
        registers.0[2] = 0xffff_ffff_ffff_fffe;
        for (text, word, expected) in [
            ("ldr x0, [x1, w2, sxtw #3]", 0xf862_d820, 0xfff0),
            ("ldr x0, [x1, w2, uxtw #3]", 0xf862_5820, 0x8_0000_fff0),
            ("ldr x0, [x1, x2, lsl #3]", 0xf862_7820, 0xfff0),
        ] {
            let memory = MemoryOperand::of(&decoded(word).unwrap()).unwrap();
            assert_eq!(memory.address(AT, true, &registers), Some(expected), "{text}");
        }
    }

    /// Whatever a thread runs, also what is data or from a later version of the architecture.
    #[test]
    fn no_word_makes_it_panic() {
        for number in 0..1_u32 << 16 {
            let word = number.wrapping_mul(0x9e37_79b9);
            let _ = found(word);
        }
        assert_eq!(found(0), None);
        assert_eq!(found(u32::MAX), None);
    }
}
