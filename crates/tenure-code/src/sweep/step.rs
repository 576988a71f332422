//! What registers and the stack hold after an instruction.

use iced_x86::{Code, ConditionCode, FlowControl, Instruction, Mnemonic, OpKind, Register as Name};

use super::decoded::{LOST, number};
use super::operand::Where;
use super::registers::RegisterValue::{
    self, Fixed, Frame, Null, Object, Own, Scaled, Stack, Unknown,
};
use super::registers::{BP, SP};
use super::tally::{CodeAccess, CountRow, Fact};
use super::walk::Walker;
use tenure_debuginfo::program::located::Register;

const RESULT: Register = 0;
const FIRST_ARGUMENT: Register = 5;

impl Walker<'_, '_> {
    pub(super) fn step(&mut self, one: &Instruction, fact: Fact, weight: u32) {
        if matches!(one.flow_control(), FlowControl::Call | FlowControl::IndirectCall) {
            self.call(one, weight);
            return;
        }
        let to = number(one.op0_register()).filter(|_| one.op0_kind() == OpKind::Register);
        match one.mnemonic() {
            Mnemonic::Push if one.code() == Code::Push_r64 => {
                self.push(self.held(one.op0_register()));
            }
            Mnemonic::Push | Mnemonic::Pushfq => self.push(Unknown),
            Mnemonic::Pop if one.code() == Code::Pop_r64 => self.pop(to),
            Mnemonic::Popfq => self.pop(None),
            Mnemonic::Leave => {
                let Some(state) = &mut self.state else { return };
                state.set(SP, state.get(BP));
                self.pop(Some(BP));
            }
            // The sign of a number of the thread's own.
            Mnemonic::Cdqe if matches!(self.state().get(RESULT), Own | Scaled(_)) => {}
            _ => self.write(one, fact, to),
        }
    }

    /// Notes what an instruction writes, to registers and to the frame.
    fn write(&mut self, one: &Instruction, fact: Fact, to: Option<Register>) {
        let value = to.map_or(Unknown, |_| self.written(one));
        let place = self.operand(one);
        let is_store = fact.access.is_some_and(|access| access != CodeAccess::Read);
        let stored = match place {
            Where::Stack(Some(at)) if is_store => match one.code() {
                Code::Mov_rm64_r64 => Some((at, self.held(one.op1_register()))),
                _ => Some((at, Unknown)),
            },
            _ => None,
        };
        // What the thread keeps for itself is its own from now on.
        let kept = match (place, one.code()) {
            (Where::Own, Code::Mov_rm32_r32 | Code::Mov_rm64_r64) => number(one.op1_register()),
            _ => None,
        };
        let Some(state) = &mut self.state else { return };
        if let Some(kept) = kept.filter(|kept| state.get(*kept) == Unknown) {
            state.set(kept, Own);
        }
        if let Some((at, value)) = stored {
            state.store(at, fact.size.into(), value);
        }
        state.forget(fact.writes & !to.map_or(0, |to| 1 << to));
        if let Some(to) = to.filter(|to| fact.writes >> to & 1 == 1) {
            state.set(to, if (to, value) == (SP, Unknown) { Stack } else { value });
        }
    }

