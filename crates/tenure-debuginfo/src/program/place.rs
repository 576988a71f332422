//! Where DWARF says that a variable, or a part of it, is.

use super::entries::{Slice, Unit};
use gimli::{Expression, Operation};

/// Operations of one expression that are read.
const MAX_OPERATIONS: usize = 64;

/// A register by DWARF's number.
pub type Register = u16;

/// Where a distance counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// What a register has.
    Register(Register),
    /// Where the stack pointer was before the call.
    Frame,
}

/// Where some bytes of a variable are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariablePlace {
    /// Their value is the register's, and so many more.
    Value(Register, i64),
    /// They are in memory, at a distance.
    Memory(Base, i64),
    /// There is a pointer to them in memory, at a distance.
    Through(Base, i64),
}

/// A function's frame base: `None` for what is not understood.
pub fn frame_base(unit: &Unit<'_>, expression: Expression<Slice<'_>>) -> Option<(Base, i64)> {
    let mut operations = expression.operations(unit.encoding());
    let base = match operations.next().ok()?? {
        Operation::Register { register } => (Base::Register(register.0), 0),
        Operation::RegisterOffset { register, offset, .. } => (Base::Register(register.0), offset),
        Operation::CallFrameCFA => (Base::Frame, 0),
        _ => return None,
    };
    operations.next().ok()?.is_none().then_some(base)
}

#[derive(Debug, Clone, Copy)]
enum Term {
    Nothing,
    Register(Register),
    Sum { base: Base, offset: i64, loads: u32, is_value: bool },
    Other,
}

impl Term {
    fn sum(base: Base, offset: i64) -> Self {
        Self::Sum { base, offset, loads: 0, is_value: false }
    }

    fn place(self) -> Option<VariablePlace> {
        match self {
            Self::Register(register) => Some(VariablePlace::Value(register, 0)),
            Self::Sum { base, offset, loads: 0, is_value: false } => {
                Some(VariablePlace::Memory(base, offset))
            }
            Self::Sum { base: Base::Register(register), offset, loads: 0, is_value: true } => {
                Some(VariablePlace::Value(register, offset))
            }
            Self::Sum { base, offset, loads: 1, is_value: true } => {
                Some(VariablePlace::Memory(base, offset))
            }
            Self::Sum { base, offset, loads: 1, is_value: false } => {
                Some(VariablePlace::Through(base, offset))
            }
            _ => None,
        }
    }
}

/// The places of an expression, each with where its bytes begin in the variable. Whether it is one place for all of it; `None`
/// if the expression cannot be read.
pub fn places(
    unit: &Unit<'_>,
    expression: Expression<Slice<'_>>,
    frame: Option<(Base, i64)>,
    mut found: impl FnMut(u64, VariablePlace),
) -> Option<bool> {
    let mut operations = expression.operations(unit.encoding());
    let mut term = Term::Nothing;
    let mut start = 0_u64;
    let mut is_whole = true;
    for _ in 0..MAX_OPERATIONS {
        let Some(operation) = operations.next().ok()? else { break };
        term = match (operation, term) {
            (Operation::Register { register }, Term::Nothing) => Term::Register(register.0),
            (Operation::RegisterOffset { register, offset, .. }, Term::Nothing) => {
                Term::sum(Base::Register(register.0), offset)
            }
            (Operation::FrameOffset { offset }, Term::Nothing) => match frame {
                Some((base, from)) => Term::sum(base, from.checked_add(offset)?),
                None => Term::Other,
            },
            (Operation::CallFrameCFA, Term::Nothing) => Term::sum(Base::Frame, 0),
            (Operation::PlusConstant { value }, Term::Sum { base, offset, loads: 0, .. }) => {
                Term::sum(base, offset.checked_add_unsigned(value)?)
            }
            (
                Operation::Deref { space: false, size: 8, .. },
                Term::Sum { base, offset, loads: 0, .. },
            ) => Term::Sum { base, offset, loads: 1, is_value: false },
            (Operation::StackValue, Term::Sum { base, offset, loads, .. }) => {
                Term::Sum { base, offset, loads, is_value: true }
            }
            (Operation::Piece { size_in_bits, bit_offset: None }, term) => {
                is_whole = false;
                if let Some(place) = term.place() {
                    found(start, place);
                }
                start = start.checked_add(size_in_bits / 8)?;
                Term::Nothing
            }
            _ => Term::Other,
        };
    }
    if is_whole && let Some(place) = term.place() {
        found(0, place);
    }
    Some(is_whole)
}
