//! What an instruction reads and overwrites, by the encoding groups of Arm's manual (DDI 0487, chapter C4).
//!
//! An encoding of no row here is not understood: SVE, stores of memory tags, later versions of the architecture.

use super::super::{Left, RegisterSet, Step};
use super::{KEPT, through};

/// The condition flags. Number 31 is no register whose value is followed: zero, or the stack pointer.
pub(super) const FLAGS: RegisterSet = 1 << 31;

/// Bytes of an instruction.
pub(super) const LENGTH: u64 = 4;

/// Fields of an encoding that name a register, and what is not named by one.
mod field {
    /// Bits 0 to 4: the destination, or what a load or store transfers.
    pub(super) const D: u8 = 1;
    /// Bits 5 to 9: the first source, or the base of an address.
    pub(super) const N: u8 = 1 << 1;
    /// Bits 16 to 20: the second source, or the status of a store exclusive.
    pub(super) const M: u8 = 1 << 2;
    /// Bits 10 to 14: the third source, or the second register of a pair.
    pub(super) const A: u8 = 1 << 3;
    /// The register after that of `D`.
    pub(super) const D_NEXT: u8 = 1 << 4;
    /// The register after that of `M`.
    pub(super) const M_NEXT: u8 = 1 << 5;
    /// The condition flags.
    pub(super) const F: u8 = 1 << 6;
}
use field::{A, D, D_NEXT, F, M, M_NEXT, N};

/// A group of encodings.
struct EncodingGroup {
    mask: u32,
    value: u32,
    reads: u8,
    overwrites: u8,
}

/// A pattern has a 0, 1 or . for each bit from the highest on. The ones after its end are free.
const fn group(pattern: &str, reads: u8, overwrites: u8) -> EncodingGroup {
    let (bytes, mut mask, mut value, mut bit, mut at) = (pattern.as_bytes(), 0, 0, 32, 0);
    while at < bytes.len() {
        match bytes[at] {
            b' ' => {}
            b'.' => bit -= 1,
            digit => {
                bit -= 1;
                mask |= 1 << bit;
                value |= ((digit - b'0') as u32) << bit;
            }
        }
        at += 1;
    }
    EncodingGroup { mask, value, reads, overwrites }
}

const NONE: u8 = 0;

