//! Instructions: which one a thread has executed last or is about to, what that does to memory, and where.
//!
//! All are four bytes long, so the one before an address is known. A clock interrupts a thread between two, once the one that
//! waited is done, or a few later: in a short loop where the next turn begins. A breakpoint traps before the access. Barriers
//! wait for what comes before them.

use tenure_model::Access;
use yaxpeax_arm::armv8::a64::{Opcode, Operand};

use super::memory::{MemoryOperand, changed, decoded};
use super::{Registers, exclusive};
use crate::arch::{Read, Stop, WalkStep};

/// `yield`, and `isb`, which Rust and others pause with.
const PAUSES: [u32; 2] = [0xd503_203f, 0xd503_3fdf];

/// Bytes.
const INSTRUCTION_BYTES: u64 = 4;

/// Instructions of a loop that are searched.
const MAX_TURN: u64 = 32;

/// Instructions that retire at once, at most: as many as on x86-64.
const RETIRED_AT_ONCE: usize = 8;

/// An instruction that accesses memory, or an atomic operation of several.
#[derive(Debug, Clone)]
pub(crate) struct Instruction {
    /// Its address; of several that of the first.
    at: u64,
    memory: MemoryOperand,
    /// Whether it is done, and has changed registers.
    is_done: bool,
    /// Whether it loads the address of its next turn, and its register has that where a thread stops.
    is_step: bool,
    /// Whether the thread has paused since it read this last: it waits for a change.
    pub(crate) is_polled: bool,
    pub(crate) access: Access,
    /// Bytes.
    pub(crate) size: u8,
}

impl Instruction {
    /// The one that a thread has waited for, or that has met a breakpoint.
    pub(crate) fn met(stop: Stop, ip: u64, read: Read<'_>) -> Option<Self> {
        let word = |at: u64| {
            let mut bytes = [0; 4];
            (at.is_multiple_of(INSTRUCTION_BYTES) && read(at, &mut bytes))
                .then(|| u32::from_le_bytes(bytes))
        };
        if stop == Stop::Breakpoint {
            return Self::of(ip, false, &word);
        }
        let before = ip.checked_sub(INSTRUCTION_BYTES)?;
        if word(before).is_some_and(|one| PAUSES.contains(&one)) {
            return Self::polled(ip, &word);
        }
        if let Some(waits_for) = word(before).and_then(decoded).and_then(|it| barrier(it.opcode)) {
            let before = Self::of(before.checked_sub(INSTRUCTION_BYTES)?, true, &word)?;
            return waits_for(before.access).then_some(before);
        }
        Self::of(before, true, &word).or_else(|| Self::in_turn(ip, &word))
    }

    /// What is at an address.
    fn of(at: u64, is_done: bool, word: &dyn Fn(u64) -> Option<u32>) -> Option<Self> {
        let alone = || Some((at, MemoryOperand::of(&decoded(word(at)?)?)?));
        let (at, memory) = exclusive::around(at, word).or_else(alone)?;
        let MemoryOperand { access, size, .. } = memory;
        let is_step = is_done && memory.own_base().is_some_and(|(base, _)| walks(at, base, word));
        Some(Self { at, memory, is_done, is_step, is_polled: false, access, size })
    }

    /// What a thread reads next that has just paused: it waits for a change of that.
    fn polled(ip: u64, word: &dyn Fn(u64) -> Option<u32>) -> Option<Self> {
        /// A loop that waits has a jump and a load or two after its pause.
        const MAX_INSTRUCTIONS: usize = 4;
        let (mut at, mut gone) = (ip, 0);
        for _ in 0..MAX_INSTRUCTIONS {
            let one = decoded(word(at)?)?;
            if MemoryOperand::of(&one).is_some() {
                let found = Self::of(at, false, word)?;
                let is_known = !found.access.writes() && gone & found.memory.registers() == 0;
                return is_known.then_some(Self { is_polled: true, ..found });
            }
            gone |= changed(&one);
            at = match (one.opcode, one.operands[0]) {
                (Opcode::B, Operand::PCOffset(offset)) => at.wrapping_add_signed(offset),
                (opcode, _) if exclusive::leaves(opcode) || exclusive::branches(opcode) => {
                    return None;
                }
                _ => at + INSTRUCTION_BYTES,
            };
        }
        None
    }

