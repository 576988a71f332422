//! What registers and the stack hold after an instruction.

use iced_x86::{Code, FlowControl, Instruction, Mnemonic, OpKind, Register as Name};

use super::decoded::{LOST, number};
use super::operand::Where;
use super::registers::{BP, RegisterValue, SP};
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
        let memory = self.around.memory;
        let is_fixed = |address| memory.is_fixed && memory.variable(address).is_some();
        let of = |register| number(register).map_or(RegisterValue::Unknown, |it| self.value(it));
        let to = number(one.op0_register()).filter(|_| one.op0_kind() == OpKind::Register);
        let is_register = one.op1_kind() == OpKind::Register;
        let is_memory = one.op1_kind() == OpKind::Memory;
        // What is stored at which place of the frame.
        let mut stored = None;
        let value = match one.code() {
            Code::Mov_r64_rm64 | Code::Mov_rm64_r64 if is_register && to.is_some() => {
                of(one.op1_register())
            }
            Code::Mov_r64_rm64 if is_memory => self.loaded(self.operand(one)),
            // A number of the thread's or CPU's own.
            Code::Mov_r32_rm32
            | Code::Mov_rm32_r32
            | Code::Movsxd_r64_rm32
            | Code::Movzx_r32_rm16
            | Code::Movsx_r64_rm16
            | Code::Movzx_r32_rm8
                if to.is_some() =>
            {
                let from = match is_register {
                    true => of(one.op1_register()),
                    false => self.loaded(self.operand(one)),
                };
                match from {
                    RegisterValue::Own | RegisterValue::Scaled(_) => from,
                    _ => RegisterValue::Unknown,
                }
            }
            Code::Shl_rm64_imm8 | Code::Shl_rm32_imm8 if to.is_some() => {
                self.scaled(one.op0_register())
            }
            Code::Imul_r64_rm64_imm8
            | Code::Imul_r64_rm64_imm32
            | Code::Imul_r32_rm32_imm8
            | Code::Imul_r32_rm32_imm32
                if is_register =>
            {
                self.scaled(one.op1_register())
            }
            Code::Mov_rm64_r64 => {
                stored = Some(of(one.op1_register()));
                RegisterValue::Unknown
            }
            Code::Mov_r64_imm64 | Code::Mov_rm64_imm32 | Code::Mov_r32_imm32
                if is_fixed(one.immediate(1)) && to.is_some() =>
            {
                RegisterValue::Fixed(one.immediate(1), CountRow::Fixed)
            }
            Code::Lea_r64_m => match self.operand(one) {
                Where::Stack(Some(at)) => RegisterValue::Frame(at),
                Where::Stack(None) => RegisterValue::Stack,
                Where::Pointed(ty, at, row) => RegisterValue::Object { ty, at, row },
                Where::Fixed(address, row)
                    if one.is_ip_rel_memory_operand()
                        || matches!(of(one.memory_base()), RegisterValue::Fixed(..))
                        || is_fixed(address) =>
                {
                    RegisterValue::Fixed(address, row)
                }
                // Three, five or nine times an index.
                _ if one.memory_index_scale() > 1 => self.scaled(one.memory_index()),
                _ => RegisterValue::Unknown,
            },
            Code::Add_rm64_imm8 | Code::Add_rm64_imm32 | Code::Add_RAX_imm32 if to.is_some() => {
                of(one.op0_register()).plus(one.immediate(1).cast_signed())
            }
            Code::Sub_rm64_imm8 | Code::Sub_rm64_imm32 | Code::Sub_RAX_imm32 if to.is_some() => {
                of(one.op0_register()).plus(one.immediate(1).cast_signed().wrapping_neg())
            }
            Code::Inc_rm64 if to.is_some() => of(one.op0_register()).plus(1),
            Code::Dec_rm64 if to.is_some() => of(one.op0_register()).plus(-1),
            Code::Add_r64_rm64 | Code::Add_rm64_r64 if to.is_some() => {
                let mine = of(one.op0_register());
                let other = match is_register {
                    true => of(one.op1_register()),
                    false => self.loaded(self.operand(one)),
                };
                let row = |register| number(register).map_or(CountRow::Fixed, |it| self.row(it, 1));
                match (mine, other) {
                    (
                        RegisterValue::Scaled(_),
                        RegisterValue::Unknown | RegisterValue::Own | RegisterValue::Scaled(_),
                    ) => mine,
                    (RegisterValue::Unknown | RegisterValue::Own, RegisterValue::Scaled(_)) => {
                        other
                    }
                    (
                        RegisterValue::Unknown
                        | RegisterValue::Null
                        | RegisterValue::Own
                        | RegisterValue::Scaled(_),
                        _,
                    ) => other.plus_index(row(one.op0_register())),
                    _ if is_register => mine.plus_index(row(one.op1_register())),
                    _ => mine.plus_index(CountRow::Fixed),
                }
            }
            // Aligned, or without the bits that a pointer has for other ends.
            Code::And_rm64_imm8 | Code::And_rm64_imm32 | Code::And_RAX_imm32 if to.is_some() => {
                match of(one.op0_register()) {
                    RegisterValue::Frame(_) => RegisterValue::Stack,
                    value @ (RegisterValue::Object { .. } | RegisterValue::Stack) => value,
                    _ => RegisterValue::Unknown,
                }
            }
            Code::Xor_rm32_r32 | Code::Xor_r32_rm32 | Code::Xor_rm64_r64 | Code::Xor_r64_rm64
                if is_register && one.op0_register() == one.op1_register() =>
            {
                RegisterValue::Null
            }
            Code::Mov_r32_imm32 | Code::Mov_rm64_imm32 if one.immediate(1) == 0 && to.is_some() => {
                RegisterValue::Null
            }
            Code::Xchg_rm64_r64 | Code::Xchg_r64_RAX if is_register && to.is_some() => {
                of(one.op1_register())
            }
            // The sign of a number of the thread's own.
            Code::Cdqe
                if matches!(
                    self.state().get(RESULT),
                    RegisterValue::Own | RegisterValue::Scaled(_)
                ) =>
            {
                return;
            }
            Code::Push_r64 => {
                let value = of(one.op0_register());
                self.push(value);
                return;
            }
            Code::Pop_r64 => {
                let value = match self.state().get(SP) {
                    RegisterValue::Frame(at) => self.in_frame(at),
                    _ => RegisterValue::Unknown,
                };
                if let (Some(state), Some(to)) = (&mut self.state, to) {
                    let top = state.get(SP).plus(8);
                    state.set(SP, top);
                    state.set(to, value);
                }
                return;
            }
            code => match one.mnemonic() {
                Mnemonic::Push | Mnemonic::Pushfq => {
                    self.push(RegisterValue::Unknown);
                    return;
                }
                Mnemonic::Popfq => {
                    let Some(state) = &mut self.state else { return };
                    let top = state.get(SP).plus(8);
                    state.set(SP, top);
                    return;
                }
                Mnemonic::Leave => {
                    let frame = self.state().get(BP);
                    let saved = match frame {
                        RegisterValue::Frame(at) => self.state().slot(at),
                        _ => RegisterValue::Unknown,
                    };
                    if let Some(state) = &mut self.state {
                        state.set(SP, frame.plus(8));
                        state.set(BP, saved);
                    }
                    return;
                }
                // The other is 0, where the result is not followed; else there are two of a kind.
                _ if is_conditional(code) => {
                    let other = if is_register {
                        of(one.op1_register())
                    } else {
                        self.loaded(self.operand(one))
                    };
                    match (of(one.op0_register()), other) {
                        (RegisterValue::Unknown, one @ RegisterValue::Object { .. })
                        | (one @ RegisterValue::Object { .. }, RegisterValue::Unknown) => one,
                        (mine, other) => mine.meet(other),
                    }
                }
                _ => RegisterValue::Unknown,
            },
        };
        let is_store = matches!(fact.access, Some(access) if access != CodeAccess::Read);
        let frame = match self.operand(one) {
            Where::Stack(at) if is_store => at,
            _ => None,
        };
        // What the thread keeps for itself is its own from now on.
        let kept = match (one.code(), self.operand(one)) {
            (Code::Mov_rm32_r32 | Code::Mov_rm64_r64, Where::Own) => number(one.op1_register()),
            _ => None,
        };
        let Some(state) = &mut self.state else { return };
        if let Some(kept) = kept.filter(|kept| state.get(*kept) == RegisterValue::Unknown) {
            state.set(kept, RegisterValue::Own);
        }
        if let Some(at) = frame {
            state.store(at, fact.size.into(), stored.unwrap_or(RegisterValue::Unknown));
        }
        state.forget(match to {
            Some(to) => fact.writes & !(1 << to),
            None => fact.writes,
        });
        if let Some(to) = to
            && fact.writes >> to & 1 == 1
        {
            state.set(
                to,
                if to == SP && value == RegisterValue::Unknown {
                    RegisterValue::Stack
                } else {
                    value
                },
            );
        }
    }

    fn push(&mut self, value: RegisterValue) {
        let Some(state) = &mut self.state else { return };
        let top = state.get(SP).plus(-8);
        state.set(SP, top);
        if let RegisterValue::Frame(at) = top {
            state.store(at, 8, value);
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
                RegisterValue::Object { ty, at, row } => Where::Pointed(ty, at, row),
                RegisterValue::Fixed(address, row) => Where::Fixed(address, row),
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
            state.set(RESULT, RegisterValue::Object { ty, at: 0, row: CountRow::Fixed });
        }
    }

    /// A multiple of what a register has.
    fn scaled(&self, index: Name) -> RegisterValue {
        match number(index).map_or(CountRow::Fixed, |index| self.row(index, 2)) {
            CountRow::Fixed => RegisterValue::Unknown,
            row => RegisterValue::Scaled(row),
        }
    }
}

fn is_conditional(code: Code) -> bool {
    let mnemonic = code.mnemonic();
    matches!(
        mnemonic,
        Mnemonic::Cmova
            | Mnemonic::Cmovae
            | Mnemonic::Cmovb
            | Mnemonic::Cmovbe
            | Mnemonic::Cmove
            | Mnemonic::Cmovg
            | Mnemonic::Cmovge
            | Mnemonic::Cmovl
            | Mnemonic::Cmovle
            | Mnemonic::Cmovne
            | Mnemonic::Cmovno
            | Mnemonic::Cmovnp
            | Mnemonic::Cmovns
            | Mnemonic::Cmovo
            | Mnemonic::Cmovp
            | Mnemonic::Cmovs
    )
}