/// Instructions that go on to the next one and name their registers in fields. No two groups overlap, unless the first
/// one is a part of the other.
#[rustfmt::skip]
const GROUPS: &[EncodingGroup] = &[
    // Immediate: adr, adrp; add, sub; adds, subs; addg, subg; smax, smin, umax, umin.
    group("...10000", NONE, D),
    group("..0 100010", N, D),
    group("..1 100010", N, D | F),
    group("1.0 1000110 ...... 00", N, D),
    group(".00 1000111 00..", N, D),
    // ands; and, orr, eor.
    group("011 1001000", N, D | F),
    group("111 100100", N, D | F),
    group("0.. 1001000", N, D),
    group("1.. 100100", N, D),
    // movn, movz; movk, which leaves the other bits.
    group("0.0 1001010", NONE, D),
    group("1.0 100101", NONE, D),
    group("011 1001010", D, D),
    group("111 100101", D, D),
    // sbfm, ubfm: shifts, extensions; bfm, which leaves the other bits: bfi, bfxil.
    group("0.0 1001100 0..... 0", N, D),
    group("1.0 1001101", N, D),
    group("001 1001100 0..... 0", N | D, D),
    group("101 1001101", N | D, D),
    // extr.
    group("000 100111 00 ..... 0", N | M, D),
    group("100 100111 10", N | M, D),

    // Registers: ands, bics; and, bic, orr, orn, eor, eon.
    group("011 01010 ... ..... 0", N | M, D | F),
    group("111 01010", N | M, D | F),
    group("0.. 01010 ... ..... 0", N | M, D),
    group("1.. 01010", N | M, D),
    // add, sub, with a shift to the left or right, an arithmetic one, an extension; adds, subs.
    group("0.0 01011 0.0 ..... 0", N | M, D),
    group("1.0 01011 0.0", N | M, D),
    group("0.0 01011 100 ..... 0", N | M, D),
    group("1.0 01011 100", N | M, D),
    group("..0 01011 001 ..... ... 0..", N | M, D),
    group("..0 01011 001 ..... ... 100", N | M, D),
    group("0.1 01011 0.0 ..... 0", N | M, D | F),
    group("1.1 01011 0.0", N | M, D | F),
    group("0.1 01011 100 ..... 0", N | M, D | F),
    group("1.1 01011 100", N | M, D | F),
    group("..1 01011 001 ..... ... 0..", N | M, D | F),
    group("..1 01011 001 ..... ... 100", N | M, D | F),
    // adc, sbc; adcs, sbcs; rmif, setf8 and setf16, which leave some flags.
    group("..0 11010000 ..... 000000", N | M | F, D),
    group("..1 11010000 ..... 000000", N | M | F, D | F),
    group("101 11010000 ...... 00001 ..... 0", N, NONE),
    group("001 11010000 00000 0.0010 ..... 01101", N, NONE),
    // ccmn, ccmp; csel, csinc, csinv, csneg.
    group("..1 11010010 ..... .... 00 ..... 0", N | M | F, F),
    group("..1 11010010 ..... .... 10 ..... 0", N | F, F),
    group("..0 11010100 ..... .... 0", N | M | F, D),
    // subps; subp; udiv, sdiv; irg, gmi; lslv, lsrv, asrv, rorv; pacga; crc32; smax, umax, smin, umin.
    group("101 11010110 ..... 000000", N | M, D | F),
    group("100 11010110 ..... 000000", N | M, D),
    group(".00 11010110 ..... 00001", N | M, D),
    group("100 11010110 ..... 00010", N | M, D),
    group(".00 11010110 ..... 0010", N | M, D),
    group("100 11010110 ..... 001100", N | M, D),
    group("000 11010110 ..... 010.0", N | M, D),
    group("000 11010110 ..... 010.10", N | M, D),
    group("100 11010110 ..... 010.11", N | M, D),
    group(".00 11010110 ..... 0110", N | M, D),
    // rbit, rev16; rev, rev32; clz, cls; ctz, cnt; abs.
    group(".10 11010110 00000 00000", N, D),
    group(".10 11010110 00000 000010", N, D),
    group("110 11010110 00000 000011", N, D),
    group(".10 11010110 00000 0001", N, D),
    group(".10 11010110 00000 001000", N, D),
    // Signatures of pointers: pacia; paciza; xpaci.
    group("110 11010110 00001 000", N | D, D),
    group("110 11010110 00001 001... 11111", D, D),
    group("110 11010110 00001 01000. 11111", D, D),
    // madd, msub; smaddl, umaddl; smulh, umulh.
    group(".00 11011000", N | M | A, D),
    group("100 11011.01", N | M | A, D),
    group("100 11011.10 ..... 0", N | M, D),

    // Memory: stxr; ldxr; stxp; ldxp; casp; stlr; ldar; cas.
    group("..001000 000", D | N, M),
    group("..001000 010", N, D),
    group("1.001000 001", D | A | N, M),
    group("1.001000 011", N, D | A),
    group("0.001000 0.1 ....0 . 11111 ..... ....0", D | D_NEXT | M | M_NEXT | N, M | M_NEXT),
    group("..001000 100", D | N, NONE),
    group("..001000 110", N, D),
    group("..001000 1.1 ..... . 11111", D | M | N, M),
    // ldadd and the like; swp; ldapr; stlur; ldapur, and those that extend the sign.
    group("..111000 ..1 ..... 0... 00", M | N, D),
    group("..111000 ..1 ..... 1000 00", M | N, D),
    group("..111000 101 11111 1100 00", N, D),
    group("..011001 000 ......... 00", D | N, NONE),
    group("..011001 010 ......... 00", N, D),
    group("0.011001 1.0 ......... 00", N, D),
    group("10011001 100 ......... 00", N, D),
    // Vectors: ld1 to ld4, st1 to st4, of all elements and of one, without and with an index.
    group("0.001100 0.0 00000", N, NONE),
    group("0.001100 1.0", N | M, N),
    group("0.001101 0.. 00000", N, NONE),
    group("0.001101 1..", N | M, N),
    // Near the instruction: prfm; ldr, ldrsw; ldr of vectors.
    group("11 011000", NONE, NONE),
    group(".. 011000", NONE, D),
    group("0. 011100", NONE, NONE),
    group("10 011100", NONE, NONE),
    // stnp, stp; ldnp, ldp; and with an index.
    group(".0 10100 .00", D | A | N, NONE),
    group(".0 10100 .10", D | A | N, N),
    group(".0 10100 .01", N, D | A),
    group(".0 10100 .11", N, D | A | N),
    // stgp; ldpsw; stp, ldp of vectors.
    group("01 10100 100", D | A | N, NONE),
    group("01 10100 .10", D | A | N, N),
    group("01 10100 101", N, D | A),
    group("01 10100 .11", N, D | A | N),
    group(".0 10110 .0", N, NONE),
    group(".0 10110 .1", N, N),
    group("01 10110 .0", N, NONE),
    group("01 10110 .1", N, N),
    // ldraa, ldrab, and with an index.
    group("11 111000 ..1 ......... 01", N, D),
    group("11 111000 ..1 ......... 11", N, D | N),

    // Between general registers and those of vectors: scvtf, ucvtf; fcvtns and the like; fcvtas, fcvtau.
    group(".0011110 ..1 00 01. 000000", N, NONE),
    group(".0011110 ..1 .. 00. 000000", NONE, D),
    group(".0011110 ..1 00 10. 000000", NONE, D),
    // fmov from a vector and to one, also the upper half; fjcvtzs.
    group(".0011110 ..1 00 110 000000", NONE, D),
    group("10011110 101 01 110 000000", NONE, D),
    group(".0011110 ..1 00 111 000000", N, NONE),
    group("10011110 101 01 111 000000", N, NONE),
    group("00011110 011 11 110 000000", NONE, D | F),
    // scvtf, ucvtf of numbers with a fixed point; fcvtzs, fcvtzu.
    group(".0011110 ..0 00 01.", N, NONE),
    group(".0011110 ..0 11 00.", NONE, D),
    // dup, ins of a general register; smov, umov to one.
    group("0.001110 000 ..... 000011", N, NONE),
    group("01001110 000 ..... 000111", N, NONE),
    group("0.001110 000 ..... 001.11", NONE, D),
    // fcmp, fcmpe; fccmp; fcsel.
    group("00011110 ..1 ..... 001000 ..... ..000", NONE, F),
    group("00011110 ..1 ..... .... 01", F, F),
    group("00011110 ..1 ..... .... 11", F, NONE),
    // Of vectors alone: with one source, a constant, two sources, three; all elements, one; SHA and SM.
    group("00011110 ..1 ..... . 10000", NONE, NONE),
    group("00011110 ..1 ..... ... 100", NONE, NONE),
    group("00011110 ..1 ..... .... 10", NONE, NONE),
    group("00011111", NONE, NONE),
    group("0..01111", NONE, NONE),
    group("0..01110 ..1", NONE, NONE),
    group("0..01110 .10", NONE, NONE),
    group("0..01110 100", NONE, NONE),
    group("0..01110 000 ..... 1", NONE, NONE),
    group("0..01110 000 ..... .....0", NONE, NONE),
    group("0.001110 000 ..... 000001", NONE, NONE),
    group("01101110 000 ..... 0....1", NONE, NONE),
    group("01.1111", NONE, NONE),
    group("11001110", NONE, NONE),
];