    /// The last access of a loop's turn, if the loop begins here, and the instructions after that retire with it.
    fn in_turn(start: u64, word: &dyn Fn(u64) -> Option<u32>) -> Option<Self> {
        let mut turn = Vec::new();
        for at in (0..MAX_TURN).map(|step| start + step * INSTRUCTION_BYTES) {
            let one = decoded(word(at)?)?;
            if exclusive::branches(one.opcode) && one.operands.iter().any(|it| matches!(it, Operand::PCOffset(offset) if at.wrapping_add_signed(*offset) == start)) {
                break;
            }
            // A condition of another branch is not met in a turn.
            if exclusive::leaves(one.opcode) || at == start + (MAX_TURN - 1) * INSTRUCTION_BYTES {
                return None;
            }
            turn.push((at, one));
        }
        let at_once = &turn[turn.len().saturating_sub(RETIRED_AT_ONCE - 1)..];
        let last = at_once.iter().rposition(|(_, one)| MemoryOperand::of(one).is_some())?;
        let found = Self::of(at_once[last].0, true, word)?;
        let is_gone = |(_, later): &(u64, _)| changed(later) & found.memory.registers() != 0;
        (!at_once[last + 1..].iter().any(is_gone)).then_some(found)
    }

    /// The address after it.
    pub(crate) fn end(&self) -> u64 {
        self.at + INSTRUCTION_BYTES
    }

    /// What it loaded, if it walks along a list.
    pub(crate) fn step(&self, registers: &Registers) -> Option<WalkStep> {
        let (base, offset) = self.memory.own_base().filter(|_| self.is_step)?;
        Some(WalkStep { loaded: *registers.0.get(usize::from(base))?, offset })
    }

    /// Where it accesses memory, by the registers of the thread that has stopped; `None` if they do not tell that any more.
    /// Ignores the stack, which only x86-64 needs: to recover a base that the access overwrote.
    pub(crate) fn address(
        &self,
        registers: &Registers,
        _stack: &dyn Fn(u64) -> Option<u64>,
    ) -> Option<u64> {
        self.memory.address(self.at, self.is_done, registers)
    }
}

/// Whether a loop leads from a load to itself, and nothing else in it changes its register.
fn walks(load: u64, register: u16, word: &dyn Fn(u64) -> Option<u32>) -> bool {
    // Functions keep x19 to x28.
    let is_kept = (19..=28).contains(&register);
    let keeps = |at: u64| {
        word(at).and_then(decoded).is_some_and(|one| {
            let goes_on = !exclusive::leaves(one.opcode) || is_kept && is_call(one.opcode);
            // A branch compares its first operand.
            goes_on && (exclusive::branches(one.opcode) || changed(&one) & 1 << register == 0)
        })
    };
    let back = |at: u64| {
        let one = word(at).and_then(decoded).filter(|one| exclusive::branches(one.opcode))?;
        one.operands.iter().find_map(|it| match it {
            Operand::PCOffset(offset) => Some(at.wrapping_add_signed(*offset)),
            _ => None,
        })
    };
    let near = load.saturating_sub(MAX_TURN * INSTRUCTION_BYTES)..=load;
    for at in (1..=MAX_TURN).map(|step| load + step * INSTRUCTION_BYTES) {
        if let Some(start) = back(at).filter(|start| near.contains(start)) {
            return (start..load).step_by(INSTRUCTION_BYTES as usize).all(keeps);
        }
        if !keeps(at) {
            return false;
        }
    }
    false
}

fn is_call(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::BL | Opcode::BLR)
}

