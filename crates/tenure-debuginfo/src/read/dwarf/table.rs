//! A unit's types, members and variables, as flat tables.
//!
//! Every entry of every file has a *position*: the offset of its section's start among all sections that are read, plus
//! its own offset. References are positions until [`Table::link`] turns them into indices. Most tables are one unit's
//! and are reused for the next; files whose types refer across units (link-time optimisation, `dwz`, type units) share
//! one table.

use crate::model::{Malformed, Qualifier, Scalar};

/// The position of an entry among all that are read.
pub(super) type EntryPosition = u64;

pub(super) const NOWHERE: EntryPosition = u64::MAX;

pub(super) const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    Struct,
    Union,
    /// A struct with a variant part.
    Variants,
    Enumeration,
    Scalar(Scalar),
    Alias,
    Pointer,
    Array,
    Qualified(Qualifier),
    Function,
    /// A type without values, or of an unknown kind.
    Opaque,
}

impl EntryKind {
    pub(super) fn is_composite(self) -> bool {
        matches!(self, Self::Struct | Self::Union | Self::Variants)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct TableEntry<'d> {
    pub(super) at: EntryPosition,
    pub(super) name: &'d [u8],
    pub(super) size: u64,
    /// The target of a pointer, an array or an alias.
    pub(super) target_at: EntryPosition,
    pub(super) target: u32,
    /// The first and the last of its members or, of an array, its dimensions.
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) scope: u32,
    pub(super) align: u32,
    pub(super) file: u32,
    pub(super) line: u32,
    pub(super) what: EntryKind,
    /// Only its name is known here.
    pub(super) declaration: bool,
    /// A pointer to a member: two words if that is a function.
    pub(super) to_member: bool,
    /// It only stands for `target`.
    pub(super) stands_in: bool,
}

impl TableEntry<'_> {
    pub(super) fn new(at: EntryPosition, what: EntryKind, scope: u32) -> Self {
        Self {
            at,
            name: &[],
            size: 0,
            target_at: NOWHERE,
            target: NONE,
            first: NONE,
            last: NONE,
            scope,
            align: 0,
            file: 0,
            line: 0,
            what,
            declaration: false,
            to_member: false,
            stands_in: false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BitsAt {
    No,
    /// So many bits from the start of the composite (since DWARF 4).
    FromStart(u64),
    /// Until DWARF 3: so many bits from the most significant bit of the `bytes` (0: the type's) at the member's offset.
    FromTop {
        bits: i64,
        bytes: u32,
    },
}

#[derive(Debug, Clone, Copy)]
pub(super) struct TablePart<'d> {
    pub(super) name: &'d [u8],
    pub(super) target_at: EntryPosition,
    pub(super) target: u32,
    pub(super) next: u32,
    /// The offset of a member, or the number of elements of a dimension.
    pub(super) offset: u64,
    pub(super) bits_at: BitsAt,
    pub(super) bits: u32,
    pub(super) align: u32,
    pub(super) inherited: bool,
}

impl TablePart<'_> {
    pub(super) fn new() -> Self {
        Self {
            name: &[],
            target_at: NOWHERE,
            target: NONE,
            next: NONE,
            offset: 0,
            bits_at: BitsAt::No,
            bits: 0,
            align: 0,
            inherited: false,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct TableScope<'d> {
    pub(super) parent: u32,
    pub(super) name: &'d [u8],
}

pub(super) const ROOT: u32 = 0;

/// A variable with an address, or a declaration whose scope gives the definition its path.
#[derive(Debug, Clone, Copy)]
pub(super) struct TableVariable<'d> {
    pub(super) at: EntryPosition,
    pub(super) name: &'d [u8],
    pub(super) target_at: EntryPosition,
    /// The entry with the rest.
    pub(super) origin_at: EntryPosition,
    pub(super) scope: u32,
    pub(super) file: u32,
    pub(super) line: u32,
    /// The index of its section and the address; none of a declaration.
    pub(super) place: Option<(u32, u64)>,
}

#[derive(Debug, Default)]
pub(super) struct EntryTable<'d> {
    pub(super) entries: Vec<TableEntry<'d>>,
    pub(super) parts: Vec<TablePart<'d>>,
    pub(super) scopes: Vec<TableScope<'d>>,
    pub(super) variables: Vec<TableVariable<'d>>,
    /// Declarations, and what completes them.
    pub(super) completions: Vec<(EntryPosition, EntryPosition)>,
    /// Positions in other units that types refer to.
    pub(super) foreign: Vec<EntryPosition>,
    /// Bytes of names read: in hostile files few bytes name many.
    pub(super) name_bytes: u64,
    index: Index,
}

impl<'d> EntryTable<'d> {
    pub(super) fn empty() -> Self {
        let mut table = Self::default();
        table.clear();
        table
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.parts.clear();
        self.scopes.clear();
        self.scopes.push(TableScope { parent: NONE, name: &[] });
        self.variables.clear();
        self.completions.clear();
        self.foreign.clear();
        self.name_bytes = 0;
    }