/// An instruction, of which fields are asked for.
#[derive(Clone, Copy)]
struct Word(u32);

impl Word {
    /// The bits from the higher to the lower one.
    fn bits(self, high: u32, low: u32) -> u32 {
        self.0 << (31 - high) >> (31 - high + low)
    }

    fn is(self, mask: u32, value: u32) -> bool {
        self.0 & mask == value
    }

    /// The register whose number begins at a bit.
    fn register(self, low: u32) -> RegisterSet {
        register(self.bits(low + 4, low))
    }

    fn fields(self, fields: u8) -> RegisterSet {
        let numbered = |field: u8, number: u32| {
            if fields & field == 0 { 0 } else { register(number) }
        };
        let (d, m) = (self.bits(4, 0), self.bits(20, 16));
        let flags = if fields & F == 0 { 0 } else { FLAGS };
        numbered(D, d)
            | numbered(N, self.bits(9, 5))
            | numbered(M, m)
            | numbered(A, self.bits(14, 10))
            | numbered(D_NEXT, d + 1)
            | numbered(M_NEXT, m + 1)
            | flags
    }

    /// Where it branches to, by a distance in instructions that a field holds.
    fn target(self, at: u64, high: u32, low: u32) -> u64 {
        let unused = 31 - high + low;
        let distance = (self.bits(high, low) << unused).cast_signed() >> unused;
        at.wrapping_add_signed(i64::from(distance) * LENGTH.cast_signed())
    }
}

