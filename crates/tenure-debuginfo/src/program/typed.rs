//! The type of an allocation, from the code that allocated it and the code that accesses it.
//!
//! Nothing in a process says what an allocation is. But the code knows: the function that called the allocator, and
//! the functions that access it, have variables that point to the type, or it is their type parameter. Each such type
//! is a *hint* with a weight, see [`hints`]. More than these says where the pointer of an access came from, see
//! [`pointed`](super::pointed): then the offset has to fit as well. A hint becomes a *layout*: the allocation is one of that type, or several
//! in a row, or a type around it such as `ArcInner<T>`, see [`layouts`](super::layouts). A layout is refused if an
//! access touches its padding, or if the accesses are to elements of another size. Of those left, the one with the most votes wins.

use super::hints::{self, Hint, Hints};
use super::layouts::{Layouts, MAX_OF_SIZE, ObjectLayout, PERFECT};
use super::types::ProgramTypes;
use super::units::Reader;
use super::{AllocatedBlock, AllocationAccess, TypeEvidence};
use crate::model::TypeId;

/// Distinct offsets and sizes that are looked at: more say no more.
const MAX_TOUCHED: usize = 256;

/// Distinct addresses of accessing code that are looked at: more say no more.
pub const MAX_CODE: usize = 64;

/// Frames of the allocating call that are looked at.
const MAX_FRAMES: usize = 16;

/// The functions of that call which deal with what is allocated, from `Global::allocate` to `Arc::new` and its caller;
/// those further out deal with all sorts of things.
const NEAR: usize = 10;

/// How much a hint counts by where it comes from.
const OF_NEAR: u64 = 32;
const OF_ACCESS: u64 = 8;
const OF_FAR: u64 = 1;
/// A pointer that an access came from, whatever leads to it.
const OF_POINTER: u64 = 1024;

/// `pointed`: offsets that are accessed, with a type that is at hand there and the offset in it.
pub(super) fn find(
    reader: &Reader<'_>,
    types: &ProgramTypes,
    accesses: &[AllocationAccess],
    pointed: &[(u64, TypeId, u64)],
    block: &AllocatedBlock<'_>,
) -> Option<(ObjectLayout, TypeEvidence)> {
    let &AllocatedBlock { size, stack, stride } = block;
    let mut code: Vec<u64> = accesses.iter().filter_map(|one| one.code.checked_sub(1)).collect();
    code.sort_unstable();
    code.dedup();
    let mut touched: Vec<(u64, u64)> =
        accesses.iter().map(|one| (one.offset, one.size.into())).collect();
    touched.sort_unstable();
    touched.dedup();
    touched.truncate(MAX_TOUCHED);
    let layouts = Layouts::new(types, size);
    let mut search = Search { layouts, touched, stride, found: Vec::new() };
    let frames = stack.iter().filter_map(|address| address.checked_sub(1));
    let levels =
        frames.take(MAX_FRAMES).flat_map(|address| hints::at(reader, types, address, true));
    for (depth, hints) in levels.enumerate() {
        let near = depth < NEAR;
        let factor = if near { OF_NEAR } else { OF_FAR };
        search.take(&hints, factor, TypeEvidence::Allocation, near);
    }
    for address in code.iter().take(MAX_CODE) {
        for hints in hints::at(reader, types, *address, false) {
            search.take(&hints, OF_ACCESS, TypeEvidence::Access, false);
        }
    }
    for (at, ty, offset) in pointed {
        search.take_pointer(*at, *ty, *offset);
    }
    search.best().or_else(|| search.only(types.of_size(size)))
}

struct Search<'t> {
    layouts: Layouts<'t>,
    /// Offsets and sizes.
    touched: Vec<(u64, u64)>,
    stride: Option<u64>,
    found: Vec<Candidate>,
}

struct Candidate {
    layout: ObjectLayout,
    evidence: TypeEvidence,
    votes: u64,
    /// None if it is refused.
    fit: Option<u64>,
}

impl Search<'_> {
    fn take(&mut self, hints: &Hints, factor: u64, evidence: TypeEvidence, near: bool) {
        for (ty, hint) in hints {
            for (layout, says) in self.layouts.of(*ty, *hint, near) {
                // Far from the allocator, rows of anything fit somewhere.
                if layout.stride.is_some() && evidence == TypeEvidence::Allocation && !near {
                    continue;
                }
                self.vote(layout, u64::from(hint.weight) * factor * says, evidence);
            }
        }
    }

    /// Votes for the layouts in which what lies at `at` is at `offset` of a type.
    fn take_pointer(&mut self, at: u64, ty: TypeId, offset: u64) {
        let mut layouts = self.layouts.of(ty, Hint::default(), true);
        // The allocation may have more bytes than it needs, as that of `aligned_alloc`.
        if layouts.is_empty() && self.layouts.has_room(ty) {
            layouts.push((ObjectLayout::whole(ty), 8));
        }
        for (layout, says) in layouts {
            let inner = at.checked_sub(layout.start);
            let inner = inner.map(|inner| layout.stride.map_or(inner, |stride| inner % stride));
            // A type around this one has it anywhere.
            if layout.ty != ty || inner == Some(offset) {
                self.vote(layout, OF_POINTER * says, TypeEvidence::Access);
            }
        }
    }

    fn vote(&mut self, layout: ObjectLayout, votes: u64, evidence: TypeEvidence) {
        if let (Some(seen), Some(stride)) = (self.stride, layout.stride)
            && !seen.is_multiple_of(stride)
            && !stride.is_multiple_of(seen)
        {
            return;
        }
        match self.found.iter_mut().find(|known| known.layout == layout) {
            Some(known) => {
                known.votes += votes;
                known.evidence = known.evidence.min(evidence);
            }
            None => {
                let fit = self.layouts.fit(layout, &self.touched);
                self.found.push(Candidate { layout, evidence, votes, fit });
            }
        }
    }

    fn best(&self) -> Option<(ObjectLayout, TypeEvidence)> {
        let fitting = self.found.iter().filter_map(|one| Some((one.votes * one.fit?, one)));
        // Of equals the first of the file: the same file gives the same answer.
        let best = fitting.max_by_key(|(score, one)| (*score, std::cmp::Reverse(one.layout.ty)));
        best.map(|(_, one)| (one.layout, one.evidence))
    }

    /// The only type of the size that has a number wherever one is accessed.
    fn only(&self, all: &[TypeId]) -> Option<(ObjectLayout, TypeEvidence)> {
        if all.len() > MAX_OF_SIZE || self.touched.is_empty() {
            return None;
        }
        let layouts = all.iter().map(|ty| ObjectLayout::whole(*ty));
        let mut fitting =
            layouts.filter(|layout| self.layouts.fit(*layout, &self.touched) == Some(PERFECT));
        let first = fitting.next()?;
        fitting.next().is_none().then_some((first, TypeEvidence::Size))
    }
}
