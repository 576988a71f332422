//! The type of an allocation, from the code that allocated it and the code that accesses it.
//!
//! Nothing in a process says what an allocation is. But the code knows: the function that called the allocator, and
//! the functions that access it, have variables that point to the type, or it is their type parameter. Each such type
//! is a *hint* with a weight, see [`hints`](super::hints). A hint becomes a *layout*, a way in which the allocation
//! can be that type, several in a row, or a type around it such as `ArcInner<T>`. A layout is refused if an access
//! touches padding in it. Of those left, the one wins for which most speaks.

use super::Access;
use super::Evidence;
use super::hints::{self, Hints};
use super::member::{Fit, member};
use super::types::Types;
use super::units::Reader;
use crate::model::{Kind, TypeId};

/// Distinct accesses that are looked at: one in each function says as much as more do.
const MOST_ACCESSES: usize = 256;
const MOST_CODE: usize = 64;

/// Frames of the allocating call that are looked at.
const MOST_FRAMES: usize = 16;

/// Types of one size, and members of one type, that are tried.
const MOST_TRIED: usize = 512;

/// How deep a type may lie in the type that was allocated.
const DEEP: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) ty: TypeId,
    /// Where the first starts.
    pub(super) start: u64,
    /// Bytes from one to the next, if there may be several.
    pub(super) stride: Option<u64>,
}

struct Candidate {
    layout: Layout,
    evidence: Evidence,
    score: u64,
}

pub(super) fn find(
    reader: &Reader<'_>,
    types: &Types,
    accesses: &[Access],
    size: u64,
    stack: &[u64],
) -> Option<(Layout, Evidence)> {
    let mut accesses = accesses.to_vec();
    accesses.sort_unstable();
    accesses.dedup();
    let mut code: Vec<u64> = accesses.iter().filter_map(|one| one.code.checked_sub(1)).collect();
    code.sort_unstable();
    code.dedup();
    let mut touched: Vec<(u64, u64)> =
        accesses.iter().map(|one| (one.offset, one.size.into())).collect();
    touched.sort_unstable();
    touched.dedup();
    touched.truncate(MOST_ACCESSES);
    let mut search = Search { types, size, touched, found: Vec::new() };
    let frames = stack.iter().filter_map(|address| address.checked_sub(1));
    for (depth, address) in (0..).zip(frames.take(MOST_FRAMES)) {
        // The further out, the less a caller deals with what is allocated.
        search.take(&hints::at(reader, types, address, true), 32 - depth, Evidence::Allocation);
    }
    for address in code.iter().take(MOST_CODE) {
        search.take(&hints::at(reader, types, *address, false), 8, Evidence::Access);
    }
    search.best().or_else(|| search.only())
}

struct Search<'t> {
    types: &'t Types,
    size: u64,
    /// Offsets and sizes.
    touched: Vec<(u64, u64)>,
    found: Vec<Candidate>,
}

impl Search<'_> {
    fn take(&mut self, hints: &Hints, factor: u64, evidence: Evidence) {
        for (ty, weight) in hints {
            for (layout, quality) in self.layouts(*ty) {
                let score = u64::from(*weight) * factor * quality;
                match self.found.iter_mut().find(|known| known.layout == layout) {
                    Some(known) => {
                        known.score = known.score.saturating_add(score);
                        known.evidence = known.evidence.min(evidence);
                    }
                    None => {
                        if let Some(fit) = self.fit(layout) {
                            let score = score * fit;
                            self.found.push(Candidate { layout, evidence, score });
                        }
                    }
                }
            }
        }
    }

    /// The ways in which the allocation can have to do with a type, with how much each says.
    fn layouts(&self, ty: TypeId) -> Vec<(Layout, u64)> {
        let model = &self.types.model;
        let ty = model.resolved(ty);
        let bytes = model[ty].size;
        let mut layouts = Vec::new();
        if bytes == 0 || bytes > self.size {
            return layouts;
        }
        let whole = |ty| Layout { ty, start: 0, stride: None };
        let row = |start| Layout { ty, start, stride: Some(bytes) };
        let plain = self.is_plain(ty);
        if bytes == self.size {
            layouts.push((whole(ty), if plain { 2 } else { 16 }));
            return layouts;
        }
        if !plain {
            for outer in self.types.of_size(self.size).iter().take(MOST_TRIED) {
                if self.holds(*outer, ty, DEEP) {
                    layouts.push((whole(*outer), 12));
                }
            }
        }
        let said = if plain { 1 } else { 4 };
        if self.size.is_multiple_of(bytes) {
            layouts.push((row(0), said));
        } else if !plain && (self.size - 8).is_multiple_of(bytes) {
            // C++ notes the number of elements before those that have destructors.
            layouts.push((row(8), 2));
        } else if !plain && self.size - bytes < 64 && self.size.is_multiple_of(16) {
            layouts.push((whole(ty), 2));
        }
        layouts
    }

    /// Whether a type is one number or pointer, however wrapped: such a type fits everywhere.
    fn is_plain(&self, ty: TypeId) -> bool {
        let model = &self.types.model;
        member(model, ty, 0, model[ty].size).is_none_or(|found| found.fit == Fit::Exact)
    }

    fn holds(&self, outer: TypeId, inner: TypeId, depth: usize) -> bool {
        let model = &self.types.model;
        let Kind::Composite { members, .. } = &model[model.resolved(outer)].kind else {
            return false;
        };
        members.iter().take(MOST_TRIED).any(|member| {
            let ty = model.resolved(member.ty);
            let fits = model[ty].size >= model[inner].size;
            ty == inner || depth > 0 && fits && self.holds(ty, inner, depth - 1)
        })
    }

    /// How well the accesses fit, from 1 to 4. None if one touches padding.
    fn fit(&self, layout: Layout) -> Option<u64> {
        let mut exact = 0;
        for (offset, size) in &self.touched {
            let offset = offset.checked_sub(layout.start);
            let Some(offset) = offset else {
                // The number of elements.
                continue;
            };
            let inner = layout.stride.map_or(offset, |stride| offset % stride);
            let found = member(&self.types.model, layout.ty, inner, *size)?;
            exact += u64::from(found.fit == Fit::Exact);
        }
        let all = self.touched.len().max(1) as u64;
        Some(1 + exact * 3 / all)
    }

    fn best(&self) -> Option<(Layout, Evidence)> {
        let best =
            self.found.iter().max_by_key(|one| (one.score, std::cmp::Reverse(one.layout.ty)))?;
        Some((best.layout, best.evidence))
    }

    /// The only type of the size that has a number wherever one is accessed.
    fn only(&self) -> Option<(Layout, Evidence)> {
        let all = self.types.of_size(self.size);
        if all.len() > MOST_TRIED || self.touched.is_empty() {
            return None;
        }
        let layouts = all.iter().map(|ty| Layout { ty: *ty, start: 0, stride: None });
        let mut fitting = layouts.filter(|layout| self.fit(*layout) == Some(4));
        let first = fitting.next()?;
        fitting.next().is_none().then_some((first, Evidence::Size))
    }
}
