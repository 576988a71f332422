//! What the base register of an access points to.
//!
//! At an instruction a register may be a variable whose type is a pointer. If it is none, it is followed back: to the
//! register that it was copied from, to the variable in the frame or the member that it was loaded from. With an index it
//! points to an element, whichever. Loads before the
//! access are looked at in the order in which they lie there, whatever may jump between: a wrong answer is outvoted by
//! the other accesses to the object.

use iced_x86::{
    Code, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register as Name,
};

use crate::sweep::{BP, LOST, SP, number};
use tenure_debuginfo::model::{TypeId, TypeKind};
use tenure_debuginfo::program::is_plain;
use tenure_debuginfo::program::located::LocatedFunction;
use tenure_debuginfo::program::member::{Fit, array, member};
use tenure_debuginfo::program::place::{Base, Register, VariablePlace};
use tenure_debuginfo::program::types::ProgramTypes;
use tenure_debuginfo::program::units::Reader;

/// How far a register is followed back, in instructions, and in steps from one to another.
const MAX_INSTRUCTIONS_BACK: usize = 64;
const MAX_STEPS: usize = 6;

/// `rdi`.
const FIRST_ARGUMENT: Register = 5;

/// A value: the address of an object of this type, and so many bytes more.
pub(super) type ObjectPointer = (TypeId, i64);

/// The code of a function, with its variables.
pub(super) struct Traced<'t, 'a> {
    pub(super) reader: &'t Reader<'a>,
    pub(super) types: &'t ProgramTypes,
    pub(super) function: LocatedFunction,
    /// The instructions from the function's start to the access.
    pub(super) code: Vec<Instruction>,
}

impl Traced<'_, '_> {
    /// Whether the last instruction calls a function.
    pub(super) fn is_call(&self) -> bool {
        let calls = [FlowControl::Call, FlowControl::IndirectCall];
        self.code.last().is_some_and(|last| calls.contains(&last.flow_control()))
    }

    /// What the last instruction accesses: objects of these types, at these offsets. Empty if that is not known.
    pub(super) fn accessed(&self) -> Vec<ObjectPointer> {
        let Some((last, before)) = self.code.split_last() else { return Vec::new() };
        match self.is_call() {
            true => self.pointers(before.len(), FIRST_ARGUMENT, MAX_STEPS),
            false => self.addressed(before.len(), last, MAX_STEPS),
        }
    }

    /// What the memory operand of an instruction points to; `at`: where that is looked up.
    fn addressed(&self, at: usize, instruction: &Instruction, steps: usize) -> Vec<ObjectPointer> {
        if let Some((base, offset)) = memory(instruction) {
            return moved(self.pointers(at, base, steps), offset);
        }
        let Some(Indexed { base, index, offset }) = indexed(instruction) else { return Vec::new() };
        let elements = |register| self.elements(moved(self.pointers(at, register, steps), offset));
        let found = elements(base);
        // Without a scale either may be the pointer.
        if found.is_empty() { index.map(elements).unwrap_or_default() } else { found }
    }

    /// Elements whose index is not known: those of the arrays, or of objects in a row.
    fn elements(&self, pointers: Vec<ObjectPointer>) -> Vec<ObjectPointer> {
        let model = &self.types.model;
        let element = |(ty, offset): ObjectPointer| match array(model, ty) {
            Some((start, element)) => {
                let stride = i64::try_from(model[element].size).ok().filter(|size| *size > 0)?;
                let inner = offset.checked_sub(i64::try_from(start).ok()?)?.rem_euclid(stride);
                Some((model.resolved(element), inner))
            }
            // In an array that is a member, it is that array's index.
            None => {
                let found = member(model, ty, u64::try_from(offset).ok()?, 1)?;
                (!found.path.contains('[')).then_some((ty, offset))
            }
        };
        pointers.into_iter().filter_map(element).collect()
    }

