//! Registers as they were before an instruction, although it has overwritten them.
//!
//! A sample has the registers after an access. A load that overwrites its own index, as look-ups in tables do, has destroyed
//! what its address was made of. Often the instructions around it say it again: `mov rcx, rax; and ecx, 3; mov rcx, [r8 + rcx*8]`
//! leaves `rax`. What was added to a register after the access is taken away again.

use std::cell::RefCell;
use std::ops::Range;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction as Decoded, InstructionInfoFactory, Mnemonic,
    OpAccess, OpKind, Register,
};
use rustc_hash::FxHashMap;

use super::Registers;
use super::decode::{PAGE, before};
use crate::arch::Read;

/// Instructions before an access that are searched.
const MAX_HISTORY: usize = 16;

/// Bytes on either side of an access in which branches are searched for.
const BRANCH_SEARCH_BYTES: u64 = 1024;

/// Values that one value may follow from.
const MAX_VALUES: usize = 64;

/// Instructions that a thread has executed one after the other, the last one before it stopped.
#[derive(Debug, Clone)]
pub(super) struct Trace {
    instructions: Vec<Decoded>,
    /// The one whose registers are asked for.
    at: usize,
}

/// What a thread has when it has stopped.
pub(super) struct StoppedThread<'a> {
    pub(super) registers: &'a Registers,
    /// A word of its stack.
    pub(super) stack: &'a dyn Fn(u64) -> Option<u64>,
}

impl Trace {
    /// An instruction with what came before it, as far as that is certain: up to a place that branches lead to.
    pub(super) fn to(instruction: Decoded, read: Read<'_>) -> Self {
        let targets = targets(instruction.ip(), read);
        let mut instructions = vec![instruction];
        while instructions.len() <= MAX_HISTORY {
            let first = &instructions[instructions.len() - 1];
            if targets.contains(&first.ip()) {
                break;
            }
            let Some(one) = before(first.ip(), read) else { break };
            if !matches!(one.flow_control(), FlowControl::Next | FlowControl::ConditionalBranch) {
                break;
            }
            instructions.push(one);
        }
        instructions.reverse();
        Self { at: instructions.len() - 1, instructions }
    }

    /// A loop's turn, and which of its instructions is meant.
    pub(super) fn of(turn: Vec<Decoded>, at: usize) -> Self {
        Self { instructions: turn, at }
    }

    /// A register before the instruction, as it was.
    pub(super) fn before(&self, register: Register, stopped: &StoppedThread<'_>) -> Option<u64> {
        ValueSearch { trace: self, stopped, asked: RefCell::default() }.value(register, self.at)
    }
}

/// The search for registers at places of a trace.
struct ValueSearch<'a> {
    trace: &'a Trace,
    stopped: &'a StoppedThread<'a>,
    /// Registers at places that were asked for, and their values; none while they are being found, or if they are not known.
    asked: RefCell<FxHashMap<(Register, usize), Option<u64>>>,
}

