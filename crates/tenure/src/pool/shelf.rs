//! [`Shelf`]: the slots of a pool, of one size.
//!
//! ```text
//!              vacancy                begin_use             release
//!   no slot ──────────────> vacant ─────────────> in use ────────────> idle
//!                             ▲                     ▲                   │ │
//!                             │                     └───────────────────┘ │
//!                             │                            reuse          │
//!                             └───────────────────────────────────────────┘
//!                                        vacate: the contents are gone
//! ```
//!
//! A slot that was made stays until the shelf is dropped, so that whoever comes with an old number finds a slot
//! and not freed memory. What is in it comes and goes: that is the pool's affair, which also says what a slot's
//! permanent part `P` is.

use super::list::{FreeList, TaggedStack};
use crate::memory::{Atomic, Memory, Ordering, Resident};
use crate::segments::{CAPACITY, NO_INDEX, Segments};
use alloc::sync::Weak;
use core::ptr::NonNull;

/// Slots with a permanent part `P`, the idle ones in a list `L`.
pub(crate) struct Shelf<P, L: FreeList> {
    idle: L,
    vacant: TaggedStack<L::Memory>,
    slots: Segments<Slot<P, L::Memory>, L::Memory>,
    /// Slots that have been made. May exceed [`CAPACITY`] by those that were refused.
    made: <L::Memory as Memory>::AtomicU32,
}

/// A slot, on lines of its own: neighbours are in other hands.
#[repr(align(64))]
pub(crate) struct Slot<P, M: Memory> {
    /// Twice the number of times that the slot was used, and one more while it is in use. Written by its
    /// owner alone.
    uses: M::AtomicU64,
    index: u32,
    /// For whoever owns slots that are in no list, to line them up.
    pub(crate) next: M::AtomicU32,
    pub(crate) part: P,
}

impl<P, M: Memory> Slot<P, M> {
    /// The number by which lists know the slot.
    #[inline(always)]
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// [`Slot::uses`]: odd while the slot is in use. A hint to everybody but its owner.
    #[inline(always)]
    pub(crate) fn uses(&self) -> u64 {
        // Relaxed: see above.
        self.uses.load(Ordering::Relaxed)
    }

    /// As if the slot had been used that often.
    #[cfg(test)]
    pub(crate) fn preset_uses(&self, uses: u64) {
        // Relaxed: as in `count`.
        self.uses.store(uses, Ordering::Relaxed);
    }

    /// The owner of an idle or vacant slot uses it from here on.
    #[inline(always)]
    pub(crate) fn begin_use(&self) {
        self.count(0);
    }

    /// The user of a slot that goes to no list: its contents are to go, and the slot to be [vacated](Shelf::vacate).
    #[inline(always)]
    pub(crate) fn end_use(&self) {
        self.count(1);
    }

    #[inline(always)]
    fn count(&self, parity: u64) {
        let uses = self.uses();
        debug_assert_eq!(uses % 2, parity, "a slot has two owners");
        // Relaxed: written by the owner alone, and passed on with the slot.
        self.uses.store(uses.wrapping_add(1), Ordering::Relaxed);
    }
}

impl<P, L: FreeList> Shelf<P, L> {
    /// A shelf without slots. Threads keep up to `hoard` idle ones; `owner` is told when they end.
    pub(crate) fn new(hoard: usize, owner: Weak<dyn Resident>) -> Self {
        Self {
            idle: L::new_in(hoard, owner.clone()),
            vacant: TaggedStack::new_in(0, owner),
            slots: Segments::new(),
            made: Atomic::new(0),
        }
    }

    /// An idle slot, with what its last user left in it, in use from now on.
    #[inline(always)]
    pub(crate) fn reuse(&self, home: impl FnMut(u32)) -> Option<&Slot<P, L::Memory>> {
        let slot = self.slot(self.idle.acquire(home)?);
        slot.begin_use();
        Some(slot)
    }

    /// A vacant slot, for the caller to fill and [begin to use](Slot::begin_use), or to [vacate](Self::vacate).
    /// `None` if there are as many slots as there can be.
    pub(crate) fn vacancy(&self, make: impl Fn() -> P) -> Option<&Slot<P, L::Memory>> {
        if let Some(index) = self.vacant.acquire(|_| ()) {
            return Some(self.slot(index));
        }
        // Relaxed: the number alone is passed on.
        let index = self.made.fetch_add(1, Ordering::Relaxed);
        if index >= CAPACITY {
            // Relaxed: as above.
            self.made.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let slot = self.slots.get_or_grow(index, |index| Slot {
            uses: Atomic::new(0),
            index,
            next: Atomic::new(NO_INDEX),
            part: make(),
        });
        self.idle.admit(index);
        self.vacant.admit(index);
        Some(slot)
    }

    /// Ends the use of a slot with contents. `home` is told of slots that the closed shelf does not keep, this
    /// one perhaps: their contents are to go.
    ///
    /// # Safety
    ///
    /// `slot` is one of this shelf's. The caller is its user, and is so no longer. It keeps nothing alive by
    /// having been: only what comes home is still there.
    #[inline(always)]
    pub(crate) unsafe fn release(
        // No references: they would have to be good until the end of the call.
        this: NonNull<Self>,
        slot: NonNull<Slot<P, L::Memory>>,
        home: impl FnMut(u32),
    ) {
        // SAFETY: the slot is in use, so that its shelf is there.
        let slot = unsafe { slot.as_ref() };
        let index = slot.index;
        slot.end_use();
        // SAFETY: as above.
        let Self { idle, .. } = unsafe { this.as_ref() };
        // SAFETY: the user owns the slot.
        unsafe { L::release_raw(NonNull::from(idle), index, home) };
    }

    /// Keeps a slot whose contents are gone.
    ///
    /// # Safety
    ///
    /// The caller owns the slot, which is not in use: it is vacant, came home, or was reclaimed.
    pub(crate) unsafe fn vacate(&self, index: u32) {
        // SAFETY: the caller's. The list of vacant slots is never closed.
        unsafe { self.vacant.release(index, |_| ()) };
    }

    /// The slot of that number.
    ///
    /// # Panics
    ///
    /// If there never was one.
    #[inline(always)]
    pub(crate) fn slot(&self, index: u32) -> &Slot<P, L::Memory> {
        self.slots.get(index).expect("slots are never unmade")
    }

    /// The slot of that number, if there is one.
    #[inline(always)]
    pub(crate) fn find(&self, index: u32) -> Option<&Slot<P, L::Memory>> {
        self.slots.get(index)
    }

    /// All slots, those among them that were never used.
    pub(crate) fn slots(&self) -> impl Iterator<Item = &Slot<P, L::Memory>> {
        self.slots.snapshot().map(|(_, slot)| slot)
    }

    /// The list of idle slots, to be reclaimed from, closed and left.
    pub(crate) fn idle(&self) -> &L {
        &self.idle
    }
}
