//! The type of an allocation, from the code that allocated it and the code that accesses it.
//!
//! Nothing in a process says what an allocation is. But the code knows: the function that called the allocator, and
//! the functions that access it, have variables that point to the type, or it is their type parameter. Each such type
//! is a *hint* with a weight, see [`hints`]. A hint becomes a *layout*: the allocation is one of that type, or several
//! in a row, or a type around it such as `ArcInner<T>`, see [`layouts`](super::layouts). A layout is refused if an
//! access touches its padding. Of those left, the one with the most votes wins.

use super::hints::{self, Hints};
use super::layouts::{Layout, Layouts, MOST_OF_SIZE, PERFECT};
use super::types::Types;
use super::units::Reader;
use super::{Access, Evidence};
use crate::model::TypeId;

/// Distinct offsets and sizes that are looked at, and distinct addresses of code: more say no more.
const MOST_TOUCHED: usize = 256;
const MOST_CODE: usize = 64;

/// Frames of the allocating call that are looked at.
const MOST_FRAMES: usize = 16;

/// The functions of that call which deal with what is allocated, from `Global::allocate` to `Arc::new` and its caller;
/// those further out deal with all sorts of things.
const NEAR: usize = 10;

/// How much a hint counts by where it comes from.
const OF_NEAR: u64 = 32;
const OF_ACCESS: u64 = 8;
const OF_FAR: u64 = 1;

pub(super) fn find(
    reader: &Reader<'_>,
    types: &Types,
    accesses: &[Access],
    size: u64,
    stack: &[u64],
) -> Option<(Layout, Evidence)> {
    let mut code: Vec<u64> = accesses.iter().filter_map(|one| one.code.checked_sub(1)).collect();
    code.sort_unstable();
    code.dedup();
    let mut touched: Vec<(u64, u64)> =
        accesses.iter().map(|one| (one.offset, one.size.into())).collect();
    touched.sort_unstable();
    touched.dedup();
    touched.truncate(MOST_TOUCHED);
    let layouts = Layouts::new(types, size);
    let mut search = Search { layouts, touched, found: Vec::new() };
    let frames = stack.iter().filter_map(|address| address.checked_sub(1));
    let levels =
        frames.take(MOST_FRAMES).flat_map(|address| hints::at(reader, types, address, true));
    for (depth, hints) in levels.enumerate() {
        let near = depth < NEAR;
        let factor = if near { OF_NEAR } else { OF_FAR };
        search.take(&hints, factor, Evidence::Allocation, near);
    }
    for address in code.iter().take(MOST_CODE) {
        for hints in hints::at(reader, types, *address, false) {
            search.take(&hints, OF_ACCESS, Evidence::Access, false);
        }
    }
    search.best().or_else(|| search.only(types.of_size(size)))
}

struct Search<'t> {
    layouts: Layouts<'t>,
    /// Offsets and sizes.
    touched: Vec<(u64, u64)>,
    found: Vec<Candidate>,
}

struct Candidate {
    layout: Layout,
    evidence: Evidence,
    votes: u64,
    /// None if it is refused.
    fit: Option<u64>,
}

impl Search<'_> {
    fn take(&mut self, hints: &Hints, factor: u64, evidence: Evidence, near: bool) {
        for (ty, hint) in hints {
            for (layout, says) in self.layouts.of(*ty, *hint, near) {
                // Far from the allocator, rows of anything fit somewhere.
                if layout.stride.is_some() && evidence == Evidence::Allocation && !near {
                    continue;
                }
                let votes = u64::from(hint.weight) * factor * says;
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
        }
    }

    fn best(&self) -> Option<(Layout, Evidence)> {
        let fitting = self.found.iter().filter_map(|one| Some((one.votes * one.fit?, one)));
        // Of equals the first of the file: the same file gives the same answer.
        let best = fitting.max_by_key(|(score, one)| (*score, std::cmp::Reverse(one.layout.ty)));
        best.map(|(_, one)| (one.layout, one.evidence))
    }

    /// The only type of the size that has a number wherever one is accessed.
    fn only(&self, all: &[TypeId]) -> Option<(Layout, Evidence)> {
        if all.len() > MOST_OF_SIZE || self.touched.is_empty() {
            return None;
        }
        let layouts = all.iter().map(|ty| Layout::whole(*ty));
        let mut fitting =
            layouts.filter(|layout| self.layouts.fit(*layout, &self.touched) == Some(PERFECT));
        let first = fitting.next()?;
        fitting.next().is_none().then_some((first, Evidence::Size))
    }
}