    /// What an instruction writes to the register that is its first operand.
    fn written(&self, one: &Instruction) -> RegisterValue {
        let memory = self.around.memory;
        let is_fixed = |address| memory.is_fixed && memory.variable(address).is_some();
        let (first, second) = (one.op0_register(), one.op1_register());
        let mine = || self.held(first);
        let other = || match one.op1_kind() {
            OpKind::Memory => self.loaded(self.operand(one)),
            _ => self.held(second),
        };
        match one.code() {
            Code::Mov_r64_rm64 | Code::Mov_rm64_r64 | Code::Xchg_rm64_r64 | Code::Xchg_r64_RAX => {
                other()
            }
            // A number of the thread's or CPU's own.
            Code::Mov_r32_rm32
            | Code::Mov_rm32_r32
            | Code::Movsxd_r64_rm32
            | Code::Movzx_r32_rm16
            | Code::Movsx_r64_rm16
            | Code::Movzx_r32_rm8 => match other() {
                number @ (Own | Scaled(_)) => number,
                _ => Unknown,
            },
            Code::Mov_r64_imm64 | Code::Mov_rm64_imm32 | Code::Mov_r32_imm32 => {
                match one.immediate(1) {
                    address if is_fixed(address) => Fixed(address, CountRow::Fixed),
                    0 => Null,
                    _ => Unknown,
                }
            }
            Code::Xor_rm32_r32 | Code::Xor_r32_rm32 | Code::Xor_rm64_r64 | Code::Xor_r64_rm64
                if first == second =>
            {
                Null
            }
            Code::Lea_r64_m => match self.operand(one) {
                Where::Stack(Some(at)) => Frame(at),
                Where::Stack(None) => Stack,
                Where::Pointed(ty, at, row) => Object { ty, at, row },
                Where::Fixed(address, row)
                    if one.is_ip_rel_memory_operand()
                        || matches!(self.held(one.memory_base()), Fixed(..))
                        || is_fixed(address) =>
                {
                    Fixed(address, row)
                }
                // Three, five or nine times an index.
                _ if one.memory_index_scale() > 1 => self.scaled(one.memory_index()),
                _ => Unknown,
            },
            Code::Shl_rm64_imm8 | Code::Shl_rm32_imm8 => self.scaled(first),
            Code::Imul_r64_rm64_imm8
            | Code::Imul_r64_rm64_imm32
            | Code::Imul_r32_rm32_imm8
            | Code::Imul_r32_rm32_imm32 => self.scaled(second),
            Code::Inc_rm64 => mine().plus(1),
            Code::Dec_rm64 => mine().plus(-1),
            Code::Add_rm64_imm8 | Code::Add_rm64_imm32 | Code::Add_RAX_imm32 => {
                mine().plus(one.immediate(1).cast_signed())
            }
            Code::Sub_rm64_imm8 | Code::Sub_rm64_imm32 | Code::Sub_RAX_imm32 => {
                mine().plus(one.immediate(1).cast_signed().wrapping_neg())
            }
            Code::Add_r64_rm64 | Code::Add_rm64_r64 => match (mine(), other()) {
                (mine @ Scaled(_), Unknown | Own | Scaled(_)) => mine,
                (Unknown | Own, other @ Scaled(_)) => other,
                (mine, _) if mine.is_address() => mine.plus_index(self.count_row(second, 1)),
                (_, other) => other.plus_index(self.count_row(first, 1)),
            },
            // Aligned, or without the bits that a pointer has for other ends.
            Code::And_rm64_imm8 | Code::And_rm64_imm32 | Code::And_RAX_imm32 => match mine() {
                Frame(_) | Stack => Stack,
                value @ Object { .. } => value,
                _ => Unknown,
            },
            // A conditional move: jumps and SETcc have one operand, CMPccXADD has three. The other is 0, where the result is
            // not followed; else there are two of a kind.
            code if code.condition_code() != ConditionCode::None && one.op_count() == 2 => {
                match (mine(), other()) {
                    (Unknown, object @ Object { .. }) | (object @ Object { .. }, Unknown) => object,
                    (mine, other) => mine.meet(other),
                }
            }
            _ => Unknown,
        }
    }

    fn push(&mut self, value: RegisterValue) {
        let Some(state) = &mut self.state else { return };
        let top = state.get(SP).plus(-8);
        state.set(SP, top);
        if let Frame(at) = top {
            state.store(at, 8, value);
        }
    }

    fn pop(&mut self, to: Option<Register>) {
        let value = match self.state().get(SP) {
            Frame(at) => self.in_frame(at),
            _ => Unknown,
        };
        let Some(state) = &mut self.state else { return };
        state.set(SP, state.get(SP).plus(8));
        if let Some(to) = to {
            state.set(to, value);
        }
    }

    fn call(&mut self, one: &Instruction, weight: u32) {
        let is_direct = one.flow_control() == FlowControl::Call;
        if is_direct && self.around.memory.is_hook(one.near_branch_target()) {
            return;
        }
        let callee = self.around.calls.get(&one.next_ip());
        let takes_lock = match callee {
            Some(callee) if callee.is_named => callee.takes_lock,
            _ => is_direct && (self.around.takes_lock)(one.near_branch_target()),
        };
        if takes_lock {
            let place = match self.value(FIRST_ARGUMENT) {
                Object { ty, at, row } => Where::Pointed(ty, at, row),
                Fixed(address, row) => Where::Fixed(address, row),
                _ => Where::Own,
            };
            self.tally.takes_lock = true;
            self.note(place, CodeAccess::Lock, 1, weight);
        }
        let result = callee.and_then(|callee| callee.returns).or_else(|| {
            is_direct.then(|| self.around.results.get(&one.near_branch_target()).copied())?
        });
        let Some(state) = &mut self.state else { return };
        state.forget(LOST);
        if let Some(ty) = result {
            state.set(RESULT, Object { ty, at: 0, row: CountRow::Fixed });
        }
    }

    /// What a register has; of one that is not followed, nothing is known.
    fn held(&self, register: Name) -> RegisterValue {
        number(register).map_or(Unknown, |register| self.value(register))
    }

    /// A multiple of what a register has.
    fn scaled(&self, index: Name) -> RegisterValue {
        match self.count_row(index, 2) {
            CountRow::Fixed => Unknown,
            row => Scaled(row),
        }
    }

    /// What chooses the element, if such a register is an index: see [`row`](Self::row).
    fn count_row(&self, index: Name, scale: u32) -> CountRow {
        number(index).map_or(CountRow::Fixed, |index| self.row(index, scale))
    }
}
