//! The pieces of a type that may change places.

use std::ops::Range;

use crate::lines::LayoutModel;
use crate::sharing::{GuardedBy, Guards, Victimhood, is_walked};
use tenure_debuginfo::model::{Format, Member, Shape, TypeId, TypeKind};
use tenure_model::Role;

/// The least alignment, in bytes, that a struct may have been declared with unseen: most machines' cache line.
const MIN_DECLARED_ALIGN: u64 = 64;

/// The largest alignment, in bytes, that a member is taken to have: a page.
const MAX_ALIGN: u64 = 4096;

/// Members of a type that is laid out anew: of more, too many orders would be tried.
const MAX_MEMBERS: usize = 1024;

/// Bytes of a type: no object is that large, and sums of such offsets stay within 64 bits.
const MAX_TYPE_BYTES: u64 = 1 << 32;

const NOT_A_STRUCT: &str = "is no struct: its members lie over each other.";

const TOO_MANY: &str = "has too many members: they are left where they are.";

/// The members do not lie where their types' alignments put them.
const PACKED: &str = "is packed, has an empty base class, or is aligned in a way that the debugging information \
    does not tell: its members are left where they are.";

/// A member, or bit fields that share bytes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LayoutUnit {
    pub(super) members: Range<usize>,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) align: u64,
    /// Bytes of which it begins at multiples, where that needs no padding: see [`possible_align`].
    pub(super) multiple: u64,
    pub(super) bits: bool,
    /// The bit fields, if no unnamed gap lies between them.
    pub(super) fields: Vec<BitFieldRun>,
    /// Whether it stays, and so does all before it.
    pub(super) fixed: bool,
    /// Whether it is a link that lookups walk: it stays on its line, with what they read next.
    pub(super) walked: bool,
    /// The number of markers of the source before it; units change places only within one group.
    pub(super) group: usize,
    pub(super) pieces: Vec<UnitPiece>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BitFieldRun {
    /// Bits from the start of the unit.
    first: u64,
    count: u64,
    /// The bits of its type: it crosses no multiple of those.
    storage: u64,
}

impl LayoutUnit {
    fn new(members: Range<usize>, offset: u64, size: u64, fields: Vec<BitFieldRun>) -> Self {
        let (bits, fixed, walked, group, pieces) = Default::default();
        Self {
            members,
            offset,
            size,
            align: 1,
            multiple: 1,
            bits,
            fields,
            fixed,
            walked,
            group,
            pieces,
        }
    }

    pub(super) fn is_contended(&self) -> bool {
        self.pieces.iter().any(|piece| piece.role.is_contended())
    }

    /// The locks in it, as bits.
    pub(super) fn locks(&self) -> u32 {
        self.pieces.iter().fold(0, |locks, piece| locks | piece.guard.lock)
    }

    /// Whether all of it is guarded by some of these locks.
    pub(super) fn goes_with(&self, locks: u32) -> bool {
        !self.pieces.is_empty() && self.pieces.iter().all(|piece| piece.guard.nearest & locks != 0)
    }

    pub(super) fn start(&self, end: u64) -> u64 {
        match self.fields.first() {
            // At the next byte, as units end with one.
            Some(first) => placed_at(end.saturating_mul(8), first) / 8,
            None => end.next_multiple_of(self.align),
        }
    }

    /// Whether its bit fields keep their distances at `start`.
    pub(super) fn holds(&self, start: u64) -> bool {
        let start = start.saturating_mul(8);
        let mut end = start;
        self.fields.iter().all(|field| {
            let at = placed_at(end, field);
            end = at.saturating_add(field.count);
            at == start.saturating_add(field.first)
        })
    }
}