/// Which of the accesses before it a barrier waits for; `None` of other instructions.
fn barrier(opcode: Opcode) -> Option<fn(Access) -> bool> {
    /// The kinds of accesses, in the last two bits.
    const KINDS: u8 = 0b11;
    const LOADS: u8 = 0b01;
    let (Opcode::DMB(which) | Opcode::DSB(which)) = opcode else { return None };
    Some(match which & KINDS {
        LOADS => |access| access != Access::Write && access != Access::Store,
        _ => Access::writes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Access as A;

    const START: u64 = 0x40_0000;
    const NOP: u32 = 0xd503_201f;
    const RET: u32 = 0xd65f_03c0;
    const CAS: Access = A::CompareExchange;

    /// An access: what it does, to how many bytes, where, and how many instructions from the start its first one is.
    type Expected = Option<(Access, u8, u64, u64)>;

    /// Memory in which this code begins at [`START`], and nothing else is mapped.
    fn memory(code: &[u32]) -> impl Fn(u64, &mut [u8]) -> bool {
        |at, into| {
            let index =
                usize::try_from(at.wrapping_sub(START) / INSTRUCTION_BYTES).unwrap_or(usize::MAX);
            let Some(word) = code.get(index) else { return false };
            into.copy_from_slice(&word.to_le_bytes());
            true
        }
    }

    /// What is met by a thread that would go on with one of these instructions. Register `n` has 0x1000 * (n + 1).
    fn met(stop: Stop, code: &[u32], next: u64) -> Expected {
        let mut registers = Registers::default();
        for (at, register) in registers.0.iter_mut().enumerate() {
            *register = 0x1000 * (at as u64 + 1);
        }
        let found = Instruction::met(stop, START + next * INSTRUCTION_BYTES, &memory(code))?;
        let first = (found.end() - INSTRUCTION_BYTES - START) / INSTRUCTION_BYTES;
        Some((found.access, found.size, found.address(&registers, &|_| None)?, first))
    }

    #[test]
    fn a_clock_interrupts_after_an_access_and_a_breakpoint_traps_before_it() {
        let code = [
            NOP,
            0xf940_0000, // ldr x0, [x0]
            0xf840_8c22, // ldr x2, [x1, #8]!
            0xf900_0064, // str x4, [x3]
            RET,
        ];
        let clock: Vec<_> = (0..5).map(|next| met(Stop::Clock, &code, next)).collect();
        // The second one has overwritten its base, and the third one has moved its.
        let moved = Some((A::Read, 8, 0x2000, 2));
        assert_eq!(clock, [None, None, None, moved, Some((A::Write, 8, 0x4000, 3))]);
        let breakpoint: Vec<_> = (0..5).map(|at| met(Stop::Breakpoint, &code, at)).collect();
        let (first, second) = (Some((A::Read, 8, 0x1000, 1)), Some((A::Read, 8, 0x2008, 2)));
        assert_eq!(breakpoint, [None, first, second, Some((A::Write, 8, 0x4000, 3)), None]);
        // Between two instructions is none, whatever lies there.
        let stores = |_: u64, into: &mut [u8]| {
            into.copy_from_slice(&code[3].to_le_bytes());
            true
        };
        let at = |ip: u64| Instruction::met(Stop::Clock, ip, &stores).map(|it| it.access);
        assert_eq!((at(2), at(6), at(8)), (None, None, Some(A::Write)));
    }

    #[test]
    fn a_pause_waits_for_what_is_read_next() {
        // yield or isb; ldarb w8, [x0]; cbnz w8, -8: and the same with a jump to the load.
        let polled = Some((A::Load, 1, 0x1000, 1));
        for pause in PAUSES {
            assert_eq!(met(Stop::Clock, &[pause, 0x08df_fc08, 0x35ff_ffc8], 1), polled);
        }
        let jump = [PAUSES[0], 0x1400_0002, NOP, 0x08df_fc08];
        assert_eq!(met(Stop::Clock, &jump, 1), Some((A::Load, 1, 0x1000, 3)));
        // mov x0, x1: the register has another value by then. A store is no poll.
        assert_eq!(met(Stop::Clock, &[PAUSES[0], 0xaa01_03e0, 0x08df_fc08], 1), None);
        assert_eq!(met(Stop::Clock, &[PAUSES[0], 0x3900_0008], 1), None);
    }

    /// As compilers write them for processors without other atomic instructions.
    #[test]
    fn a_load_and_a_store_exclusive_are_one_operation_wherever_a_thread_stops_in_it() {
        // What comes after the operation stands after a bar.
        for (about, code, (access, size, address)) in [
            // ldaxr x0, [x1]; add x2, x0, #1; stlxr w3, x2, [x1]; cbnz w3, -12
            ("gcc: add", "c85ffc20 91000402 c803fc22 35ffffa3 |", (A::Add, 8, 0x2000)),
            // ldxr w2, [x0]; sub w3, w2, w1; stxr w4, w3, [x0]; cbnz w4, -12
            ("gcc: sub", "885f7c02 4b010043 88047c03 35ffffa4 |", (A::Add, 4, 0x1000)),
            // ldaxr x0, [x1]; orr x2, x0, #4; stlxr w3, x2, [x1]; cbnz w3, -12
            ("gcc: or", "c85ffc20 b27e0002 c803fc22 35ffffa3 |", (A::Exchange, 8, 0x2000)),
            // ldaxr x0, [x2]; stlxr w3, x1, [x2]; cbnz w3, -8
            ("gcc: exchange", "c85ffc40 c803fc41 35ffffc3 |", (A::Exchange, 8, 0x3000)),
            // ldaxr x8, [x0]; cmp x8, #7; csel x10, x8, x9, hi; stlxr w11, x10, [x0]; cbnz w11, -16
            ("max", "c85ffc08 f1001d1f 9a89810a c80bfc0a 35ffff8b |", (A::Exchange, 8, 0x1000)),
            // ldaxr x3, [x0]; cmp x3, x1; b.ne +16; stlxr w4, x2, [x0]; cbnz w4, -16
            ("cas", "c85ffc03 eb01007f 54000061 c804fc02 35ffff84 |", (CAS, 8, 0x1000)),
            // ldaxr x3, [x0]; cmp x3, x1; b.ne +8; stlxr w4, x2, [x0]; cmp w4, #0
            ("weak cas", "c85ffc03 eb01007f 54000061 c804fc02 | 7100009f", (CAS, 8, 0x1000)),
            // ldxp x2, x3, [x0]; cmp x2, x6; ccmp x3, x7, #0, eq; b.ne +12; stlxp w1, x8, x9, [x0]; cbnz w1, -20
            (
                "cas of 16 bytes",
                "c87f0c02 eb06005f fa470060 54000061 c821a408 35ffff61 |",
                (CAS, 16, 0x1000),
            ),
        ] {
            let words = |code: &str| -> Vec<u32> {
                code.split_whitespace().map(|it| u32::from_str_radix(it, 16).unwrap()).collect()
            };
            let (operation, after) = code.split_once('|').unwrap();
            let (operation, after) = (words(operation), words(after));
            let (length, is_loop) = (operation.len() as u64, after.is_empty());
            let code = [&[NOP], &operation[..], &after, &[NOP, RET]].concat();
            let expected = Some((access, size, address, 1));
            // Where it begins it goes on after it has failed. A thread after the last one has waited as well.
            assert_eq!(met(Stop::Clock, &code, 1), expected.filter(|_| is_loop), "{about}");
            for next in 2..=length + 1 {
                assert_eq!(met(Stop::Clock, &code, next), expected, "{about}, {next}");
            }
            assert_eq!(met(Stop::Clock, &code, length + 2), None, "{about}");
            for at in 1..=length {
                assert_eq!(met(Stop::Breakpoint, &code, at), expected, "{about}, {at}");
            }
            assert_eq!(met(Stop::Breakpoint, &code, 0), None, "{about}");
        }
    }

    #[test]
    fn what_only_looks_like_an_operation_is_its_instructions() {
        let (load, read) = (Some((A::Load, 8, 0x2000, 0)), Some((A::Read, 8, 0x7000, 1)));
        let store = Some((A::Store, 8, 0x2000, 1));
        for (about, code, next, expected) in [
            // As locks that wait for an event.
            ("no store", [0xc85f_fc20, 0xb500_0040, 0xd503_205f, RET], 1, load),
            ("no store, after it", [0xc85f_fc20, 0xb500_0040, 0xd503_205f, RET], 3, None),
            // stxr w3, x2, [x5]
            ("another place", [0xc85f_fc20, 0xc803_7ca2, 0x35ff_ffc3, RET], 1, load),
            // ldr x2, [x6]
            ("an access in between", [0xc85f_fc20, 0xf940_00c2, 0xc803_fc22, RET], 2, read),
            ("an end in between", [0xc85f_fc20, RET, 0xc803_fc22, 0x35ff_ffa3], 1, load),
            ("retaa in between", [0xc85f_fc20, 0xd65f_0bff, 0xc803_fc22, 0x35ff_ffa3], 1, load),
            ("a store alone", [NOP, 0xc803_fc22, 0x35ff_ffe3, RET], 2, store),
        ] {
            assert_eq!(met(Stop::Clock, &code, next), expected, "{about}");
        }
    }

    #[test]
    fn a_thread_that_enters_an_operation_has_waited_for_the_access_before_it() {
        // str x4, [x3]
        let code = [0xf900_0064, 0xc85f_fc20, 0x9100_0402, 0xc803_fc22, 0x35ff_ffa3];
        assert_eq!(met(Stop::Clock, &code, 1), Some((A::Write, 8, 0x4000, 0)));
        assert_eq!(met(Stop::Clock, &code, 2), Some((A::Add, 8, 0x2000, 1)));
    }

    #[test]
    fn a_thread_at_a_barrier_has_waited_for_what_it_orders() {
        const LOAD: u32 = 0xf940_0064; // ldr x4, [x3]
        const STORE: u32 = 0xf900_0064; // str x4, [x3]
        const ALL: u32 = 0xd503_3bbf; // dmb ish
        const LOADS: u32 = 0xd503_39bf; // dmb ishld
        const STORES: u32 = 0xd503_3abf; // dmb ishst
        let (load, store) = (Some((A::Read, 8, 0x4000, 0)), Some((A::Write, 8, 0x4000, 0)));
        for (about, code, expected) in [
            ("dmb ish, store", [STORE, ALL], store),
            ("dmb ish, load", [LOAD, ALL], None),
            ("dmb ishst, store", [STORE, STORES], store),
            ("dmb ishld, load", [LOAD, LOADS], load),
            ("dmb ishld, store", [STORE, LOADS], None),
            ("dsb sy, store", [STORE, 0xd503_3f9f], store),
            ("dmb ish, no access", [NOP, ALL], None),
            ("isb, store", [STORE, 0xd503_3fdf], None),
        ] {
            assert_eq!(met(Stop::Clock, &code, 2), expected, "{about}");
        }
        // As gcc's `__sync_fetch_and_add`.
        let code = [0xc85f_7c20, 0x9100_0402, 0xc803_fc22, 0x35ff_ffa3, ALL];
        assert_eq!(met(Stop::Clock, &code, 5), Some((A::Add, 8, 0x2000, 0)));
    }

    #[test]
    fn a_thread_where_a_loop_begins_has_waited_in_the_turn_before() {
        // ldr x4, [x3]; add x4, x4, #1; str x4, [x3]
        const ADD: [u32; 3] = [0xf940_0064, 0x9100_0484, 0xf900_0064];
        const COUNT: u32 = 0xf100_0442; // subs x2, x2, #1
        let turn = |after: &[u32]| {
            let back = (-3 - i32::try_from(after.len()).unwrap()).cast_unsigned() & 0x7_ffff;
            // b.ne
            [&[NOP], &ADD[..], after, &[0x5400_0001 | back << 5]].concat()
        };
        let store = Some((A::Write, 8, 0x4000, 3));
        for (about, code, expected) in [
            ("a count after it", turn(&[COUNT]), store),
            ("nothing after it", turn(&[]), store),
            ("far after it", turn(&[COUNT; 7]), None),
            ("add x3, x3, #8 after it", turn(&[0x9100_2063]), None),
            ("ldr x9, [x3], #8 after it", turn(&[0xf840_8469, NOP]), Some((A::Read, 8, 0x3ff8, 4))),
            ("blr x5 after it", turn(&[0xd63f_00a0]), None),
            ("blraa x8, x9 after it", turn(&[0xd73f_0909]), None),
            ("blrab x8, x9 after it", turn(&[0xd73f_0d09]), None),
            ("blraaz x8 after it", turn(&[0xd63f_091f]), None),
            ("blrabz x8 after it", turn(&[0xd63f_0d1f]), None),
            ("braa x8, x9 after it", turn(&[0xd71f_0909]), None),
            ("braaz x8 after it", turn(&[0xd61f_091f]), None),
            ("retaa after it", turn(&[0xd65f_0bff]), None),
            ("retab after it", turn(&[0xd65f_0fff]), None),
            ("eret after it", turn(&[0xd69f_03e0]), None),
            ("svc #0 after it", turn(&[0xd400_0001]), None),
            ("hvc #0 after it", turn(&[0xd400_0002]), None),
            ("smc #0 after it", turn(&[0xd400_0003]), None),
            ("brk #1 after it", turn(&[0xd420_0020]), None),
            ("hlt #1 after it", turn(&[0xd440_0020]), None),
            ("udf #0 after it", turn(&[0]), None),
            ("no loop", [&[NOP], &ADD[..], &[RET]].concat(), None),
            ("a loop without an end", [NOP; 64].to_vec(), None),
        ] {
            assert_eq!(met(Stop::Clock, &code, 1), expected, "{about}");
        }
    }

    /// As `__aarch64_ldadd8_acq_rel` and its like, which compilers call.
    #[test]
    fn an_atomic_instruction_is_one_operation() {
        for (about, word, expected) in [
            ("ldaddal x0, x0, [x1]", 0xf8e0_0020, (A::Add, 8, 0x2000, 0)),
            ("casal x0, x1, [x2]", 0xc8e0_fc41, (A::CompareExchange, 8, 0x3000, 0)),
            ("swpal w0, w0, [x1]", 0xb8e0_8020, (A::Exchange, 4, 0x2000, 0)),
        ] {
            let code = [word, RET];
            assert_eq!(met(Stop::Clock, &code, 1), Some(expected), "{about}");
            assert_eq!(met(Stop::Breakpoint, &code, 0), Some(expected), "{about}");
        }
    }

    #[test]
    fn a_load_that_feeds_its_next_turn_is_a_step_along_a_list() {
        // `ldr x0, [x0, #8]` and the same of x19, between what comes before and after it in a loop.
        const LOAD: u32 = 0xf940_0400;
        const LOAD_19: u32 = 0xf940_0673;
        const CALL: u32 = 0x9400_0000;
        const MOVE_TO_0: u32 = 0xaa01_03e0;
        let step = |before: &[u32], load: u32, after: &[u32], goes_back: bool| {
            let mut code = [before, &[load], after].concat();
            let back = u32::try_from(code.len()).unwrap().wrapping_neg() & 0x03ff_ffff;
            code.push(if goes_back { 0x1400_0000 | back } else { NOP });
            let mut registers = Registers::default();
            (registers.0[0], registers.0[19]) = (0x1000, 0x1_9000);
            let next = START + (before.len() as u64 + 1) * INSTRUCTION_BYTES;
            Instruction::met(Stop::Clock, next, &memory(&code))?.step(&registers)
        };
        let found = Some(WalkStep { loaded: 0x1000, offset: 8 });
        assert_eq!(step(&[], LOAD, &[], true), found);
        assert_eq!(step(&[NOP], LOAD, &[NOP, NOP], true), found);
        // `cbz x0` out of it.
        assert_eq!(step(&[], LOAD, &[0xb400_0200], true), found);
        assert_eq!(step(&[], LOAD, &[], false), None, "no branch");
        assert_eq!(step(&[MOVE_TO_0], LOAD, &[], true), None, "another address before it");
        assert_eq!(step(&[], LOAD, &[MOVE_TO_0], true), None, "another address after it");
        assert_eq!(step(&[], LOAD, &[RET], true), None, "it returns");
        assert_eq!(step(&[], LOAD, &[CALL], true), None, "a function may change x0");
        let kept = Some(WalkStep { loaded: 0x1_9000, offset: 8 });
        assert_eq!(step(&[], LOAD_19, &[CALL], true), kept, "a function keeps x19");
        // `ldr x1, [x0, #8]`; `ldr w0, [x0, #8]`.
        assert_eq!(step(&[], 0xf940_0401, &[], true), None);
        assert_eq!(step(&[], 0xb940_0800, &[], true), None);
    }
}
