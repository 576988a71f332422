//! aarch64: the result of a call is in `x0`, and that of an atomic instruction in the register that it loads.
//!
//! Where an operation is a loop, its end is that of its first instruction, the load exclusive, as `watch` has it:
//!
//! ```text
//!         ldaxr  w0, [x1]       <- ends at the address that is asked for
//!         add    w2, w0, #1
//!         stlxr  w3, w2, [x1]
//!         cbnz   w3, -12        <- from here on a read of w0 or w2 uses the result
//! ```
//!
//! What the loop computes from the value, such as a sum, is the result as well, and that the loop reads them is no use.

mod decode;

use std::ops::RangeInclusive;

use self::decode::{FLAGS, LENGTH, register};
use super::{CodeBytes, Left, Processor, RegisterSet, Step};

pub(super) const AARCH64: Processor =
    Processor { begin, step, returned: [register(0), register(1)] };

/// What a call leaves as it was: all others may hold arguments, are used by the linker, or are the called function's.
const KEPT: RegisterSet = through(19..=29);

/// Registers by their numbers.
const fn through(numbers: RangeInclusive<u32>) -> RegisterSet {
    (2 << *numbers.end()) - (1 << *numbers.start())
}

fn word(code: CodeBytes<'_, '_>, at: u64) -> Option<u32> {
    let bytes = code(at).filter(|_| at.is_multiple_of(LENGTH))?;
    bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// Where the result is of what ends at an address, and from where on a read uses it.
fn begin(code: CodeBytes<'_, '_>, address: u64) -> Option<(u64, RegisterSet)> {
    let before = address.checked_sub(LENGTH)?;
    let word = word(code, before)?;
    let Step { overwrites, left, .. } = decode::step(word, before)?;
    match left {
        Left::ByCall { .. } if !is_system_call(word) => Some((address, register(0))),
        _ if is_exclusive(word, LOAD) => operation(code, address, overwrites),
        _ if is_atomic(word) => Some((address, overwrites)),
        _ => None,
    }
}

/// Where the store of an operation ends that begins with a load exclusive, and what holds its result then: the value that
/// was loaded, and what was computed from it.
///
/// There is none if it leaves between the two: whether it does so, as a compare-exchange, may be all that is used of it.
fn operation(
    code: CodeBytes<'_, '_>,
    start: u64,
    loaded: RegisterSet,
) -> Option<(u64, RegisterSet)> {
    /// Instructions to the store, at most.
    const MAX_OPERATION: u64 = 16;
    let mut held = loaded;
    for at in (0..MAX_OPERATION).map(|index| start.wrapping_add(index * LENGTH)) {
        let word = word(code, at)?;
        let step = decode::step(word, at)?;
        if is_exclusive(word, STORE) {
            return Some((at.wrapping_add(LENGTH), held & !step.overwrites));
        }
        let Left::No = step.left else { return None };
        match step.reads & held {
            0 => held &= !step.overwrites,
            // It is stored elsewhere.
            _ if step.overwrites == 0 => return None,
            _ => held |= step.overwrites,
        }
    }
    None
}

const LOAD: u32 = 1 << 22;
const STORE: u32 = 0;

/// Whether an instruction is an exclusive load or store, of one register or two.
fn is_exclusive(word: u32, direction: u32) -> bool {
    word & 0x3fe0_0000 == 0x0800_0000 | direction || word & 0xbfe0_0000 == 0x8820_0000 | direction
}

/// Whether an instruction is a whole atomic operation.
fn is_atomic(word: u32) -> bool {
    // ldadd and the like; swp.
    let is_add = word & 0x3f20_8c00 == 0x3820_0000;
    let is_swap = word & 0x3f20_fc00 == 0x3820_8000;
    // cas; casp.
    let is_compare = word & 0x3fa0_7c00 == 0x08a0_7c00 || word & 0xbfa0_7c00 == 0x0820_7c00;
    is_add || is_swap || is_compare
}

/// `svc`.
fn is_system_call(word: u32) -> bool {
    word & 0xffe0_001f == 0xd400_0001
}

/// What the instruction at an address does; `None` if that is not known.
fn step(code: CodeBytes<'_, '_>, at: u64) -> Option<Step> {
    let step = decode::step(word(code, at)?, at)?;
    let is_descriptor = matches!(step.left, Left::ByCall { callee: None, .. })
        && asks_descriptor(code, at).unwrap_or(false);
    Some(match is_descriptor {
        true => Step { overwrites: register(0) | register(30) | FLAGS, left: Left::No, ..step },
        false => step,
    })
}

/// Whether a call asks for the address of a thread's own variable: all such calls look the same, and keep all registers
/// but `x0` and `x30`.
///
/// ```text
///     adrp x0, page
///     ldr  x1, [x0, #offset]
///     add  x0, x0, #offset
///     blr  x1
/// ```
fn asks_descriptor(code: CodeBytes<'_, '_>, at: u64) -> Option<bool> {
    let before = |count: u64| word(code, at.checked_sub(count * LENGTH)?);
    let (page, load, add, call) = (before(3)?, before(2)?, before(1)?, before(0)?);
    let offset = |word: u32| word >> 10 & 0xfff;
    let is_page = page & 0x9f00_001f == 0x9000_0000;
    let is_load = load & 0xffc0_03e0 == 0xf940_0000 && load & 0x1f == call >> 5 & 0x1f;
    let is_add = add & 0xffc0_03ff == 0x9100_0000;
    let is_call = call & 0xffff_fc1f == 0xd63f_0000;
    Some(is_page && is_load && is_add && is_call && offset(load) * 8 == offset(add))
}

/// The encodings are those of GNU's assembler.
#[cfg(test)]
mod tests {
    use super::super::Fate;
    use super::*;

    const RETURNED: Fate = Fate::Returned { register: 0 };

    /// The fate of the result of what ends at the bar.
    fn fate(code: &str) -> Fate {
        let words = |code: &str| -> Vec<u8> {
            let word = |it| u32::from_str_radix(it, 16).unwrap().to_le_bytes();
            code.split_whitespace().flat_map(word).collect()
        };
        let (before, after) = code.split_once('|').unwrap();
        let end = 0x1000 + words(before).len() as u64;
        let all = words(&format!("{before} {after}"));
        let at = |address: u64| all.get(usize::try_from(address.checked_sub(0x1000)?).ok()?..);
        AARCH64.fate(&at, end)
    }

    /// The fate of a call's result where an instruction and `ret` follow.
    fn before_return(word: u32) -> Fate {
        fate(&format!("94080000 | {word:08x} d65f03c0"))
    }

    #[test]
    #[rustfmt::skip]
    fn an_instruction_that_reads_the_register_uses_it() {
        for (about, word) in [
            ("mov x19, x0", 0xaa00_03f3),
            ("cmp w0, #1", 0x7100_041f),
            ("tst x0, #8", 0xf27d_001f),
            ("sub x1, x0, #16", 0xd100_4001),
            ("and w1, w0, #7", 0x1200_0801),
            ("add x1, x2, x0, lsl #2", 0x8b00_0841),
            ("add x1, x2, w0, uxtw", 0x8b20_4041),
            ("adc x1, x2, x0", 0x9a00_0041),
            ("lsr w1, w0, #4", 0x5304_7c01),
            ("ubfx x1, x0, #3, #2", 0xd343_1001),
            ("bfi w0, w1, #0, #8", 0x3300_1c20),
            ("bfxil w0, w1, #4, #4", 0x3304_1c20),
            ("movk x0, #1, lsl #16", 0xf2a0_0020),
            ("extr x1, x2, x0, #4", 0x93c0_1041),
            ("udiv x1, x2, x0", 0x9ac0_0841),
            ("lsl x1, x0, x2", 0x9ac2_2001),
            ("rbit x1, x0", 0xdac0_0001),
            ("crc32w w1, w2, w0", 0x1ac0_4841),
            ("madd x1, x2, x3, x0", 0x9b03_0041),
            ("umulh x1, x0, x2", 0x9bc2_7c01),
            ("csel x1, x2, x0, eq", 0x9a80_0041),
            ("ccmp x1, x0, #0, ne", 0xfa40_1020),
            ("ccmp w0, #3, #0, ne", 0x7a43_1800),
            ("rmif x0, #3, #1", 0xba01_8401),
            ("str x0, [sp]", 0xf900_03e0),
            ("strb w0, [x1], #1", 0x3800_1420),
            ("stp x1, x0, [sp, #16]", 0xa901_03e1),
            ("stnp x0, x1, [x2]", 0xa800_0440),
            ("ldr x1, [x0]", 0xf940_0001),
            ("ldr x1, [x2, x0]", 0xf860_6841),
            ("ldr d0, [x1, w0, sxtw #3]", 0xfc60_d820),
            ("ldr d0, [x0], #8", 0xfc40_8400),
            ("str x1, [x0, #8]!", 0xf800_8c01),
            ("ldp x1, x2, [x0]", 0xa940_0801),
            ("ldp q0, q1, [x0], #32", 0xacc1_0400),
            ("ld1 {v0.16b}, [x0]", 0x4c40_7000),
            ("st1 {v0.16b}, [x1], x0", 0x4c80_7020),
            ("prfm pldl1keep, [x0]", 0xf980_0000),
            ("stlr x0, [x1]", 0xc89f_fc20),
            ("ldar x1, [x0]", 0xc8df_fc01),
            ("stxr w1, x0, [x2]", 0xc801_7c40),
            ("ldxr x1, [x0]", 0xc85f_7c01),
            ("ldadd x0, x1, [x2]", 0xf820_0041),
            ("swp x0, x1, [x2]", 0xf820_8041),
            ("cas x0, x1, [x2]", 0xc8a0_7c41),
            ("cas x1, x0, [x2]", 0xc8a1_7c40),
            ("casp x0, x1, x2, x3, [x4]", 0x4820_7c82),
            ("casp x2, x3, x0, x1, [x4]", 0x4822_7c80),
            ("scvtf d0, x0", 0x9e62_0000),
            ("scvtf s0, w0, #4", 0x1e02_f000),
            ("fmov d0, x0", 0x9e67_0000),
            ("fmov v0.d[1], x0", 0x9eaf_0000),
            ("dup v0.4s, w0", 0x4e04_0c00),
            ("mov v0.s[1], w0", 0x4e0c_1c00),
            ("cbz w0, .", 0x3400_0000),
            ("cbnz x0, .", 0xb500_0000),
            ("tbz w0, #3, .", 0x3618_0000),
            ("blr x0", 0xd63f_0000),
            ("br x0", 0xd61f_0000),
            ("ret x0", 0xd65f_0000),
            ("msr tpidr_el0, x0", 0xd51b_d040),
            ("dc zva, x0", 0xd50b_7420),
            ("pacia x1, x0", 0xdac1_0001),
            ("xpaci x0", 0xdac1_43e0),
        ] {
            assert_eq!(before_return(word), Fate::Used, "{about}");
        }
    }

    #[test]
    #[rustfmt::skip]
    fn an_instruction_that_overwrites_the_register_loses_it() {
        for (about, word) in [
            ("mov x0, x1", 0xaa01_03e0),
            ("mov w0, #0", 0x5280_0000),
            ("adrp x0, .", 0x9000_0000),
            ("movn w0, #0", 0x1280_0000),
            ("add x0, x1, #1", 0x9100_0420),
            ("and w0, w1, w2", 0x0a02_0020),
            ("bic x0, x1, x2", 0x8a22_0020),
            ("sbfx x0, x1, #3, #4", 0x9343_1820),
            ("csel x0, x1, x2, eq", 0x9a82_0020),
            ("cset w0, eq", 0x1a9f_17e0),
            ("madd w0, w1, w2, w3", 0x1b02_0c20),
            ("clz w0, w1", 0x5ac0_1020),
            ("ldr x0, [x1]", 0xf940_0020),
            ("ldrb w0, [x1, #1]!", 0x3840_1c20),
            ("ldrsw x0, [x1, x2]", 0xb8a2_6820),
            ("ldr w0, .", 0x1800_0000),
            ("ldp x1, x0, [sp]", 0xa940_03e1),
            ("ldpsw x0, x1, [x2], #8", 0x68c1_0440),
            ("ldar w0, [x1]", 0x88df_fc20),
            ("ldxr x0, [x1]", 0xc85f_7c20),
            ("ldxp x1, x0, [x2]", 0xc87f_0041),
            ("stxr w0, x1, [x2]", 0xc800_7c41),
            ("ldadd x1, x0, [x2]", 0xf821_0040),
            ("swp w1, w0, [x2]", 0xb821_8040),
            ("ldapr x0, [x1]", 0xf8bf_c020),
            ("ldapur w0, [x1, #4]", 0x9940_4020),
            ("fcvtzs w0, d0", 0x1e78_0000),
            ("fcvtas x0, s0", 0x9e24_0000),
            ("fmov x0, d0", 0x9e66_0000),
            ("fmov x0, v1.d[1]", 0x9eae_0020),
            ("umov w0, v0.h[1]", 0x0e06_3c00),
            ("smov x0, v0.b[2]", 0x4e05_2c00),
            ("mrs x0, tpidr_el0", 0xd53b_d040),
        ] {
            assert_eq!(before_return(word), Fate::Lost, "{about}");
        }
    }

    #[test]
    #[rustfmt::skip]
    fn other_instructions_leave_it() {
        for (about, word) in [
            ("nop", 0xd503_201f),
            ("bti c", 0xd503_245f),
            ("paciasp", 0xd503_233f),
            ("autiasp", 0xd503_23bf),
            ("dmb ish", 0xd503_3bbf),
            ("isb", 0xd503_3fdf),
            ("clrex", 0xd503_3f5f),
            ("cmp x1, #1", 0xf100_043f),
            ("add x1, x2, x3", 0x8b03_0041),
            ("str x1, [x2], #8", 0xf800_8441),
            ("stp x29, x30, [sp, #-32]!", 0xa9be_7bfd),
            ("ldp x29, x30, [sp], #32", 0xa8c2_7bfd),
            ("ldr x1, [sp]", 0xf940_03e1),
            ("str q0, [x1]", 0x3d80_0020),
            ("fadd d0, d1, d2", 0x1e62_2820),
            ("fcmp d0, d1", 0x1e61_2000),
            ("fcsel d0, d1, d2, eq", 0x1e62_0c20),
            ("fcvtzs d0, d1", 0x5ee1_b820),
            ("mov v0.s[1], v1.s[2]", 0x6e0c_4420),
            ("dup v0.2d, v1.d[0]", 0x4e08_0420),
            ("eor v0.16b, v1.16b, v2.16b", 0x6e22_1c20),
            ("ldadd x1, xzr, [x2]", 0xf821_005f),
            ("cfinv", 0xd500_401f),
            ("mrs x1, nzcv", 0xd53b_4201),
            ("stlr wzr, [x1]", 0x889f_fc3f),
            ("cbz w1, .+4", 0x3400_0021),
            ("b.eq .+4", 0x5400_0020),
            ("tbnz x1, #33, .+4", 0xb708_0021),
            ("prfm pldl1keep, [x1]", 0xf980_0020),
        ] {
            assert_eq!(before_return(word), RETURNED, "{about}");
        }
    }

    #[test]
    fn a_result_is_used_lost_or_returned() {
        for (about, code, expected) in [
            ("mov w0, #0; ret", "94080000 | 52800000 d65f03c0", Fate::Lost),
            ("ret", "94080000 | d65f03c0", RETURNED),
            ("retaa", "94080000 | d65f0bff", RETURNED),
            (
                "ldp x29, x30, [sp], #16; nop; mov x1, x0",
                "94080000 | a8c17bfd d503201f aa0003e1",
                Fate::Used,
            ),
            ("blr x1 | cbz w0, .", "d63f0020 | 34000000", Fate::Used),
            ("b .+8; brk #1; mov x1, x0", "94080000 | 14000002 d4200020 aa0003e1", Fate::Used),
            (
                "cbz w1, .+12; mov w0, #1; ret; str x0, [x1]",
                "94080000 | 34000061 52800020 d65f03c0 f9000020",
                Fate::Used,
            ),
            (
                "cbz w1, .+12; mov w0, #1; ret; mov w0, #2; ret",
                "94080000 | 34000061 52800020 d65f03c0 52800040 d65f03c0",
                Fate::Lost,
            ),
            (
                "add x1, x1, #1; cbnz x2, .-4; mov w0, #0; ret",
                "94080000 | 91000421 b5ffffe2 52800000 d65f03c0",
                Fate::Lost,
            ),
            ("brk #1", "94080000 | d4200020", Fate::Lost),
            ("udf #0", "94080000 | 00000000", Fate::Lost),
            ("br x1", "94080000 | d61f0020", Fate::Unknown),
            (
                "cbz w1, .+8; br x1; str x0, [x1]",
                "94080000 | 34000041 d61f0020 f9000020",
                Fate::Used,
            ),
            ("svc #0", "94080000 | d4000001", Fate::Unknown),
            ("ld1b {z0.b}, p0/z, [x1]", "94080000 | a400a020", Fate::Unknown),
            ("nop", "94080000 | d503201f", Fate::Unknown),
        ] {
            assert_eq!(fate(code), expected, "{about}");
        }
    }

    #[test]
    fn a_call_may_take_a_result_keep_it_or_lose_it() {
        for (about, code, expected) in [
            ("mov x0, x1; blr x2", "94080000 | aa0103e0 d63f0040", Fate::Lost),
            ("blr x1; mov w0, #0; ret", "94080000 | d63f0020 52800000 d65f03c0", Fate::Unknown),
            (
                "cbz w3, .+12; str x0, [x1]; ret; blr x1",
                "94080000 | 34000063 f9000020 d65f03c0 d63f0020",
                Fate::Used,
            ),
            ("bl .+0x100000", "94080000 | 94040000", Fate::Unknown),
            (
                "bl .+8; ret; add x0, x0, #1; ret",
                "94080000 | 94000002 d65f03c0 91000400 d65f03c0",
                Fate::Used,
            ),
            (
                "bl .+12; mov w0, #0; ret; mov x0, #0; ret",
                "94080000 | 94000003 52800000 d65f03c0 d2800000 d65f03c0",
                Fate::Lost,
            ),
            (
                "bl .+12; str x0, [x1]; ret; str x2, [x1]; ret",
                "94080000 | 94000003 f9000020 d65f03c0 f9000022 d65f03c0",
                Fate::Used,
            ),
            (
                "bl .+12; mov x0, x19; ret; str x2, [x1]; ret",
                "94080000 | 94000003 aa1303e0 d65f03c0 f9000022 d65f03c0",
                Fate::Lost,
            ),
            ("bl .", "94080000 | 94000000", Fate::Unknown),
            ("b .+8; brk #1; ldr x1, [x0]", "94080000 | 14000002 d4200020 f9400001", Fate::Used),
        ] {
            assert_eq!(fate(code), expected, "{about}");
        }
    }

    #[test]
    fn the_result_of_an_atomic_instruction_is_in_its_register() {
        for (about, code, expected) in [
            ("ldadd w1, w2, [x0] | cmp w2, #1", "b8210002 | 7100045f", Fate::Used),
            ("ldaddal x1, xzr, [x0] | mov x1, x2; ret", "f8e1001f | aa0203e1 d65f03c0", Fate::Lost),
            ("stadd x1, [x0] | ret", "f821001f | d65f03c0", Fate::Lost),
            ("ldaddal w1, w0, [x0] | ret", "b8e10000 | d65f03c0", RETURNED),
            (
                "ldaddal w1, w1, [x0] | mov w0, #5; ret",
                "b8e10001 | 528000a0 d65f03c0",
                Fate::Returned { register: 1 },
            ),
            ("ldaddal w1, w2, [x0] | mov w0, #5; ret", "b8e10002 | 528000a0 d65f03c0", Fate::Lost),
            (
                "ldset x1, x19, [x0] | blr x2; mov x0, x19; ret",
                "f8213013 | d63f0040 aa1303e0 d65f03c0",
                Fate::Used,
            ),
            (
                "ldclr x1, x9, [x0] | blr x2; mov x0, x9; ret",
                "f8211009 | d63f0040 aa0903e0 d65f03c0",
                Fate::Lost,
            ),
            ("swp x1, x8, [x0] | blr x2; ret", "f8218008 | d63f0040 d65f03c0", Fate::Unknown),
            ("ldeorb w1, w2, [x0] | tst w2, #1", "38212002 | 7200005f", Fate::Used),
            (
                "ldadd x1, x19, [x0] | ldp x19, x20, [sp, #16]; ret",
                "f8210013 | a94153f3 d65f03c0",
                Fate::Lost,
            ),
            ("casal w1, w2, [x0] | cmp w1, w3", "88e1fc02 | 6b03003f", Fate::Used),
            ("casal w1, w2, [x0] | mov w1, w2; ret", "88e1fc02 | 2a0203e1 d65f03c0", Fate::Lost),
            ("caspal x2, x3, x4, x5, [x0] | cmp x3, x6", "4862fc04 | eb06007f", Fate::Used),
            (
                "caspal x2, x3, x4, x5, [x0] | mov w0, w4; ret",
                "4862fc04 | 2a0403e0 d65f03c0",
                Fate::Lost,
            ),
            (
                "ldadd x1, x9, [x2] | adrp x0, .; ldr x1, [x0, #16]; add x0, x0, #16; blr x1; add x0, x0, x9",
                "f8210049 | 90000000 f9400801 91004000 d63f0020 8b090000",
                Fate::Used,
            ),
            (
                "ldadd x1, x9, [x2] | adrp x0, .; ldr x1, [x0, #16]; add x0, x0, #24; blr x1; add x0, x0, x9",
                "f8210049 | 90000000 f9400801 91006000 d63f0020 8b090000",
                Fate::Lost,
            ),
            ("str x0, [x1] | ldr x0, [x1]", "f9000020 | f9400020", Fate::Unknown),
            ("svc #0 | cmp x0, #0", "d4000001 | f100001f", Fate::Unknown),
        ] {
            assert_eq!(fate(code), expected, "{about}");
        }
    }

    #[test]
    fn the_result_of_a_loop_is_what_it_loaded_or_computed_from_that() {
        for (about, code, expected) in [
            (
                "ldaxr w0, [x1] | add w2, w0, #1; stlxr w3, w2, [x1]; cbnz w3, .-12; cmp w0, #1",
                "885ffc20 | 11000402 8803fc22 35ffffa3 7100041f",
                Fate::Used,
            ),
            (
                "ldaxr w0, [x1] | sub w0, w0, #1; stlxr w3, w0, [x1]; cbnz w3, .-12; cbz w0, .",
                "885ffc20 | 51000400 8803fc20 35ffffa3 34000000",
                Fate::Used,
            ),
            (
                "ldaxr w0, [x1] | add w2, w0, #1; stlxr w3, w2, [x1]; cbnz w3, .-12; mov w0, w4; ret",
                "885ffc20 | 11000402 8803fc22 35ffffa3 2a0403e0 d65f03c0",
                Fate::Lost,
            ),
            (
                "ldaxr w4, [x1] | add w2, w4, #1; stlxr w3, w2, [x1]; cbnz w3, .-12; mov w0, w3; ret",
                "885ffc24 | 11000482 8803fc22 35ffffa3 2a0303e0 d65f03c0",
                Fate::Lost,
            ),
            (
                "ldxr x0, [x1] | add x2, x0, x3; stxr w4, x2, [x1]; cbnz w4, .-12; ret",
                "c85f7c20 | 8b030002 c8047c22 35ffffa4 d65f03c0",
                RETURNED,
            ),
            (
                "ldaxr x4, [x1] | stlxr w3, x2, [x1]; cbnz w3, .-8; str x2, [x5]; ret",
                "c85ffc24 | c803fc22 35ffffc3 f90000a2 d65f03c0",
                Fate::Lost,
            ),
            (
                "ldxr w4, [x1] | mov w5, w4; add w2, w5, #1; mov w5, #0; stxr w3, w2, [x1]; cbnz w3, .-20; str w5, [x1]; ret",
                "885f7c24 | 2a0403e5 110004a2 52800005 88037c22 35ffff63 b9000025 d65f03c0",
                Fate::Lost,
            ),
            (
                "ldaxr x8, [x0] | cmp x8, #7; csel x10, x8, x9, hi; stlxr w11, x10, [x0]; cbnz w11, .-16; cset w0, hi",
                "c85ffc08 | f1001d1f 9a89810a c80bfc0a 35ffff8b 1a9f97e0",
                Fate::Used,
            ),
            (
                "ldaxr x8, [x0] | cmp x8, #7; csel x10, x8, x9, hi; stlxr w11, x10, [x0]; cbnz w11, .-16; cmp x1, #3; mov w0, #0; ret",
                "c85ffc08 | f1001d1f 9a89810a c80bfc0a 35ffff8b f1000c3f 52800000 d65f03c0",
                Fate::Lost,
            ),
            (
                "ldaxp x4, x5, [x0] | adds x6, x4, #1; adc x7, x5, xzr; stlxp w8, x6, x7, [x0]; cbnz w8, .-16; str x5, [x0]",
                "c87f9404 | b1000486 9a1f00a7 c8289c06 35ffff88 f9000005",
                Fate::Used,
            ),
            (
                "ldaxr w3, [x0] | cmp w3, w1; b.ne .+12; stlxr w4, w2, [x0]; cbnz w4, .-16; cset w0, eq",
                "885ffc03 | 6b01007f 54000061 8804fc02 35ffff84 1a9f17e0",
                Fate::Unknown,
            ),
            ("ldaxr w3, [x0] | cbnz w3, .-4; ret", "885ffc03 | 35ffffe3 d65f03c0", Fate::Unknown),
        ] {
            assert_eq!(fate(code), expected, "{about}");
        }
    }

    #[test]
    fn endless_code_and_words_that_are_no_instructions_end() {
        assert_eq!(fate(&format!("94080000 | {}", "d503201f ".repeat(10_000))), Fate::Unknown);
        for number in 0..1_u32 << 16 {
            before_return(number.wrapping_mul(0x9e37_79b9));
        }
    }
}