/// The bit at which a compiler puts a field if `end` is the first free one.
fn placed_at(end: u64, field: &BitFieldRun) -> u64 {
    let storage = |bit: u64| bit / field.storage;
    let last = end.saturating_add(field.count.max(1) - 1);
    if storage(end) == storage(last) { end } else { end.next_multiple_of(field.storage) }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct UnitPiece {
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) role: Role,
    pub(super) victim: Victimhood,
    pub(super) guard: GuardedBy,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct LayoutUnits {
    pub(super) units: Vec<LayoutUnit>,
    pub(super) size: u64,
    pub(super) align: u64,
}

impl LayoutUnits {
    /// The units of a type of which `pinned` members have to stay. The error says, after the type's name, why all are left where
    /// they are.
    pub(super) fn of(
        layouts: &LayoutModel<'_>,
        id: TypeId,
        pinned: &dyn Fn(&str) -> bool,
    ) -> Result<Self, &'static str> {
        let TypeKind::Composite { shape: Shape::Struct, members } = &layouts.model[id].kind else {
            return Err(NOT_A_STRUCT);
        };
        if members.len() > MAX_MEMBERS {
            return Err(TOO_MANY);
        }
        let size = layouts.size_of(id);
        let inside = |member: &Member| {
            member.offset <= size && layouts.bytes_of(member) <= size - member.offset
        };
        if size > MAX_TYPE_BYTES || !members.iter().all(inside) {
            return Err(PACKED);
        }
        let mut units = joined(layouts, members)?;
        let last_pinned = members.iter().rposition(|member| pinned(&member.name));
        let last = units.len().saturating_sub(1);
        let mut group = 0;
        for (index, unit) in units.iter_mut().enumerate() {
            let member = &members[unit.members.start];
            let marker = unit.size == 0;
            group += usize::from(marker);
            unit.group = group;
            unit.walked = is_walked(layouts, member.ty);
            unit.fixed = last_pinned.is_some_and(|pin| unit.members.start <= pin)
                || member.inherited
                || marker && index == last
                || is_base(layouts, member);
        }
        let mut all = Self { units, size, align: layouts.model[id].align };
        all.explain(layouts, members)?;
        all.fill(layouts, id);
        Ok(all)
    }

    /// Raises alignments until packing gives the present offsets.
    fn explain(
        &mut self,
        layouts: &LayoutModel<'_>,
        members: &[Member],
    ) -> Result<(), &'static str> {
        let mut end = 0_u64;
        for unit in &mut self.units {
            let member = &members[unit.members.start];
            unit.multiple = possible_align(layouts, member);
            unit.align = if member.bits.is_none() {
                layouts.model[member.ty].align
            } else if unit.start(end) == unit.offset && unit.holds(unit.offset) {
                end = unit.offset + unit.size;
                continue;
            } else {
                // Fields without names lie between: all moves by whole units of storage.
                unit.fields.drain(..).map(|field| field.storage / 8).max().unwrap_or(1)
            };
            // The member's declaration aligns it by more than its type.
            while end.checked_next_multiple_of(unit.align) != Some(unit.offset) {
                unit.align *= 2;
                if unit.align > MAX_ALIGN || end > unit.offset {
                    return Err(PACKED);
                }
            }
            end = unit.offset + unit.size;
        }
        match end.checked_next_multiple_of(self.align) {
            Some(size) if size == self.size => Ok(()),
            _ => Err(PACKED),
        }
    }

    fn fill(&mut self, layouts: &LayoutModel<'_>, id: TypeId) {
        let flat = layouts.flat(id);
        let guards = Guards::of(layouts, &flat);
        for leaf in &flat.leaves {
            let top = flat.top_member(leaf);
            if let Some(unit) = self.units.iter_mut().find(|unit| unit.members.contains(&top)) {
                let (offset, size) = (leaf.offset - unit.offset, leaf.size);
                // Beyond the end of a malformed type.
                if offset < unit.size && size <= unit.size - offset {
                    let (role, victim) = (leaf.role, Victimhood::of(layouts, leaf));
                    let guard = guards.as_ref().map(|all| all.guard(&flat, leaf));
                    let guard = guard.unwrap_or_default();
                    unit.pieces.push(UnitPiece { offset, size, role, victim, guard });
                }
            }
        }
    }
}

