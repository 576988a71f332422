//! What the base register of an access points to.
//!
//! At an instruction a register may be a variable whose type is a pointer. If it is none, it is followed back: to the
//! register that it was copied from, to the variable in the frame or the member that it was loaded from. Loads before the
//! access are looked at in the order in which they lie there, whatever may jump between: a wrong answer is outvoted by
//! the other accesses to the object.

use iced_x86::{
    Code, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register as Name,
};

use super::located::{Function, Place, Register};
use super::member::{Fit, member};
use super::types::Types;
use super::units::Reader;
use crate::model::{Kind, TypeId};

/// How far a register is followed back, in instructions, and in steps from one to another.
const FAR: usize = 64;
const MOST_STEPS: usize = 6;

/// The registers of iced in DWARF's order.
const REGISTERS: [Name; 16] = [
    Name::RAX,
    Name::RDX,
    Name::RCX,
    Name::RBX,
    Name::RSI,
    Name::RDI,
    Name::RBP,
    Name::RSP,
    Name::R8,
    Name::R9,
    Name::R10,
    Name::R11,
    Name::R12,
    Name::R13,
    Name::R14,
    Name::R15,
];

/// Those that a called function may overwrite.
const LOST: [Register; 9] = [0, 1, 2, 4, 5, 8, 9, 10, 11];

/// `rdi`, `rbp` and `rsp`.
const FIRST_ARGUMENT: Register = 5;
const BP: Register = 6;
const SP: Register = 7;

/// A value: the address of an object of this type, and so many bytes more.
pub(super) type Pointer = (TypeId, i64);

/// The code of a function, with its variables.
pub(super) struct Traced<'t, 'a> {
    pub(super) reader: &'t Reader<'a>,
    pub(super) types: &'t Types,
    pub(super) function: Function,
    /// From the function's start to the access.
    pub(super) code: Vec<Instruction>,
}

impl Traced<'_, '_> {
    /// Whether the last instruction calls a function.
    pub(super) fn is_call(&self) -> bool {
        let calls = [FlowControl::Call, FlowControl::IndirectCall];
        self.code.last().is_some_and(|last| calls.contains(&last.flow_control()))
    }

    /// What the last instruction accesses: objects of these types, at these offsets. Empty if that is not known, or if
    /// the access is one of many elements.
    pub(super) fn accessed(&self) -> Vec<Pointer> {
        let Some((last, before)) = self.code.split_last() else { return Vec::new() };
        let argument = Some((FIRST_ARGUMENT, 0)).filter(|_| self.is_call());
        let Some((base, offset)) = argument.or_else(|| memory(last)) else { return Vec::new() };
        self.pointers(before.len(), base, MOST_STEPS)
            .into_iter()
            .filter_map(|(ty, more)| Some((ty, more.checked_add(offset)?)))
            .collect()
    }

    /// What a register points to before the instruction at an index.
    fn pointers(&self, mut at: usize, register: Register, steps: usize) -> Vec<Pointer> {
        let mut delta = 0_i64;
        let first = at.saturating_sub(FAR);
        let Some(access) = self.code.get(at).map(Instruction::ip) else { return Vec::new() };
        let mut info = InstructionInfoFactory::new();
        loop {
            let Some(here) = self.code.get(at).map(Instruction::ip) else { return Vec::new() };
            let variables = self.function.variables.iter();
            let found: Vec<_> = variables
                .filter(|it| it.place == Place::In(register) && it.holds(here))
                .filter_map(|it| Some((self.pointee(it.ty)?, delta)))
                .collect();
            if !found.is_empty() || at == first || steps == 0 {
                return found;
            }
            at -= 1;
            let before = &self.code[at];
            let is_lost = match before.flow_control() {
                FlowControl::Return => true,
                // Into a loop, which begins with its end.
                FlowControl::UnconditionalBranch => {
                    !(before.next_ip()..=access).contains(&before.near_branch_target())
                }
                FlowControl::Call | FlowControl::IndirectCall => LOST.contains(&register),
                _ => false,
            };
            if is_lost {
                return Vec::new();
            }
            let writes = info.info(before).used_registers().iter().any(|used| {
                !matches!(used.access(), OpAccess::Read | OpAccess::CondRead)
                    && number(used.register()) == Some(register)
            });
            if !writes {
                continue;
            }
            match (before.mnemonic(), before.op1_kind()) {
                (Mnemonic::Mov, OpKind::Register) => {
                    let Some(from) = number(before.op1_register()) else { return Vec::new() };
                    return moved(self.pointers(at, from, steps - 1), delta);
                }
                (Mnemonic::Lea, OpKind::Memory) => {
                    let Some((from, offset)) = memory(before) else { return Vec::new() };
                    return moved(self.pointers(at, from, steps - 1), delta.saturating_add(offset));
                }
                (Mnemonic::Add, OpKind::Immediate8to64 | OpKind::Immediate32to64) => {
                    delta = delta.saturating_add(before.immediate(1).cast_signed());
                }
                (Mnemonic::Sub, OpKind::Immediate8to64 | OpKind::Immediate32to64) => {
                    delta = delta.saturating_sub(before.immediate(1).cast_signed());
                }
                (Mnemonic::Mov, OpKind::Memory) if before.code() == Code::Mov_r64_rm64 => {
                    return moved(self.loaded(at, steps), delta);
                }
                _ => return Vec::new(),
            }
        }
    }

