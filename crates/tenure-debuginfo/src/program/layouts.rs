//! The ways in which an allocation can have to do with a type.

use rustc_hash::FxHashMap;

use super::hints::{Hint, arguments};
use super::member::{Fit, member, tail};
use super::types::ProgramTypes;
use crate::model::{Model, TypeId, TypeKind};

/// Types of one size that are tried.
pub(super) const MAX_OF_SIZE: usize = 512;

/// How deep a type may lie in the one that was allocated, and members looked at in all of that size.
const DEEP: u32 = 4;
const MAX_MEMBERS: usize = 1 << 16;

/// The fit of accesses that all touch one number each.
pub(super) const PERFECT: u64 = 16;

/// Where values of a type lie in an allocation or a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ObjectLayout {
    pub(super) ty: TypeId,
    /// Where the first starts.
    pub(super) start: u64,
    /// Bytes from one to the next, if there may be several.
    pub(super) stride: Option<u64>,
    /// Where the last ends, if something else follows.
    pub(super) end: Option<u64>,
}

impl ObjectLayout {
    pub(super) fn whole(ty: TypeId) -> Self {
        Self { ty, start: 0, stride: None, end: None }
    }

    pub(super) fn row(ty: TypeId, stride: u64) -> Self {
        Self { ty, start: 0, stride: Some(stride), end: None }
    }
}

/// The layouts of allocations of one size.
pub(super) struct Layouts<'t> {
    types: &'t ProgramTypes,
    size: u64,
    /// Types of this size by the type of a part, or of a type parameter, that they have, as `ArcInner<T>` has a `T`.
    around: FxHashMap<TypeId, Vec<TypeId>>,
}

impl<'t> Layouts<'t> {
    pub(super) fn new(types: &'t ProgramTypes, size: u64) -> Self {
        let model = &types.model;
        let mut around: FxHashMap<TypeId, Vec<TypeId>> = FxHashMap::default();
        let mut left = MAX_MEMBERS;
        for outer in types.of_size(size).iter().take(MAX_OF_SIZE) {
            for (name, _) in arguments(&model[*outer].name) {
                for ty in types.named(name) {
                    around.entry(model.resolved(*ty)).or_default().push(*outer);
                }
            }
            let mut open = vec![(*outer, 0)];
            while let Some((ty, depth)) = open.pop() {
                let TypeKind::Composite { members, .. } = &model[ty].kind else { continue };
                for member in members.iter().take(left) {
                    left -= 1;
                    let part = model.resolved(member.ty);
                    if !matches!(model[part].kind, TypeKind::Composite { .. }) {
                        continue;
                    }
                    let all = around.entry(part).or_default();
                    if all.last() != Some(outer) {
                        all.push(*outer);
                    }
                    if depth < DEEP {
                        open.push((part, depth + 1));
                    }
                }
            }
        }
        Self { types, size, around }
    }

    /// Whether the allocation can have a value of a type.
    pub(super) fn has_room(&self, ty: TypeId) -> bool {
        self.types.model[ty].size <= self.size
    }