/// A general register.
pub(super) const fn register(number: u32) -> RegisterSet {
    if number < 31 { 1 << number } else { 0 }
}

fn does(reads: RegisterSet, overwrites: RegisterSet) -> Step {
    leads(reads, overwrites, Left::No)
}

fn leads(reads: RegisterSet, overwrites: RegisterSet, left: Left) -> Step {
    Step { length: LENGTH, reads, overwrites, left }
}

/// What an instruction at an address does; `None` if that is not known.
pub(super) fn step(word: u32, at: u64) -> Option<Step> {
    let it = Word(word);
    let group = GROUPS.iter().find(|group| it.is(group.mask, group.value));
    let by_group = group.map(|group| does(it.fields(group.reads), it.fields(group.overwrites)));
    by_group.or_else(|| single(it)).or_else(|| branch(it, at)).or_else(|| system(it))
}

/// Loads and stores of one register.
fn single(it: Word) -> Option<Step> {
    if !it.is(0x3a00_0000, 0x3800_0000) {
        return None;
    }
    let [base, index] = [it.register(5), it.register(16)];
    let (is_register, is_scaled) = (it.bits(21, 21) == 1, it.bits(24, 24) == 1);
    let is_vector = it.bits(26, 26) == 1;
    let (size, operation) = (it.bits(31, 30), it.bits(23, 22));
    let is_prefetch = !is_vector && (size, operation) == (0b11, 0b10);
    let (reads, overwrites) = match it.bits(11, 10) {
        _ if is_scaled => (base, 0),
        // An index is of 32 or 64 bits.
        0b10 if is_register && it.bits(14, 14) == 1 => (base | index, 0),
        _ if is_register => return None,
        0b00 => (base, 0),
        // With the rights of a user: not of vectors.
        0b10 if !is_vector && !is_prefetch => (base, 0),
        // Before the access or after it, the base is moved.
        0b01 | 0b11 if !is_prefetch => (base, base),
        _ => return None,
    };
    let transferred = it.register(0);
    match (is_vector, operation, size) {
        (true, 0b00 | 0b01, _) | (true, _, 0b00) => Some(does(reads, overwrites)),
        (true, ..) => None,
        _ if is_prefetch => Some(does(reads, overwrites)),
        (false, 0b00, _) => Some(does(reads | transferred, overwrites)),
        (false, 0b01, _) | (false, 0b10, _) | (false, _, 0b00 | 0b01) => {
            Some(does(reads, overwrites | transferred))
        }
        _ => None,
    }
}