    /// What a register points to before the instruction at an index: an object, or a part of one and what it is followed
    /// back to.
    fn pointers(&self, mut at: usize, register: Register, steps: usize) -> Vec<ObjectPointer> {
        let mut delta = 0_i64;
        let first = at.saturating_sub(MAX_INSTRUCTIONS_BACK);
        let mut found: Vec<ObjectPointer> = Vec::new();
        let Some(access) = self.code.get(at).map(Instruction::ip) else { return found };
        let mut info = InstructionInfoFactory::new();
        loop {
            let Some(here) = self.code.get(at).map(Instruction::ip) else { return found };
            let variables = self.function.variables.iter();
            let holding = variables
                .filter(|it| it.place == VariablePlace::Value(register, 0) && it.holds(here));
            for ty in holding.filter_map(|it| self.pointee(it.ty)) {
                if !found.iter().any(|(known, _)| *known == ty) {
                    found.push((ty, delta));
                }
            }
            // The methods of an atomic word or of a lock call that `self`; it is a part of something.
            let is_whole = found.iter().any(|(ty, _)| !self.is_part(*ty));
            if is_whole || at == first || steps == 0 {
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
                FlowControl::Call | FlowControl::IndirectCall => LOST >> register & 1 == 1,
                _ => false,
            };
            if is_lost {
                return found;
            }
            let writes = info.info(before).used_registers().iter().any(|used| {
                !matches!(used.access(), OpAccess::Read | OpAccess::CondRead)
                    && number(used.register()) == Some(register)
            });
            if !writes {
                continue;
            }
            let source = match (before.mnemonic(), before.op1_kind()) {
                (Mnemonic::Mov, OpKind::Register) => {
                    number(before.op1_register()).map(|from| self.pointers(at, from, steps - 1))
                }
                (Mnemonic::Lea, OpKind::Memory) => Some(self.addressed(at, before, steps - 1)),
                (Mnemonic::Add, OpKind::Immediate8to64 | OpKind::Immediate32to64) => {
                    delta = delta.saturating_add(before.immediate(1).cast_signed());
                    continue;
                }
                (Mnemonic::Sub, OpKind::Immediate8to64 | OpKind::Immediate32to64) => {
                    delta = delta.saturating_sub(before.immediate(1).cast_signed());
                    continue;
                }
                // Without optimisation an index is added.
                (Mnemonic::Add, OpKind::Register) => {
                    let elements = |register| self.elements(self.pointers(at, register, steps - 1));
                    let found = elements(register);
                    let other = number(before.op1_register()).filter(|_| found.is_empty());
                    Some(other.map_or(found, elements))
                }
                (Mnemonic::Mov, OpKind::Memory) if before.code() == Code::Mov_r64_rm64 => {
                    Some(self.loaded(at, steps))
                }
                _ => None,
            };
            found.extend(moved(source.unwrap_or_default(), delta));
            return found;
        }
    }

    /// Whether a type is a number, however wrapped, or one of the language's libraries: what a program has in types of
    /// its own.
    fn is_part(&self, ty: TypeId) -> bool {
        let model = &self.types.model;
        let declared = model[ty].declared.as_ref();
        is_plain(model, ty) || declared.is_some_and(|it| it.file.starts_with("/usr/include/"))
    }

    /// What is pointed to by what an instruction loads.
    fn loaded(&self, at: usize, steps: usize) -> Vec<ObjectPointer> {
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
        let mut found: Vec<ObjectPointer> = here
            .filter_map(|variable| {
                let inside = match variable.place {
                    VariablePlace::Memory(Base::Register(register), start) if register == base => {
                        offset.checked_sub(start)
                    }
                    VariablePlace::Memory(Base::Frame, start) => frame?.checked_sub(start),
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
        if found.iter().all(|(ty, _)| self.is_part(*ty))
            && let Some((stored, from)) = self.stored(at, base, offset)
        {
            found.extend(self.pointers(stored, from, steps - 1));
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
        let first = at.saturating_sub(MAX_INSTRUCTIONS_BACK);
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
            TypeKind::Pointer(Some(to)) if found.fit == Fit::Exact => Some(model.resolved(to)),
            _ => None,
        }
    }
}

fn moved(mut pointers: Vec<ObjectPointer>, delta: i64) -> Vec<ObjectPointer> {
    pointers.retain_mut(|(_, more)| match more.checked_add(delta) {
        Some(sum) => {
            *more = sum;
            true
        }
        None => false,
    });
    pointers
}

/// A memory operand with an index.
struct Indexed {
    base: Register,
    /// Set if it is not scaled.
    index: Option<Register>,
    offset: i64,
}

fn indexed(instruction: &Instruction) -> Option<Indexed> {
    let is_own = matches!(instruction.memory_segment(), Name::FS | Name::GS);
    let index = number(instruction.memory_index()).filter(|_| !is_own)?;
    Some(Indexed {
        base: number(instruction.memory_base())?,
        index: (instruction.memory_index_scale() == 1).then_some(index),
        offset: instruction.memory_displacement64().cast_signed(),
    })
}

/// The base register and the distance from it, where that is all.
fn memory(instruction: &Instruction) -> Option<(Register, i64)> {
    (0..instruction.op_count()).find(|at| instruction.op_kind(*at) == OpKind::Memory)?;
    let is_own = matches!(instruction.memory_segment(), Name::FS | Name::GS);
    let is_plain = instruction.memory_index() == Name::None && !is_own;
    let base = number(instruction.memory_base()).filter(|_| is_plain)?;
    Some((base, instruction.memory_displacement64().cast_signed()))
}
