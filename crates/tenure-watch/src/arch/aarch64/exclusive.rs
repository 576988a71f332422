//! Atomic operations that are a loop: a load exclusive, what becomes of the value, and a store exclusive that fails if the
//! line was taken away in between.
//!
//! ```text
//!     1:  ldaxr  w1, [x0]       <- the first instruction
//!         add    w1, w1, #1
//!         stlxr  w2, w1, [x0]
//!         cbnz   w2, 1b         <- the last one
//! ```
//!
//! A thread that is met anywhere in it waits for that one line. What lies between load and store says what it does.

use tenure_model::Access;
use yaxpeax_arm::armv8::a64::{Instruction, Opcode, Operand};

use super::memory::{MemoryOperand, decoded, is_load_exclusive, is_store_exclusive};

/// Instructions from load to store, at most.
const MAX_OPERATION: u64 = 16;

/// Instructions after the store, at most: a comparison, and the branch to the load.
const MAX_AFTER_STORE: u64 = 3;

/// Bytes of an instruction.
const INSTRUCTION_BYTES: u64 = 4;

/// The operation that an instruction at an address is a part of, and where that begins.
pub(super) fn around(
    place: u64,
    word: &dyn Fn(u64) -> Option<u32>,
) -> Option<(u64, MemoryOperand)> {
    for back in 0..MAX_OPERATION {
        let at = place.checked_sub(back * INSTRUCTION_BYTES)?;
        let instruction = decoded(word(at)?)?;
        if is_load_exclusive(instruction.opcode) {
            let (memory, last) = operation(at, &instruction, word)?;
            return (place <= last).then_some((at, memory));
        }
        let is_other =
            MemoryOperand::of(&instruction).is_some() && !is_store_exclusive(instruction.opcode);
        if is_other || leaves(instruction.opcode) {
            return None;
        }
    }
    None
}

/// What begins with a load exclusive, and its last instruction.
fn operation(
    start: u64,
    load: &Instruction,
    word: &dyn Fn(u64) -> Option<u32>,
) -> Option<(MemoryOperand, u64)> {
    let loaded = MemoryOperand::of(load)?;
    let mut access = Access::Exchange;
    for at in (1..MAX_OPERATION).map(|step| start + step * INSTRUCTION_BYTES) {
        let instruction = decoded(word(at)?)?;
        let opcode = instruction.opcode;
        if is_store_exclusive(opcode) {
            MemoryOperand::of(&instruction).filter(|stored| stored.is_where(&loaded))?;
            return Some((loaded.with(access), last(at, word)));
        }
        if MemoryOperand::of(&instruction).is_some() || leaves(opcode) {
            return None;
        }
        match opcode {
            // It leaves if the value is not the expected one.
            _ if is_condition(opcode) => access = Access::CompareExchange,
            Opcode::ADD | Opcode::SUB if access == Access::Exchange => access = Access::Add,
            _ => {}
        }
    }
    None
}

/// The branch to the load after a store, or that store.
fn last(store: u64, word: &dyn Fn(u64) -> Option<u32>) -> u64 {
    let is_back = |at: &u64| {
        let Some(instruction) = word(*at).and_then(decoded) else { return false };
        let is_back = |it: &Operand| matches!(it, Operand::PCOffset(offset) if *offset < 0);
        is_condition(instruction.opcode) && instruction.operands.iter().any(is_back)
    };
    (1..=MAX_AFTER_STORE)
        .map(|step| store + step * INSTRUCTION_BYTES)
        .find(is_back)
        .unwrap_or(store)
}

fn is_condition(opcode: Opcode) -> bool {
    use Opcode as O;
    matches!(opcode, O::Bcc(_) | O::BCcc(_) | O::CBZ | O::CBNZ | O::TBZ | O::TBNZ)
}

/// Whether an instruction says itself where a thread may go on.
pub(super) fn branches(opcode: Opcode) -> bool {
    is_condition(opcode) || opcode == Opcode::B
}

/// Whether the next instruction is not the one after it, or a call or the kernel comes between the two.
#[rustfmt::skip]
pub(super) fn leaves(opcode: Opcode) -> bool {
    use Opcode as O;
    matches!(
        opcode,
        O::B | O::BR | O::BRAA | O::BRAAZ | O::BRAB | O::BRABZ
            | O::BL | O::BLR | O::BLRAA | O::BLRAAZ | O::BLRAB | O::BLRABZ
            | O::RET | O::RETAA | O::RETAB
            | O::RETAASPPC | O::RETABSPPC | O::RETAASPPCR | O::RETABSPPCR
            | O::ERET | O::ERETAA | O::ERETAB | O::DRPS
            | O::SVC | O::HVC | O::SMC
            | O::BRK | O::HLT | O::UDF | O::DCPS1 | O::DCPS2 | O::DCPS3
    )
}
