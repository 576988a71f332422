//! What is known of registers and of a function's frame at one place of its code.

use tenure_debuginfo::model::TypeId;

use super::tally::CountRow;
use tenure_debuginfo::program::located::Register;

/// Words of a frame that are remembered.
const MAX_SLOTS: usize = 64;

pub(super) const REGISTERS: usize = 16;
pub(crate) const BP: Register = 6;
pub(crate) const SP: Register = 7;

/// What a register has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RegisterValue {
    Unknown,
    /// 0: a pointer that leads nowhere on this path.
    Null,
    /// Something that the thread or CPU itself has, as its number.
    Own,
    /// An index, multiplied by the size of an element.
    Scaled(CountRow),
    /// An address of the frame: so far from where the stack pointer was before the call.
    Frame(i64),
    /// One of the stack.
    Stack,
    /// The address of an object, and so many bytes more.
    Object {
        ty: TypeId,
        at: i64,
        row: CountRow,
    },
    /// A fixed address.
    Fixed(u64, CountRow),
}

impl RegisterValue {
    pub(super) fn is_address(self) -> bool {
        matches!(self, Self::Object { .. } | Self::Fixed(..) | Self::Frame(_) | Self::Stack)
    }

    pub(super) fn plus(self, more: i64) -> Self {
        match self {
            Self::Frame(at) => at.checked_add(more).map_or(Self::Stack, Self::Frame),
            Self::Object { ty, at, row } => match at.checked_add(more) {
                Some(at) => Self::Object { ty, at, row },
                None => Self::Unknown,
            },
            Self::Fixed(at, row) => Self::Fixed(at.wrapping_add_signed(more), row),
            Self::Null if more != 0 => Self::Unknown,
            same => same,
        }
    }

    /// And an unknown number of elements.
    pub(super) fn plus_index(self, which: CountRow) -> Self {
        match self {
            Self::Frame(_) => Self::Stack,
            Self::Null | Self::Own | Self::Scaled(_) => Self::Unknown,
            Self::Object { ty, at, row } => Self::Object { ty, at, row: row.max(which) },
            Self::Fixed(at, row) => Self::Fixed(at, row.max(which)),
            same => same,
        }
    }

    /// What holds on both of two paths.
    pub(super) fn meet(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Null, one) | (one, Self::Null) => one,
            (Self::Scaled(row), Self::Scaled(which)) => Self::Scaled(row.min(which)),
            (Self::Object { ty, at, row }, Self::Object { ty: other, at: there, row: which })
                if (ty, at) == (other, there) =>
            {
                Self::Object { ty, at, row: row.min(which) }
            }
            (Self::Fixed(at, row), Self::Fixed(there, which)) if at == there => {
                Self::Fixed(at, row.min(which))
            }
            (Self::Frame(_) | Self::Stack, Self::Frame(_) | Self::Stack) => Self::Stack,
            _ => Self::Unknown,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RegisterState {
    registers: [RegisterValue; REGISTERS],
    /// Words of the frame.
    slots: Vec<(i64, RegisterValue)>,
}

impl RegisterState {
    /// The state at a function's first instruction.
    pub(super) fn entry() -> Self {
        let mut state = Self { registers: [RegisterValue::Unknown; REGISTERS], slots: Vec::new() };
        state.set(SP, RegisterValue::Frame(-8));
        state
    }

    pub(super) fn get(&self, register: Register) -> RegisterValue {
        self.registers.get(usize::from(register)).copied().unwrap_or(RegisterValue::Unknown)
    }

    pub(super) fn set(&mut self, register: Register, value: RegisterValue) {
        if let Some(place) = self.registers.get_mut(usize::from(register)) {
            *place = value;
        }
    }

    /// Registers of a set, as bits, are written with something.
    pub(super) fn forget(&mut self, registers: u16) {
        for register in 0..REGISTERS as u16 {
            if registers >> register & 1 == 1 {
                let is_stack = register == SP;
                self.set(
                    register,
                    if is_stack { RegisterValue::Stack } else { RegisterValue::Unknown },
                );
            }
        }
    }

    pub(super) fn slot(&self, at: i64) -> RegisterValue {
        let found = self.slots.iter().find(|(known, _)| *known == at);
        found.map_or(RegisterValue::Unknown, |(_, value)| *value)
    }

    /// Bytes of the frame are written.
    pub(super) fn store(&mut self, at: i64, size: i64, value: RegisterValue) {
        let end = at.saturating_add(size);
        self.slots.retain(|(slot, _)| *slot >= end || slot.saturating_add(8) <= at);
        if size == 8 && value != RegisterValue::Unknown && self.slots.len() < MAX_SLOTS {
            self.slots.push((at, value));
        }
    }

    pub(super) fn forget_slots(&mut self) {
        self.slots.clear();
    }

    /// Keeps what holds on both of two paths.
    pub(super) fn meet(&mut self, other: &Self) {
        for (mine, other) in self.registers.iter_mut().zip(&other.registers) {
            *mine = mine.meet(*other);
        }
        self.slots.retain_mut(|(at, value)| {
            *value = value.meet(other.slot(*at));
            *value != RegisterValue::Unknown
        });
    }
}
