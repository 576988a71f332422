//! Counters of accesses, and what they are of.

use rustc_hash::FxHashMap;
use tenure_debuginfo::model::TypeId;

/// What something is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// Objects of a type, the outermost that is known of them.
    Type(TypeId),
    /// The variable with this place among [`Model::statics`](tenure_debuginfo::model::Model::statics).
    Static(u32),
}

/// Bytes of a type's objects, or of a variable. In an array they are those of its first element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessedPart {
    /// The outermost thing that is known.
    pub subject: Subject,
    /// Bytes from its start.
    pub offset: u32,
    /// How many bytes.
    pub size: u32,
}

/// What an instruction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum CodeAccess {
    Read,
    Write,
    /// Reads and writes back without being atomic.
    Update,
    Add,
    /// An exchange whatever is there, as compilers store to an atomic word too.
    Swap,
    Exchange,
    /// Passes its address to a function that takes a lock.
    Lock,
}

impl CodeAccess {
    pub(super) fn is_atomic(self) -> bool {
        matches!(self, Self::Add | Self::Swap | Self::Exchange)
    }

    pub(super) fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::Lock)
    }
}

/// What an instruction does, whatever the state.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fact {
    pub(super) writes: u16,
    pub(super) reads: u16,
    pub(super) access: Option<CodeAccess>,
    pub(super) size: u32,
}

/// Which element of an array an address is of, as far as the function shows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CountRow {
    /// One that the code names, or nothing is known.
    #[default]
    Fixed,
    /// One after the other, as a loop steps through them.
    Swept,
    /// One that a variable chooses.
    Chosen,
    /// One that a variable of the thread or CPU itself chooses.
    Own,
}

/// How often something is accessed: numbers of instructions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OperandCounts {
    /// Reads.
    pub reads: u32,
    /// Writes, and what reads and writes without being atomic.
    pub writes: u32,
    /// Writes that also read what was there.
    pub updates: u32,
    /// Atomic operations that always write: additions, exchanges, bits set.
    pub adds: u32,
    /// Updates that exchange whatever is there (`xchg`): most compilers store so to an `_Atomic` word.
    pub swaps: u32,
    /// Atomic compare-exchanges.
    pub exchanges: u32,
    /// Calls of a function whose name says that it takes a lock, with this address.
    pub locks: u32,
    /// Writes to an element of an array that a variable chooses, and no loop of the function steps.
    pub chosen: u32,
    /// Chosen writes whose variable is the thread's or CPU's own.
    pub own: u32,
    /// All of them, each four times as heavy for every loop around it, up to three.
    pub weight: u32,
}

impl OperandCounts {
    pub(super) fn note(&mut self, access: CodeAccess, row: CountRow, weight: u32) {
        let add = |count: &mut u32, is_so: bool| *count = count.saturating_add(is_so.into());
        add(&mut self.updates, access == CodeAccess::Update);
        add(&mut self.swaps, access == CodeAccess::Swap);
        add(&mut self.chosen, access.writes() && row >= CountRow::Chosen);
        add(&mut self.own, access.writes() && row == CountRow::Own);
        let count = match access {
            CodeAccess::Read => &mut self.reads,
            CodeAccess::Write | CodeAccess::Update => &mut self.writes,
            CodeAccess::Add | CodeAccess::Swap => &mut self.adds,
            CodeAccess::Exchange => &mut self.exchanges,
            CodeAccess::Lock => &mut self.locks,
        };
        add(count, true);
        self.weight = self.weight.saturating_add(weight);
    }

    /// Adds others to these.
    pub fn add(&mut self, other: &Self) {
        let Self { reads, writes, updates, adds, swaps, exchanges, locks, chosen, own, weight } =
            self;
        for (mine, other) in [
            (reads, other.reads),
            (writes, other.writes),
            (updates, other.updates),
            (adds, other.adds),
            (swaps, other.swaps),
            (exchanges, other.exchanges),
            (locks, other.locks),
            (chosen, other.chosen),
            (own, other.own),
            (weight, other.weight),
        ] {
            *mine = mine.saturating_add(other);
        }
    }
}

/// What one function does with some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperandUse {
    /// The bytes.
    pub part: AccessedPart,
    /// The function's place in [`Sweep::functions`](super::Sweep::functions).
    pub function: u32,
    /// How often.
    pub counts: OperandCounts,
}

/// Operands of instructions that may be shared with other threads: not those on the stack, of the thread or CPU itself,
/// or in constants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Operands {
    /// Found to be of a composite's objects, or of a variable.
    pub attributed: u64,
    /// Behind a pointer to a number or to another pointer.
    pub plain: u64,
    /// All others.
    pub unknown: u64,
    /// Atomic ones, of all.
    pub locked: u64,
    /// Atomic ones of the unknown.
    pub locked_unknown: u64,
}

impl Operands {
    /// Those that are attributed, where no others could be.
    pub(super) fn only_known(self) -> Self {
        let locked = self.locked - self.locked_unknown;
        Self { plain: 0, unknown: 0, locked, locked_unknown: 0, ..self }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.attributed += other.attributed;
        self.plain += other.plain;
        self.unknown += other.unknown;
        self.locked += other.locked;
        self.locked_unknown += other.locked_unknown;
    }

    /// All.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.attributed + self.plain + self.unknown
    }
}

/// What one function does.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) parts: FxHashMap<AccessedPart, OperandCounts>,
    pub(super) operands: Operands,
    /// What the instructions access that were asked about.
    pub(super) at: Vec<(u64, AccessedPart)>,
    /// Whether it calls a function that takes a lock.
    pub(super) takes_lock: bool,
}