impl ValueSearch<'_> {
    /// A register before the instruction at a place.
    fn value(&self, register: Register, place: usize) -> Option<u64> {
        let full = register.full_register();
        let later = &self.trace.instructions[place..];
        let next = later.iter().position(|one| overwrites(one, full)).map(|at| place + at);
        let Some(next) = next else { return part(now(full, self.stopped.registers)?, register) };
        if let Some(value) = self.asked.borrow().get(&(full, place)) {
            return part((*value)?, register);
        }
        if self.asked.borrow().len() >= MAX_VALUES {
            return None;
        }
        self.asked.borrow_mut().insert((full, place), None);
        let value = self
            .undone(full, next)
            .or_else(|| self.computed(full, place))
            .or_else(|| self.copied(full, place..next));
        self.asked.borrow_mut().insert((full, place), value);
        part(value?, register)
    }

    /// A register before an instruction that has changed it in a way that can be taken back.
    fn undone(&self, register: Register, at: usize) -> Option<u64> {
        let one = &self.trace.instructions[at];
        // What was above 32 bits is gone.
        if one.op0_kind() != OpKind::Register || one.op0_register() != register {
            return None;
        }
        let by = match one.mnemonic() {
            Mnemonic::Inc | Mnemonic::Dec => 1,
            Mnemonic::Neg | Mnemonic::Not => 0,
            Mnemonic::Add | Mnemonic::Sub | Mnemonic::Xor if is_other(one, register) => {
                self.operand(one, 1, at)?
            }
            Mnemonic::Lea
                if one.memory_base() == register && one.memory_index() == Register::None =>
            {
                one.memory_displacement64()
            }
            _ => return None,
        };
        let after = self.value(register, at + 1)?;
        Some(match one.mnemonic() {
            Mnemonic::Inc | Mnemonic::Add | Mnemonic::Lea => after.wrapping_sub(by),
            Mnemonic::Dec | Mnemonic::Sub => after.wrapping_add(by),
            Mnemonic::Xor => after ^ by,
            Mnemonic::Neg => after.wrapping_neg(),
            _ => !after,
        })
    }

    /// A register at a place, by the instruction before that has set it.
    fn computed(&self, register: Register, place: usize) -> Option<u64> {
        let earlier = &self.trace.instructions[..place];
        let at = earlier.iter().rposition(|one| overwrites(one, register))?;
        let one = &earlier[at];
        let target = one.op0_register();
        // Parts of 8 and 16 bits leave the rest as it was.
        if one.op0_kind() != OpKind::Register
            || target.full_register() != register
            || target.size() < 4
        {
            return None;
        }
        let is_zeroed = matches!(one.mnemonic(), Mnemonic::Xor | Mnemonic::Sub)
            && one.op1_kind() == OpKind::Register
            && one.op1_register() == target;
        let operand = |which| self.operand(one, which, at);
        let bits = 8 * target.size() as u64;
        let value = match one.mnemonic() {
            _ if is_zeroed => 0,
            Mnemonic::Mov | Mnemonic::Movzx => operand(1)?,
            Mnemonic::Movsx | Mnemonic::Movsxd => {
                let value = operand(1)?;
                match one.op1_register().size() {
                    1 => i64::from(value.to_le_bytes()[0].cast_signed()).cast_unsigned(),
                    2 => i64::from((value & 0xffff) as i16).cast_unsigned(),
                    _ => i64::from((value & 0xffff_ffff) as i32).cast_unsigned(),
                }
            }
            Mnemonic::Lea => one.virtual_address(1, 0, |register, _, _| {
                segment(register).or_else(|| self.value(register, at))
            })?,
            Mnemonic::And => operand(0)? & operand(1)?,
            Mnemonic::Or => operand(0)? | operand(1)?,
            Mnemonic::Xor => operand(0)? ^ operand(1)?,
            Mnemonic::Add => operand(0)?.wrapping_add(operand(1)?),
            Mnemonic::Sub => operand(0)?.wrapping_sub(operand(1)?),
            Mnemonic::Inc => operand(0)?.wrapping_add(1),
            Mnemonic::Dec => operand(0)?.wrapping_sub(1),
            Mnemonic::Neg => operand(0)?.wrapping_neg(),
            Mnemonic::Not => !operand(0)?,
            Mnemonic::Imul if one.op_count() == 3 => operand(1)?.wrapping_mul(operand(2)?),
            Mnemonic::Imul if one.op_count() == 2 => operand(0)?.wrapping_mul(operand(1)?),
            Mnemonic::Shl => operand(0)? << (operand(1)? % bits),
            Mnemonic::Shr => operand(0)? >> (operand(1)? % bits),
            _ => return None,
        };
        part(value, target)
            .map(|value| if target.size() == 4 { value & 0xffff_ffff } else { value })
    }

    /// A register at a place, by a copy of it: between its instructions from there to `places`' end it stays the same.
    fn copied(&self, register: Register, places: Range<usize>) -> Option<u64> {
        let mut earlier = self.trace.instructions[..places.start].iter();
        let first = earlier.rposition(|one| overwrites(one, register)).map_or(0, |at| at + 1);
        (first..=places.end).find_map(|at| {
            let one = &self.trace.instructions[at];
            let is_copy = one.mnemonic() == Mnemonic::Mov
                && one.op0_kind() == OpKind::Register
                && one.op1_kind() == OpKind::Register
                && one.op1_register() == register
                && one.op0_register() != register;
            is_copy.then(|| self.value(one.op0_register(), at + 1))?
        })
    }

    /// What an operand of an instruction had before it.
    fn operand(&self, one: &Decoded, which: u32, at: usize) -> Option<u64> {
        match one.op_kind(which) {
            OpKind::Register => self.value(one.op_register(which), at),
            OpKind::Memory => self.loaded(one, at),
            _ => one.try_immediate(which).ok(),
        }
    }

    /// What an instruction has loaded from a variable on the stack, if nothing has been stored since but by the access itself.
    fn loaded(&self, one: &Decoded, at: usize) -> Option<u64> {
        let is_variable = one.mnemonic() == Mnemonic::Mov
            && one.op0_register().size() == 8
            && matches!(one.memory_base(), Register::RSP | Register::RBP)
            && one.memory_index() == Register::None;
        let all = &self.trace.instructions;
        let later = at + 1..all.len();
        let stays = later.filter(|at| *at != self.trace.at).all(|at| !stores(&all[at]));
        if !is_variable || !stays {
            return None;
        }
        let base = one.memory_base();
        let is_same = !all[at..].iter().any(|one| overwrites(one, base));
        let address = one.virtual_address(1, 0, |register, _, _| {
            segment(register).or_else(|| now(register, self.stopped.registers))
        })?;
        (self.stopped.stack)(address).filter(|_| is_same)
    }
}