/// Branches, calls, and what ends a function or a program.
fn branch(it: Word, at: u64) -> Option<Step> {
    /// Where a call finds what it is to return to.
    const LINK: RegisterSet = 1 << 30;
    let calls = |reads, callee| {
        Some(leads(reads, !KEPT, Left::ByCall { callee, arguments: through(0..=8) }))
    };
    let [first, destination] = [it.register(0), it.register(5)];
    let to = |reads, target, falls| Some(leads(reads, 0, Left::To { target, falls }));
    match it.0 >> 24 {
        // b, bl.
        0x14..=0x17 => to(0, it.target(at, 25, 0), false),
        0x94..=0x97 => calls(0, Some(it.target(at, 25, 0))),
        // b.eq and the like; cbz, cbnz; tbz, tbnz.
        0x54 => to(FLAGS, it.target(at, 23, 5), true),
        0x34 | 0x35 | 0xb4 | 0xb5 => to(first, it.target(at, 23, 5), true),
        0x36 | 0x37 | 0xb6 | 0xb7 => to(first, it.target(at, 18, 5), true),
        // br, blr, ret; and with a check of the pointer's signature.
        0xd6 if it.is(0x00ff_fc1f, 0x001f_0000) || it.is(0x00ff_f81f, 0x001f_081f) => {
            Some(leads(destination, 0, Left::Nowhere))
        }
        0xd6 if it.is(0x00ff_fc1f, 0x003f_0000) || it.is(0x00ff_f81f, 0x003f_081f) => {
            calls(destination, None)
        }
        0xd6 if it.is(0x00ff_fc1f, 0x005f_0000) => Some(leads(destination, 0, Left::ByReturn)),
        0xd6 if it.is(0x00ff_fbff, 0x005f_0bff) => Some(leads(LINK, 0, Left::ByReturn)),
        // The second register is part of what the signature was made of.
        0xd7 if it.is(0x00ff_f800, 0x001f_0800) => {
            Some(leads(destination | first, 0, Left::Nowhere))
        }
        0xd7 if it.is(0x00ff_f800, 0x003f_0800) => calls(destination | first, None),
        // svc: Linux takes the number in x8 and keeps all but x0.
        0xd4 if it.is(0x00e0_001f, 0x0000_0001) => {
            let left = Left::ByCall { callee: None, arguments: through(0..=5) };
            Some(leads(register(8), register(0), left))
        }
        // brk; udf.
        0xd4 if it.is(0x00e0_001f, 0x0020_0000) => Some(leads(0, 0, Left::ByTrap)),
        0x00 if it.bits(31, 16) == 0 => Some(leads(0, 0, Left::ByTrap)),
        _ => None,
    }
}

/// Hints, barriers, and registers of the system.
fn system(it: Word) -> Option<Step> {
    let (first, link) = (it.register(0), register(30));
    // The flags' own register, and random numbers, which set flags.
    let is_flags = it.is(0x000f_ffe0, 0x000b_4200);
    let is_random = it.is(0x000f_ffc0, 0x000b_2400);
    match it.0 >> 19 << 3 {
        // nop, bti and the like; those that sign, check or strip an address; chkfeat.
        0xd500 if it.is(0x0007_f01f, 0x0003_201f) => Some(match it.bits(11, 5) {
            7 | 24..=31 => does(link, link),
            8 | 10 | 12 | 14 => does(through(16..=17), register(17)),
            40 => does(register(16), register(16)),
            _ => does(0, 0),
        }),
        // dmb, dsb, isb, sb, clrex.
        0xd500 if it.is(0x0007_f01f, 0x0003_301f) => Some(does(0, 0)),
        // cfinv, xaflag, axflag; others set no flags.
        0xd500 if it.is(0x0007_f09f, 0x0000_401f) && it.bits(6, 5) != 3 => Some(does(FLAGS, FLAGS)),
        0xd500 if it.is(0x0000_f01f, 0x0000_401f) => Some(does(0, 0)),
        // sys: dc, ic and the like; sysl.
        0xd508 => Some(does(first, 0)),
        0xd528 => Some(does(0, first)),
        // msr; mrs.
        0xd510 | 0xd518 => Some(does(first, if is_flags { FLAGS } else { 0 })),
        0xd530 | 0xd538 => Some(does(
            if is_flags { FLAGS } else { 0 },
            if is_random { first | FLAGS } else { first },
        )),
        _ => None,
    }
}