    /// What is pointed to by what an instruction loads.
    fn loaded(&self, at: usize, steps: usize) -> Vec<Pointer> {
        let load = &self.code[at];
        if load.memory_base() == Name::RIP {
            let address = load.memory_displacement64();
            let pointed = self.types.variable(address).and_then(|variable| {
                self.member(variable.ty, (address - variable.address).cast_signed())
            });
            return pointed.map(|ty| (ty, 0)).into_iter().collect();
        }
        let Some((base, offset)) = memory(load) else { return Vec::new() };
        let frame = self.frame(at, base).map(|frame| offset.saturating_add(frame));
        let here = self.function.variables.iter().filter(|it| it.holds(load.ip()));
        let mut found: Vec<Pointer> = here
            .filter_map(|variable| {
                let inside = match variable.place {
                    Place::Near(register, start) if register == base => offset.checked_sub(start),
                    Place::InFrame(start) => frame?.checked_sub(start),
                    _ => None,
                };
                match inside? {
                    0 => self.pointee(variable.ty),
                    // A member of a variable, as of a closure's.
                    inside => match self.types.of_entry(self.reader, variable.ty)? {
                        (ty, 0) => self.member(ty, inside),
                        _ => None,
                    },
                }
            })
            .map(|ty| (ty, 0))
            .collect();
        // Without optimisation values are put aside in the frame.
        if found.is_empty()
            && let Some((stored, from)) = self.stored(at, base, offset)
        {
            found = self.pointers(stored, from, steps - 1);
        }
        if found.is_empty() {
            let pointers = self.pointers(at, base, steps - 1);
            found.extend(
                pointers.into_iter().filter_map(|(ty, more)| {
                    Some((self.member(ty, more.checked_add(offset)?)?, 0))
                }),
            );
        }
        found
    }

    /// The last instruction before one that stores a register to a place of the frame, and the register.
    fn stored(&self, at: usize, base: Register, offset: i64) -> Option<(usize, Register)> {
        let first = at.saturating_sub(FAR);
        let is_store = |index: &usize| {
            let store = &self.code[*index];
            store.code() == Code::Mov_rm64_r64 && memory(store) == Some((base, offset))
        };
        let last = (first..at).rev().find(is_store).filter(|_| [BP, SP].contains(&base))?;
        Some((last, number(self.code[last].op1_register())?))
    }

    /// How far a register points from where the stack pointer was before the call.
    fn frame(&self, at: usize, register: Register) -> Option<i64> {
        let mut depth = 8_i64;
        let mut bp = None;
        for instruction in &self.code[..at] {
            match instruction.mnemonic() {
                Mnemonic::Push => depth += 8,
                Mnemonic::Mov
                    if instruction.op0_register() == Name::RBP
                        && instruction.op1_register() == Name::RSP =>
                {
                    bp = Some(-depth);
                }
                Mnemonic::Sub if instruction.op0_register() == Name::RSP => {
                    depth += instruction.immediate(1).cast_signed();
                }
                _ => {}
            }
            // Behind the prologue the frame stays.
            if instruction.flow_control() != FlowControl::Next {
                break;
            }
        }
        match register {
            BP => bp,
            SP => Some(-depth),
            _ => None,
        }
    }

    /// What a variable of a type points to, if it is one pointer.
    fn pointee(&self, ty: usize) -> Option<TypeId> {
        match self.types.of_entry(self.reader, ty)? {
            (ty, 1) => Some(self.types.model.resolved(ty)),
            (ty, 0) => self.member(ty, 0),
            _ => None,
        }
    }

    /// What the pointer at an offset of a type points to.
    fn member(&self, ty: TypeId, offset: i64) -> Option<TypeId> {
        let model = &self.types.model;
        let found = member(model, ty, u64::try_from(offset).ok()?, 8)?;
        match model[model.resolved(found.ty)].kind {
            Kind::Pointer(Some(to)) if found.fit == Fit::Exact => Some(model.resolved(to)),
            _ => None,
        }
    }
}

fn moved(mut pointers: Vec<Pointer>, delta: i64) -> Vec<Pointer> {
    pointers.retain_mut(|(_, more)| match more.checked_add(delta) {
        Some(sum) => {
            *more = sum;
            true
        }
        None => false,
    });
    pointers
}

/// The base register and the distance from it, where that is all.
fn memory(instruction: &Instruction) -> Option<(Register, i64)> {
    let is_memory = |at: &u32| instruction.op_kind(*at) == OpKind::Memory;
    (0..instruction.op_count()).find(is_memory)?;
    let is_own = matches!(instruction.memory_segment(), Name::FS | Name::GS);
    let is_plain = instruction.memory_index() == Name::None && !is_own;
    let base = number(instruction.memory_base()).filter(|_| is_plain)?;
    Some((base, instruction.memory_displacement64().cast_signed()))
}

fn number(register: Name) -> Option<Register> {
    let full = register.full_register();
    REGISTERS.iter().position(|it| *it == full).and_then(|at| Register::try_from(at).ok())
}