    /// The ways in which the allocation can be of a type, with how much each says. `near`: the allocating code
    /// hinted at it.
    pub(super) fn of(&self, ty: TypeId, hint: Hint, near: bool) -> Vec<(ObjectLayout, u64)> {
        let model = &self.types.model;
        let ty = model.resolved(ty);
        let bytes = model[ty].size;
        if bytes == 0 || bytes > self.size {
            return Vec::new();
        }
        let plain = is_plain(model, ty);
        let is_number = !matches!(model[ty].kind, TypeKind::Composite { .. });
        if bytes == self.size {
            return vec![(ObjectLayout::whole(ty), if plain { 8 } else { 64 })];
        }
        let divides = |size: Option<u64>| size.is_some_and(|size| size.is_multiple_of(bytes));
        let row = ObjectLayout::row(ty, bytes);
        if plain && divides(Some(self.size)) {
            // Numbers fit everywhere. A count that the code treats as one says something, a plain number does not.
            return match (is_number, near) {
                (true, false) => Vec::new(),
                (true, true) => vec![(row, 1)],
                (false, _) => vec![(row, 4)],
            };
        }
        let outer = self.around.get(&ty).into_iter().flatten();
        let mut layouts: Vec<_> = outer.map(|outer| (ObjectLayout::whole(*outer), 48)).collect();
        let is_rounded = self.size - bytes < 64 && self.size.is_multiple_of(16);
        let counts = ["alloc::sync::ArcInner<", "alloc::rc::RcInner<"];
        if let Some(element) = self.tail(ty) {
            // What an `ArcInner<[T]>` is allocated with also is a row of `T`: the former says more. But numbers fit
            // everywhere.
            let says = match near {
                _ if !is_plain(model, element) => 192,
                true if hint.is_direct() => 192,
                true => 4,
                false => 24,
            };
            layouts.push((ObjectLayout::whole(ty), says));
        } else if counts.iter().any(|start| model[ty].name.starts_with(start)) {
            // Never in a row.
        } else if model[ty].name.starts_with('(')
            && let Some((start, end)) = table(self.size, bytes)
        {
            layouts.push((ObjectLayout { start, end: Some(end), ..row }, 32));
        } else if divides(Some(self.size)) {
            layouts.push((row, if hint.is_parameter { 16 } else { 8 }));
        // C++ notes the number of elements before those that have destructors, and `Arc<[T]>` has two counts there.
        } else if near && divides(self.size.checked_sub(8)) {
            layouts.push((ObjectLayout { start: 8, ..row }, 1));
        } else if near && divides(self.size.checked_sub(16)) {
            layouts.push((ObjectLayout { start: 16, ..row }, 1));
        } else if is_rounded && !plain {
            layouts.push((ObjectLayout::whole(ty), 8));
        }
        layouts
    }

    /// How well accesses, offsets and sizes, fit a layout, up to [`PERFECT`]. None if one touches padding, or if those
    /// of a row, or of an array at the end, touch parts of numbers: either has room for anything.
    pub(super) fn fit(&self, layout: ObjectLayout, touched: &[(u64, u64)]) -> Option<u64> {
        let model = &self.types.model;
        let (mut exact, mut numbers, mut all) = (0, 0, 0);
        for (offset, size) in touched {
            // Before the first is how many there are, and after the last what a table knows of each.
            let Some(inner) = offset.checked_sub(layout.start) else { continue };
            if layout.end.is_some_and(|end| *offset >= end) {
                continue;
            }
            let inner = layout.stride.map_or(inner, |stride| inner % stride);
            let found = member(model, layout.ty, inner, *size)?;
            // A pointer is more often read on the way to what is contended for.
            let is_pointer = matches!(model[found.ty].kind, TypeKind::Pointer(_));
            all += 1;
            exact += u64::from(found.fit == Fit::Exact);
            numbers += u64::from(found.fit == Fit::Exact && !is_pointer);
        }
        let is_open = layout.stride.is_some() || tail(model, layout.ty).is_some();
        if is_open && exact * 4 < all * 3 {
            return None;
        }
        Some(1 + numbers * (PERFECT - 1) / all.max(1))
    }

    /// What a type ends with as many of as the allocation has room for.
    fn tail(&self, ty: TypeId) -> Option<TypeId> {
        let model = &self.types.model;
        let (last, element) = tail(model, ty)?;
        let room = self.size.checked_sub(last.offset)?;
        room.is_multiple_of(model[element].size).then_some(element)
    }
}

/// Where the first pair of a hash table of std starts and the last one ends: after them are a byte for each and 16.
fn table(size: u64, bytes: u64) -> Option<(u64, u64)> {
    let mut slots = 4_u64;
    loop {
        let elements = slots.checked_mul(bytes).filter(|elements| *elements < size)?;
        let end = elements.checked_next_multiple_of(16)?;
        if end.checked_add(slots + 16) == Some(size) {
            return Some((end - elements, end));
        }
        slots = slots.checked_mul(2)?;
    }
}

/// Whether a type is one number or pointer, however wrapped: such a type fits everywhere.
pub fn is_plain(model: &Model, ty: TypeId) -> bool {
    member(model, ty, 0, model[ty].size).is_none_or(|found| found.fit == Fit::Exact)
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn a_hash_table_has_a_power_of_two_of_slots_and_a_byte_for_each_behind_them() {
        assert_eq!(table(16 * 32 + 16 + 16, 32), Some((0, 512)));
        assert_eq!(table(8 + 4 * 10 + 4 + 16, 10), Some((8, 48)));
        assert_eq!(table(16 * 32, 32), None);
        assert_eq!(table(u64::MAX, 1), None);
        assert_eq!(table(0, 8), None);
    }
}
