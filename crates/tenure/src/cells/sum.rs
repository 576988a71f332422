//! [`ThreadSum`]: a number that each thread adds to in its own cell.

use super::table::{Place, Table};
use crate::memory::{Atomic, Memory, Native, Ordering, Threads};
use crate::segments::Spot;

/// The sum of what threads add. Takes its place in the table at the first addition, so that making one takes nothing.
pub struct ThreadSum<M: Memory = Native> {
    /// A [`Spot`].
    spot: M::AtomicU32,
}

impl ThreadSum {
    pub(crate) const fn native() -> Self {
        Self { spot: <Native as Memory>::AtomicU32::new(Spot::NONE.raw()) }
    }
}

/// Every method is given the same table.
impl<M: Threads> ThreadSum<M> {
    /// Nothing yet.
    #[must_use]
    pub fn new_in() -> Self {
        Self { spot: Atomic::new(Spot::NONE.raw()) }
    }

    /// Adds `n`, and wraps around at 2^64.
    #[inline(always)]
    pub fn add(&self, table: &Table<M>, n: u64) {
        let spot = self.spot();
        match table.own(spot) {
            Some(cell) => add::<M>(cell, n),
            None => self.add_slowly(table, spot, n),
        }
    }

    /// The place: in no segment before the first addition.
    #[inline(always)]
    fn spot(&self) -> Spot {
        // Acquire: pairs with the Release in `first_spot`: the cells there are 0.
        Spot::from_raw(self.spot.load(Ordering::Acquire))
    }

    #[cold]
    fn add_slowly(&self, table: &Table<M>, found: Spot, n: u64) {
        let spot = if found == Spot::NONE { self.first_spot(table) } else { found };
        match table.own_or_grow(spot) {
            Some(cell) => add::<M>(cell, n),
            // Relaxed: a number, through which nothing is published.
            None => _ = table.node(spot).rest.fetch_add(n, Ordering::Relaxed),
        }
    }

    fn first_spot(&self, table: &Table<M>) -> Spot {
        let Place { spot, .. } = table.acquire();
        let none = Spot::NONE.raw();
        // Release: pairs with the Acquire in `spot`. Acquire: the same, if another thread was faster.
        match self.spot.compare_exchange(none, spot.raw(), Ordering::Release, Ordering::Acquire) {
            Ok(_) => spot,
            Err(winner) => {
                table.release(spot);
                Spot::from_raw(winner)
            }
        }
    }

    /// What was added and not taken: all that happened before, and perhaps some of what happens during the call. What is
    /// taken during the call may still be in it. While threads only add, a later sum is not less.
    #[must_use]
    pub fn sum(&self, table: &Table<M>) -> u64 {
        let spot = self.spot();
        if spot == Spot::NONE {
            return 0;
        }
        // Acquire: pairs with the Release in `take`: what was taken from the cells is found in them below.
        let rest = table.node(spot).rest.load(Ordering::Acquire);
        rest.wrapping_add(cells(table, spot))
    }

    /// Takes what was added. One call returns each addition; until then it is in the sum.
    ///
    /// No thread may change another's cell. So what the cells had is subtracted from the shared word instead, if that is as
    /// it was before they were read. If it changed and changed back, that is right as well: what is returned was subtracted.
    pub fn take(&self, table: &Table<M>) -> u64 {
        let spot = self.spot();
        if spot == Spot::NONE {
            return 0;
        }
        let rest = &table.node(spot).rest;
        loop {
            // Acquire: as in `sum`.
            let found = rest.load(Ordering::Acquire);
            let cells = cells(table, spot);
            let left = cells.wrapping_neg();
            // Release: pairs with the Acquire above, and in `sum`. Relaxed on failure: looked at again.
            if rest.compare_exchange(found, left, Ordering::Release, Ordering::Relaxed).is_ok() {
                return found.wrapping_add(cells);
            }
        }
    }

    /// Gives the place back.
    pub fn retire(&mut self, table: &Table<M>) {
        let spot = self.spot();
        if spot == Spot::NONE {
            return;
        }
        // Relaxed: `&mut self`, so every use came before, and `release` passes this on to the next owner of the place.
        table.all(spot).for_each(|cell| cell.store(0, Ordering::Relaxed));
        table.node(spot).rest.store(0, Ordering::Relaxed);
        self.spot.store(Spot::NONE.raw(), Ordering::Relaxed);
        table.release(spot);
    }
}

/// What all threads have in their cells.
fn cells<M: Threads>(table: &Table<M>, spot: Spot) -> u64 {
    // Relaxed: as in `add_slowly`.
    table.all(spot).map(|cell| cell.load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
}

/// Adds to the calling thread's cell.
#[inline(always)]
fn add<M: Memory>(cell: &M::AtomicU64, n: u64) {
    // Relaxed: no other thread stores it.
    cell.store(cell.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
}

impl<M: Memory> core::fmt::Debug for ThreadSum<M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ThreadSum").finish_non_exhaustive()
    }
}
