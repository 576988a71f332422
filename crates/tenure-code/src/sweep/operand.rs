//! Where operands in memory are, what values lie there, and what is counted of them.

use iced_x86::{Instruction, Register as Name};

use super::decoded::number;
use super::registers::{RegisterState, RegisterValue};
use super::tally::{AccessedPart, CodeAccess, CountRow, Subject};
use super::unit::VariableKind;
use super::walk::Walker;
use tenure_debuginfo::model::{TypeId, TypeKind};
use tenure_debuginfo::program::place::{Base, Register};

/// Where a memory operand is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Where {
    /// The thread's or CPU's own memory.
    Own,
    Stack(Option<i64>),
    Pointed(TypeId, i64, CountRow),
    Fixed(u64, CountRow),
    Unknown,
}

impl Walker<'_, '_> {
    pub(super) fn state(&self) -> &RegisterState {
        self.state.as_ref().unwrap_or(&self.bare)
    }

    pub(super) fn value(&self, register: Register) -> RegisterValue {
        let mut best = self.state().get(register);
        if matches!(best, RegisterValue::Frame(_) | RegisterValue::Stack | RegisterValue::Fixed(..))
        {
            return best;
        }
        for claim in &self.active {
            let (ty, at) = match claim.what {
                VariableKind::Points { register: of, to, at } if of == register => (to, at),
                VariableKind::Holds { base: Base::Register(of), at, ty, inside }
                    if of == register =>
                {
                    let inside = i64::try_from(inside).unwrap_or(0);
                    (self.around.fields.model.resolved(ty), inside.saturating_sub(at))
                }
                _ => continue,
            };
            best = self.better(best, RegisterValue::Object { ty, at, row: CountRow::Fixed });
        }
        best
    }

    /// The one of two claims about an address that says more: the outermost object.
    fn better(&self, known: RegisterValue, new: RegisterValue) -> RegisterValue {
        let size = |value| match value {
            RegisterValue::Object { ty, .. } => {
                let model = self.around.fields.model;
                (u64::from(matches!(model[ty].kind, TypeKind::Composite { .. })), model[ty].size)
            }
            _ => (0, 0),
        };
        match (known, new) {
            (RegisterValue::Object { .. }, new) if size(new) > size(known) => new,
            (RegisterValue::Object { .. }, _) => known,
            _ => new,
        }
    }

    /// The address of the memory operand.
    pub(super) fn operand(&self, one: &Instruction) -> Where {
        let (base, index) = (one.memory_base(), one.memory_index());
        if matches!(one.segment_prefix(), Name::FS | Name::GS) {
            return Where::Own;
        }
        let more = one.memory_displacement64();
        if one.is_ip_rel_memory_operand() {
            return Where::Fixed(one.ip_rel_memory_address(), CountRow::Fixed);
        }
        let mut value = match number(base) {
            Some(base) => self.value(base),
            None if base == Name::None => RegisterValue::Unknown,
            None => return Where::Unknown,
        };
        let mut row = number(base).map_or(CountRow::Fixed, |base| self.row(base, 1));
        if let Some(index) = number(index) {
            let scale = one.memory_index_scale();
            // Which of the two is the address, their order does not say.
            if scale == 1 && !value.is_address() && self.value(index).is_address() {
                value = self.value(index);
            } else {
                row = self.row(index, scale);
            }
            value = value.plus_index(row);
            if let RegisterValue::Object { ty, at, .. } = value
                && !self.is_row(ty, at.saturating_add(more.cast_signed()), index, scale)
            {
                return Where::Unknown;
            }
        }
        match value.plus(more.cast_signed()) {
            RegisterValue::Frame(at) => Where::Stack(Some(at)),
            RegisterValue::Stack => Where::Stack(None),
            RegisterValue::Object { ty, at, row } => Where::Pointed(ty, at, row),
            RegisterValue::Fixed(address, row) => Where::Fixed(address, row),
            // An element of a variable that is an array, or a variable of the lowest 2 GiB.
            RegisterValue::Unknown
            | RegisterValue::Null
            | RegisterValue::Own
            | RegisterValue::Scaled(_) => {
                let memory = self.around.memory;
                match memory.variable(more) {
                    Some(_) if memory.is_fixed => Where::Fixed(more, row),
                    _ if base == Name::None && index == Name::None => {
                        Where::Fixed(more, CountRow::Fixed)
                    }
                    _ => Where::Unknown,
                }
            }
        }
    }

    /// What chooses the element, if a register is an index and an element is so large.
    pub(super) fn row(&self, index: Register, scale: u32) -> CountRow {
        match self.state().get(index) {
            value if value.is_address() => CountRow::Fixed,
            RegisterValue::Unknown | RegisterValue::Null | RegisterValue::Own if scale == 1 => {
                CountRow::Fixed
            }
            _ if self.stepped >> index & 1 == 1 => CountRow::Swept,
            RegisterValue::Scaled(row) => row,
            RegisterValue::Own => CountRow::Own,
            RegisterValue::Unknown => CountRow::Chosen,
            _ => CountRow::Fixed,
        }
    }