/// BTF does not state declared alignments. A struct that lies on a line and fills lines may have one, so it moves to
/// lines only, where no compiler would pad for it.
fn possible_align(layouts: &LayoutModel<'_>, member: &Member) -> u64 {
    let model = layouts.model;
    let is_struct = model[model.resolved(member.ty)].kind.is_composite();
    let multiple = member.offset | layouts.size_of(member.ty);
    if model.format() != Format::Btf || !is_struct || multiple == 0 {
        return 1;
    }
    match 1 << multiple.trailing_zeros() {
        align @ MIN_DECLARED_ALIGN.. => align.min(MAX_ALIGN),
        _ => 1,
    }
}

/// Joins bit fields that touch the same bytes.
fn joined(layouts: &LayoutModel<'_>, members: &[Member]) -> Result<Vec<LayoutUnit>, &'static str> {
    let mut units: Vec<LayoutUnit> = Vec::with_capacity(members.len());
    for (index, member) in members.iter().enumerate() {
        // An empty base class has a size, as every object, and takes no room.
        let size = if member.inherited && is_empty(layouts, member) {
            0
        } else {
            layouts.bytes_of(member)
        };
        if let (Some(last), Some(_)) = (units.last_mut(), member.bits)
            && members[last.members.start].bits.is_some()
            && member.offset <= last.offset + last.size
        {
            last.members.end = index + 1;
            last.size = last.size.max(member.offset + size - last.offset);
            last.fields.extend(field(layouts, member, last.offset));
            continue;
        }
        if units.last().is_some_and(|last| last.offset + last.size > member.offset) {
            return Err(PACKED);
        }
        let fields = field(layouts, member, member.offset).into_iter().collect();
        let bits = member.bits.is_some();
        units.push(LayoutUnit {
            bits,
            ..LayoutUnit::new(index..index + 1, member.offset, size, fields)
        });
    }
    Ok(units)
}

fn field(layouts: &LayoutModel<'_>, member: &Member, start: u64) -> Option<BitFieldRun> {
    let bits = member.bits?;
    let storage = layouts.size_of(member.ty).clamp(1, 16).next_power_of_two() * 8;
    let first = (member.offset - start) * 8 + u64::from(bits.first);
    Some(BitFieldRun { first, count: u64::from(bits.count), storage })
}

fn is_empty(layouts: &LayoutModel<'_>, member: &Member) -> bool {
    let ty = layouts.model.resolved(member.ty);
    let kind = &layouts.model[ty].kind;
    kind.is_composite() && kind.members().is_empty()
}

/// A named struct at the very start: the type derives from it, and pointers are cast to it.
fn is_base(layouts: &LayoutModel<'_>, member: &Member) -> bool {
    let model = layouts.model;
    let ty = &model[model.resolved(member.ty)];
    member.offset == 0 && !ty.name.is_empty() && ty.kind.members().len() > 1
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn run(widths: &[(u64, u64)]) -> LayoutUnit {
        let mut end = 0;
        let fields: Vec<BitFieldRun> = widths
            .iter()
            .map(|&(count, storage)| {
                let first = end;
                end += count;
                BitFieldRun { first, count, storage }
            })
            .collect();
        LayoutUnit { bits: true, ..LayoutUnit::new(0..fields.len(), 0, end.div_ceil(8), fields) }
    }

    #[test]
    fn bit_fields_begin_at_the_next_byte_unless_the_first_would_cross_its_storage() {
        let flags = run(&[(13, 16), (1, 16), (2, 16)]);
        assert_eq!([160, 161, 162].map(|end| flags.start(end)), [160, 162, 162]);
        let wide = run(&[(20, 32)]);
        assert_eq!([0, 1, 2, 3].map(|end| wide.start(end)), [0, 1, 4, 4]);
    }

    #[test]
    fn a_later_field_that_would_cross_its_storage_tears_the_run() {
        let run = run(&[(8, 32), (20, 32)]);
        assert!(run.holds(0) && run.holds(4));
        assert!(!run.holds(1), "the second field would begin at the next int");
    }
}
