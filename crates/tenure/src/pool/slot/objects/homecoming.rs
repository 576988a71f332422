//! [`Homecoming`]: slots that a list handed out and whose objects are to go, later.
//!
//! A list tells of such slots while it works: it may have a lock, or more slots in hand that a panic would lose.
//! Objects are users' code: their drops may panic, take long, or ask this very pool for another object. So
//! slots are lined up first, by a link that each has for this purpose, and emptied when the list is done.

use super::{Raw, empty};
use crate::memory::{Atomic, Ordering};
use crate::pool::list::FreeList;
use crate::segments::NO_INDEX;

/// Slots with objects that are the calling thread's, and in no list.
pub(in crate::pool::slot) struct Homecoming<T, L: FreeList> {
    of: Raw<T, L>,
    first: u32,
}

impl<T, L: FreeList> Homecoming<T, L> {
    #[inline(always)]
    pub(in crate::pool::slot) fn new(of: Raw<T, L>) -> Self {
        Self { of, first: NO_INDEX }
    }

    #[inline(always)]
    pub(in crate::pool::slot) fn is_empty(&self) -> bool {
        self.first == NO_INDEX
    }

    /// Adds a slot.
    ///
    /// # Safety
    ///
    /// The slot has an object, is the caller's, not in use and in no list.
    #[cold]
    #[inline(never)]
    pub(in crate::pool::slot) unsafe fn push(&mut self, index: u32) {
        // SAFETY: the slot's object keeps the block alive.
        let objects = unsafe { self.of.core() };
        // Relaxed: read by this thread.
        objects.shelf.slot(index).next.store(self.first, Ordering::Relaxed);
        self.first = index;
    }

    /// Takes a slot, which is the caller's again.
    pub(in crate::pool::slot) fn pop(&mut self) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        let index = self.first;
        // SAFETY: the slot's object keeps the block alive.
        let objects = unsafe { self.of.core() };
        // Relaxed: written by this thread.
        self.first = objects.shelf.slot(index).next.load(Ordering::Relaxed);
        Some(index)
    }

    fn empty_next(&mut self) -> bool {
        let next = self.pop();
        if let Some(index) = next {
            // SAFETY: as it was pushed. The next one's object keeps the block alive for the next round.
            unsafe { empty(self.of, index) };
        }
        next.is_some()
    }

    /// Drops the objects of all, each slot being vacant when its own is gone.
    ///
    /// # Panics
    ///
    /// If the drop of an object does, when the others are gone too.
    #[cold]
    #[inline(never)]
    pub(in crate::pool::slot) fn empty(self) {
        let mut rest = Rest(self);
        while rest.0.empty_next() {}
    }
}

/// The objects that are left when one of them has panicked.
struct Rest<T, L: FreeList>(Homecoming<T, L>);

impl<T, L: FreeList> Drop for Rest<T, L> {
    fn drop(&mut self) {
        while self.0.empty_next() {}
    }
}