    /// Whether an index with a scale may lead from one value to the next: then the first stands for all.
    fn is_row(&self, ty: TypeId, at: i64, index: Register, scale: u32) -> bool {
        let fields = self.around.fields;
        let (size, scale) = (fields.model[ty].size, u64::from(scale));
        // An index that counts bytes was multiplied before, and one that counts parts of elements was too.
        let is_multiple = matches!(self.state().get(index), RegisterValue::Scaled(_));
        let is_element = scale == 1 || size == scale || (is_multiple && size.is_multiple_of(scale));
        is_element || fields.is_in_array(ty, at)
    }

    /// Counts an access, and returns what it is of.
    pub(super) fn note(
        &mut self,
        place: Where,
        access: CodeAccess,
        size: u32,
        weight: u32,
    ) -> Option<AccessedPart> {
        let part = match place {
            Where::Own | Where::Stack(_) => return None,
            Where::Fixed(address, _) => match self.around.memory.variable(address) {
                Some((index, ty, inside)) => {
                    let inside = i64::try_from(inside).unwrap_or(i64::MAX);
                    let offset = self.around.fields.first_like(ty, inside);
                    offset.map(|offset| (Subject::Static(index), offset))
                }
                None if self.around.memory.is_constant(address) => return None,
                None => None,
            },
            Where::Pointed(ty, at, _) => match self.around.fields.model[ty].kind {
                TypeKind::Composite { .. } => {
                    let offset = self.around.fields.first_like(ty, at);
                    offset.map(|offset| (Subject::Type(ty), offset))
                }
                TypeKind::Scalar(_) | TypeKind::Pointer(_) | TypeKind::Array { .. }
                    if access != CodeAccess::Lock =>
                {
                    let operands = &mut self.tally.operands;
                    operands.plain += 1;
                    operands.locked += u64::from(access.is_atomic());
                    return None;
                }
                _ => None,
            },
            Where::Unknown => None,
        };
        let part = part.and_then(|(subject, offset)| {
            Some(AccessedPart { subject, offset: u32::try_from(offset).ok()?, size })
        });
        if access != CodeAccess::Lock {
            let operands = &mut self.tally.operands;
            let locked = u64::from(access.is_atomic());
            operands.locked += locked;
            match part {
                Some(_) => operands.attributed += 1,
                None => {
                    operands.unknown += 1;
                    operands.locked_unknown += locked;
                }
            }
        }
        if let Some(part) = part {
            let row = match place {
                Where::Pointed(_, _, row) | Where::Fixed(_, row) => row,
                _ => CountRow::Fixed,
            };
            self.tally.parts.entry(part).or_default().note(access, row, weight);
        }
        part
    }

    /// What is loaded from a place, if that is a pointer.
    pub(super) fn loaded(&self, place: Where) -> RegisterValue {
        let fields = self.around.fields;
        let pointee = |ty, at| match fields.pointee(ty, at) {
            Some(ty) => RegisterValue::Object { ty, at: 0, row: CountRow::Fixed },
            None => RegisterValue::Unknown,
        };
        match place {
            Where::Own => RegisterValue::Own,
            Where::Stack(Some(at)) => self.in_frame(at),
            // A row of objects: as its first one.
            Where::Pointed(ty, at, _) => match fields.model[ty].kind {
                TypeKind::Composite { .. } => match fields.first_like(ty, at) {
                    Some(first) => pointee(ty, i64::try_from(first).unwrap_or(-1)),
                    None => RegisterValue::Unknown,
                },
                _ => pointee(ty, 0),
            },
            Where::Fixed(address, _) => match self.around.memory.variable(address) {
                Some((_, ty, inside)) => pointee(ty, i64::try_from(inside).unwrap_or(-1)),
                None => RegisterValue::Unknown,
            },
            _ => RegisterValue::Unknown,
        }
    }

    pub(super) fn in_frame(&self, at: i64) -> RegisterValue {
        let state = self.state();
        let start = |base, more: i64| match base {
            Base::Frame => Some(more),
            Base::Register(register) => match state.get(register) {
                RegisterValue::Frame(from) => from.checked_add(more),
                _ => None,
            },
        };
        let mut best = state.slot(at);
        for claim in &self.active {
            let found = match claim.what {
                VariableKind::Holds { base, at: more, ty, inside } => start(base, more)
                    .and_then(|start| at.checked_sub(start)?.checked_add_unsigned(inside))
                    .and_then(|inside| self.around.fields.pointee(ty, inside)),
                VariableKind::Leads { base, at: more, to } => {
                    start(base, more).filter(|start| *start == at).map(|_| to)
                }
                VariableKind::Points { .. } => None,
            };
            if let Some(ty) = found {
                best = self.better(best, RegisterValue::Object { ty, at: 0, row: CountRow::Fixed });
            }
        }
        best
    }
}