    pub(super) fn append(&mut self, other: &EntryTable<'d>) -> Result<(), Malformed> {
        let sums = [
            self.entries.len() + other.entries.len(),
            self.parts.len() + other.parts.len(),
            self.scopes.len() + other.scopes.len(),
        ];
        if sums.iter().any(|sum| *sum >= NONE as usize) {
            return Err(Malformed::new("units that refer to each other hold more than 2^32 types"));
        }
        let count = |len: usize| u32::try_from(len).unwrap_or(NONE);
        // The root is the same in both.
        let (scope, part) = (count(self.scopes.len()) - 1, count(self.parts.len()));
        let inside =
            |index: u32| if index == ROOT || index == NONE { index } else { index + scope };
        let moved = |index: u32, by: u32| if index == NONE { NONE } else { index + by };
        self.scopes.extend(
            other
                .scopes
                .iter()
                .skip(1)
                .map(|one| TableScope { parent: inside(one.parent), ..*one }),
        );
        self.parts.extend(
            other.parts.iter().map(|one| TablePart { next: moved(one.next, part), ..*one }),
        );
        self.entries.extend(other.entries.iter().map(|one| TableEntry {
            first: moved(one.first, part),
            last: moved(one.last, part),
            scope: inside(one.scope),
            ..*one
        }));
        self.variables.extend(
            other.variables.iter().map(|one| TableVariable { scope: inside(one.scope), ..*one }),
        );
        self.completions.extend_from_slice(&other.completions);
        Ok(())
    }

    pub(super) fn push_part(&mut self, entry: u32, part: TablePart<'d>) {
        let index = u32::try_from(self.parts.len()).unwrap_or(NONE);
        self.parts.push(part);
        let entry = &mut self.entries[entry as usize];
        match entry.last {
            NONE => entry.first = index,
            last => self.parts[last as usize].next = index,
        }
        entry.last = index;
    }

    pub(super) fn find(&self, at: EntryPosition) -> u32 {
        self.index.find(&self.entries, at)
    }

    pub(super) fn parts_of(&self, entry: &TableEntry<'d>) -> impl Iterator<Item = &TablePart<'d>> {
        let mut next = entry.first;
        std::iter::from_fn(move || {
            let part = self.parts.get(next as usize)?;
            next = part.next;
            Some(part)
        })
    }

    pub(super) fn link(&mut self) {
        self.index.make(&self.entries);
        let completions = std::mem::take(&mut self.completions);
        for &(declaration, definition) in &completions {
            let (from, to) = (self.find(declaration), self.find(definition));
            if from == NONE || to == NONE || from == to {
                continue;
            }
            let declared = self.entries[from as usize];
            let defined = &mut self.entries[to as usize];
            if defined.name.is_empty() {
                defined.name = declared.name;
            }
            defined.scope = declared.scope;
            let entry = &mut self.entries[from as usize];
            if entry.declaration {
                (entry.stands_in, entry.target_at) = (true, definition);
            }
        }
        self.completions = completions;
        for index in 0..self.entries.len() {
            let at = self.entries[index].target_at;
            if at != NOWHERE {
                self.entries[index].target = self.find(at);
            }
        }
        for index in 0..self.parts.len() {
            let at = self.parts[index].target_at;
            if at != NOWHERE {
                self.parts[index].target = self.settled(self.find(at));
            }
        }
        for index in 0..self.entries.len() {
            let entry = &self.entries[index];
            if !entry.stands_in && entry.target != NONE {
                self.entries[index].target = self.settled(entry.target);
            }
        }
        for index in 0..self.entries.len() {
            let entry = &self.entries[index];
            if entry.to_member && self.is_function(entry.target) {
                self.entries[index].size *= 2;
            }
        }
    }

    fn is_function(&self, mut index: u32) -> bool {
        for _ in 0..4 {
            match self.entries.get(index as usize) {
                Some(entry) if entry.what == EntryKind::Function => return true,
                Some(entry) if matches!(entry.what, EntryKind::Alias | EntryKind::Qualified(_)) => {
                    index = entry.target;
                }
                _ => return false,
            }
        }
        false
    }

    /// The entry that this one stands for.
    pub(super) fn settled(&self, mut index: u32) -> u32 {
        // A declaration, its signature, its definition: three at most, and no circles.
        for _ in 0..4 {
            match self.entries.get(index as usize) {
                Some(entry) if entry.stands_in => index = entry.target,
                _ => return index,
            }
        }
        NONE
    }
}

/// Finds entries by position: the first entry of every so many bytes.
#[derive(Debug, Default)]
struct Index {
    base: EntryPosition,
    shift: u32,
    starts: Vec<u32>,
}

impl Index {
    fn make(&mut self, entries: &[TableEntry<'_>]) {
        self.starts.clear();
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return };
        self.base = first.at;
        let span = last.at - first.at;
        self.shift = 4;
        // No more starts than entries, however far apart these are.
        while (span >> self.shift) as usize > entries.len() {
            self.shift += 1;
        }
        for (index, entry) in (0..).zip(entries) {
            let bucket = ((entry.at - self.base) >> self.shift) as usize;
            while self.starts.len() <= bucket {
                self.starts.push(index);
            }
        }
        self.starts.push(u32::try_from(entries.len()).unwrap_or(NONE));
    }

    #[inline]
    fn find(&self, entries: &[TableEntry<'_>], at: EntryPosition) -> u32 {
        let Some(distance) = at.checked_sub(self.base) else { return NONE };
        let bucket = (distance >> self.shift) as usize;
        let (Some(&start), Some(&end)) = (self.starts.get(bucket), self.starts.get(bucket + 1))
        else {
            return NONE;
        };
        let candidates = &entries[start as usize..end as usize];
        let found = if candidates.len() <= 8 {
            candidates.iter().position(|entry| entry.at == at)
        } else {
            candidates.binary_search_by_key(&at, |entry| entry.at).ok()
        };
        found.map_or(NONE, |place| start + place as u32)
    }
}
