//! [`Table`]: the slots of one size, vacant, in use and idle.
//!
//! ```text
//!             vacancy              begin_use              release
//!   no slot ─────────> vacant ───────────────> in use ──────────────> idle
//!                        ▲                        ▲        reuse        │
//!                        │                        └─────────────────────┤
//!                        └──────────────────────────────────────────────┘
//!                                   vacate: the contents are gone
//! ```
//!
//! A slot stays until the table is dropped, so an old index leads to a slot, never to freed memory.
//! [`lifecycle`](super::lifecycle) makes and ends contents, and defines the part `P` of a slot that stays.

use super::list::{Linked, List, Stack};
use crate::cache_line::CachePadded;
use crate::memory::{Atomic, Memory, Ordering, Resident};
use crate::segments::{CAPACITY, NO_INDEX, Segments};
use alloc::sync::Weak;

pub(crate) struct Table<P, L: List> {
    pub(crate) idle: L,
    vacant: CachePadded<Stack<L::Memory>>,
    slots: Segments<Slot<P, L::Memory>, L::Memory>,
    /// Slots that were asked for: more than [`CAPACITY`] for a moment.
    made: <L::Memory as Memory>::AtomicU32,
}

/// A slot, on cache lines of its own: its neighbours have other users.
#[repr(align(64))]
pub(crate) struct Slot<P, M: Memory> {
    /// Twice the number of finished uses, plus one while in use. Written by the owner alone.
    uses: M::AtomicU64,
    index: u32,
    /// The next slot, of those that are vacant, or in one thread's hands. 0 while the slot is idle or in use: then free
    /// for its users, who leave 0.
    pub(crate) next: M::AtomicU32,
    pub(crate) part: P,
}

impl<P, M: Memory> Linked<M> for Segments<Slot<P, M>, M> {
    #[inline]
    fn link(&self, index: u32) -> &M::AtomicU32 {
        &self.get(index).expect("slots stay").next
    }
}

impl<P, M: Memory> Slot<P, M> {
    #[inline(always)]
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// Odd while the slot is in use, and another number in each use. A hint to all but its owner.
    #[inline(always)]
    pub(crate) fn uses(&self) -> u64 {
        // Relaxed: a hint.
        self.uses.load(Ordering::Relaxed)
    }

    #[cfg(test)]
    pub(crate) fn preset_uses(&self, uses: u64) {
        // Relaxed: as in `transition`.
        self.uses.store(uses, Ordering::Relaxed);
    }

    /// The owner of an idle or vacant slot starts to use it.
    #[inline(always)]
    pub(crate) fn transition_to_in_use(&self) {
        self.transition(0);
    }

    /// The user stops using the slot, and still owns it.
    #[inline(always)]
    pub(crate) fn transition_to_unused(&self) {
        self.transition(1);
    }

    #[inline(always)]
    fn transition(&self, parity: u64) {
        let uses = self.uses();
        debug_assert_eq!(uses % 2, parity, "a slot has two owners");
        // Relaxed: only the owner writes, and passes it on with the slot.
        self.uses.store(uses.wrapping_add(1), Ordering::Relaxed);
    }
}

impl<P, L: List> Table<P, L> {
    /// A thread keeps up to `magazine` idle slots; `owner` learns when that thread ends.
    pub(crate) fn new(magazine: usize, owner: Weak<dyn Resident>) -> Self {
        Self {
            idle: L::new_in(magazine, owner),
            vacant: Stack::isolated(),
            slots: Segments::new(),
            made: Atomic::new(0),
        }
    }

    /// Starts to use an idle slot, with its last user's contents.
    #[inline(always)]
    pub(crate) fn reuse(&self) -> Option<&Slot<P, L::Memory>> {
        let slot = self.slot(self.idle.acquire()?);
        slot.transition_to_in_use();
        Some(slot)
    }

    /// A vacant slot, for the caller to fill or to [vacate](Self::vacate). `None` if there are [`CAPACITY`] slots, none
    /// vacant.
    pub(crate) fn vacancy(&self, part: impl Fn() -> P) -> Option<&Slot<P, L::Memory>> {
        if let Some(index) = self.vacant.pop(&self.slots) {
            return Some(self.slot(index));
        }
        // Relaxed: only the number is passed on.
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
            part: part(),
        });
        self.idle.admit(index);
        Some(slot)
    }

    /// Keeps a slot without contents for the next [`vacancy`](Self::vacancy).
    ///
    /// # Safety
    ///
    /// The caller owns the slot, which is this table's, and gives it up.
    pub(crate) unsafe fn vacate(&self, slot: &Slot<P, L::Memory>) {
        let pushed = self.vacant.push(slot.index, &self.slots);
        debug_assert!(pushed.is_ok(), "the stack of vacant slots is never closed");
    }

    /// A slot that the list of idle slots handed out.
    #[inline(always)]
    pub(crate) fn slot(&self, index: u32) -> &Slot<P, L::Memory> {
        self.slots.get(index).expect("slots stay")
    }

    #[inline(always)]
    pub(crate) fn find(&self, index: u32) -> Option<&Slot<P, L::Memory>> {
        self.slots.get(index)
    }

    /// How often slots were used, and how many are in use.
    pub(crate) fn usage(&self) -> (u64, u64) {
        let slots = self.slots.snapshot().map(|(_, slot)| slot.uses());
        slots.fold((0, 0), |(used, in_use), uses| (used + uses.div_ceil(2), in_use + uses % 2))
    }
}
