//! The ways in which an allocation can have to do with a type.

use rustc_hash::FxHashMap;

use super::hints::arguments;
use super::member::{Fit, member};
use super::types::Types;
use crate::model::{Kind, Model, Shape, TypeId};

/// Types of one size that are tried.
pub(super) const MOST_OF_SIZE: usize = 512;

/// How deep a type may lie in the one that was allocated, and members looked at in all of that size.
const DEEP: u32 = 4;
const MOST_MEMBERS: usize = 1 << 16;

/// The fit of accesses that all touch one number each.
pub(super) const PERFECT: u64 = 16;

/// Where values of a type lie in an allocation or a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) ty: TypeId,
    /// Where the first starts.
    pub(super) start: u64,
    /// Bytes from one to the next, if there may be several.
    pub(super) stride: Option<u64>,
}

/// The layouts of allocations of one size.
pub(super) struct Layouts<'t> {
    types: &'t Types,
    size: u64,
    /// By the type of a part, or of a type parameter: the types of this size that have it, as `ArcInner<T>` has a `T`.
    around: FxHashMap<TypeId, Vec<TypeId>>,
}

impl<'t> Layouts<'t> {
    pub(super) fn new(types: &'t Types, size: u64) -> Self {
        let model = &types.model;
        let mut around: FxHashMap<TypeId, Vec<TypeId>> = FxHashMap::default();
        let mut left = MOST_MEMBERS;
        for outer in types.of_size(size).iter().take(MOST_OF_SIZE) {
            for name in arguments(&model[*outer].name) {
                for ty in types.named(name) {
                    around.entry(model.resolved(*ty)).or_default().push(*outer);
                }
            }
            let mut open = vec![(*outer, 0)];
            while let Some((ty, depth)) = open.pop() {
                let Kind::Composite { members, .. } = &model[ty].kind else { continue };
                for member in members.iter().take(left) {
                    left -= 1;
                    let part = model.resolved(member.ty);
                    if !matches!(model[part].kind, Kind::Composite { .. }) {
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

    /// The ways in which the allocation can be of a type, with how much each says.
    pub(super) fn of(&self, ty: TypeId) -> Vec<(Layout, u64)> {
        let model = &self.types.model;
        let ty = model.resolved(ty);
        let bytes = model[ty].size;
        if bytes == 0 || bytes > self.size {
            return Vec::new();
        }
        let whole = |ty| Layout { ty, start: 0, stride: None };
        let plain = is_plain(model, ty);
        if bytes == self.size {
            return vec![(whole(ty), if plain { 8 } else { 64 })];
        }
        let row = |start: u64| {
            let fits = self.size.checked_sub(start)?.is_multiple_of(bytes);
            fits.then_some(Layout { ty, start, stride: Some(bytes) })
        };
        if let Some(row) = row(0)
            && plain
        {
            return vec![(row, 4)];
        }
        let outer = self.around.get(&ty).into_iter().flatten();
        let mut layouts: Vec<(Layout, u64)> = outer.map(|outer| (whole(*outer), 48)).collect();
        let rest = self.size - bytes;
        let is_rounded = rest < 64 && self.size.is_multiple_of(16);
        if let Some(row) = row(0) {
            layouts.push((row, 16));
        } else if has_tail(model, ty) {
            layouts.push((whole(ty), 32));
        // C++ notes the number of elements before those that have destructors, and `Arc<[T]>` has two counts there.
        } else if let Some(row) = row(8).or_else(|| row(16)) {
            layouts.push((row, 1));
        } else if is_rounded && !plain {
            layouts.push((whole(ty), 8));
        }
        layouts
    }

    /// How well accesses, offsets and sizes, fit a layout, up to [`PERFECT`]. None if one touches padding.
    pub(super) fn fit(&self, layout: Layout, touched: &[(u64, u64)]) -> Option<u64> {
        let model = &self.types.model;
        let mut numbers = 0;
        for (offset, size) in touched {
            // Before the first is how many there are.
            let Some(offset) = offset.checked_sub(layout.start) else { continue };
            let inner = layout.stride.map_or(offset, |stride| offset % stride);
            let found = member(model, layout.ty, inner, *size)?;
            // A pointer is more often read on the way to what is contended for.
            let is_pointer = matches!(model[found.ty].kind, Kind::Pointer(_));
            numbers += u64::from(found.fit == Fit::Exact && !is_pointer);
        }
        Some(1 + numbers * (PERFECT - 1) / touched.len().max(1) as u64)
    }
}

/// Whether a type is one number or pointer, however wrapped: such a type fits everywhere.
fn is_plain(model: &Model, ty: TypeId) -> bool {
    member(model, ty, 0, model[ty].size).is_none_or(|found| found.fit == Fit::Exact)
}

/// Whether a type ends with an array of as many elements as were allocated.
fn has_tail(model: &Model, ty: TypeId) -> bool {
    let Kind::Composite { shape: Shape::Struct, members } = &model[ty].kind else { return false };
    let last = members.last().map(|member| &model[model.resolved(member.ty)].kind);
    matches!(last, Some(Kind::Array { count: 0, .. }))
}