/// Whether an instruction's second operand is something else than a register.
fn is_other(one: &Decoded, register: Register) -> bool {
    match one.op1_kind() {
        OpKind::Memory => false,
        OpKind::Register => one.op1_register().full_register() != register,
        _ => true,
    }
}

/// Whether a register has another value after an instruction.
pub(super) fn overwrites(instruction: &Decoded, register: Register) -> bool {
    let mut factory = InstructionInfoFactory::new();
    factory.info(instruction).used_registers().iter().any(|used| {
        let writes = !matches!(used.access(), OpAccess::Read | OpAccess::CondRead);
        writes && used.register().full_register() == register.full_register()
    })
}

/// Whether an instruction writes memory.
fn stores(instruction: &Decoded) -> bool {
    let mut factory = InstructionInfoFactory::new();
    let used = factory.info(instruction).used_memory();
    used.iter().any(|used| !matches!(used.access(), OpAccess::Read | OpAccess::CondRead))
}

/// Where segments begin that are not a thread's own.
pub(super) fn segment(register: Register) -> Option<u64> {
    matches!(register, Register::ES | Register::CS | Register::SS | Register::DS).then_some(0)
}

/// A whole register, or a part of it.
pub(super) fn now(register: Register, registers: &Registers) -> Option<u64> {
    /// The first registers of perf's masks.
    const IN_PERFS_ORDER: [Register; 8] = [
        Register::RAX,
        Register::RBX,
        Register::RCX,
        Register::RDX,
        Register::RSI,
        Register::RDI,
        Register::RBP,
        Register::RSP,
    ];
    let full = register.full_register();
    let at = match IN_PERFS_ORDER.iter().position(|it| *it == full) {
        Some(at) => at,
        None if (Register::R8..=Register::R15).contains(&full) => {
            Registers::R8 + (full as usize - Register::R8 as usize)
        }
        None => return None,
    };
    part(registers.0[at], register)
}

/// The part of a value that a register has; none of the second bytes, such as `ah`.
fn part(whole: u64, register: Register) -> Option<u64> {
    let is_second = matches!(register, Register::AH | Register::BH | Register::CH | Register::DH);
    (!is_second).then(|| match register.size() {
        1 => whole & 0xff,
        2 => whole & 0xffff,
        4 => whole & 0xffff_ffff,
        _ => whole,
    })
}

/// Where branches near an instruction lead to.
fn targets(ip: u64, read: Read<'_>) -> Vec<u64> {
    let (start, end) =
        (ip.saturating_sub(BRANCH_SEARCH_BYTES), ip.saturating_add(BRANCH_SEARCH_BYTES));
    let mut targets = Vec::new();
    let mut from = start;
    while from < end {
        // What is mapped may begin or end with a page.
        let to = end.min((from / PAGE + 1) * PAGE);
        let mut bytes = vec![0; usize::try_from(to - from).unwrap_or(0)];
        if read(from, &mut bytes) {
            let decoder = Decoder::with_ip(64, &bytes, from, DecoderOptions::NONE);
            targets.extend(decoder.into_iter().map(|one| one.near_branch_target()));
        }
        from = to;
    }
    targets.retain(|target| *target != 0);
    targets
}
