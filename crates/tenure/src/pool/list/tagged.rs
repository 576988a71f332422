//! [`TaggedStack`]: one lock-free stack of all free slots.

use super::{Closed, FreeList, Linked, Stack};
use crate::line::Isolated;
use crate::memory::{Atomic, Memory, Native, Resident, Threads};
use crate::segments::{NO_INDEX, Segments};
use alloc::sync::Weak;
use core::ptr::NonNull;

/// A lock-free stack of all free slots: index and tag in one 64-bit word.
///
/// Acquire and release are one compare-exchange each, on a word that everybody writes: O(1) whatever is in
/// use, and as slow as the line moves when all cores want it. [`Magazines`](super::Magazines) avoid that.
/// It hoards nothing and needs no thread-locals, so it runs without `std`.
///
/// # ABA
///
/// A plain lock-free list with many consumers, as published for the SMC buffers of Linux, hands one slot
/// to two owners: see the source of the stack for how. Here every removal changes a tag of 35 bits. A pop that
/// stands still for an exact multiple of 2^35 removals (six minutes at 10 ns each) while the same slot is on
/// top would be wrong; at any other number it starts again.
pub struct TaggedStack<M: Memory = Native> {
    free: Isolated<Stack<M>>,
    links: Links<M>,
}

struct Links<M: Memory>(Segments<M::AtomicU32, M>);

impl<M: Memory> Linked<M> for Links<M> {
    #[inline]
    fn link(&self, index: u32) -> &M::AtomicU32 {
        self.0.get(index).expect("the slot was admitted")
    }
}

// SAFETY: a pop hands out what was pushed, once: the tag.
unsafe impl<M: Threads> FreeList for TaggedStack<M> {
    type Memory = M;
    const NAME: &'static str = "tagged stack";

    fn new_in(_hoard: usize, _owner: Weak<dyn Resident>) -> Self {
        Self { free: Stack::isolated(), links: Links(Segments::new()) }
    }

    fn admit(&self, slot: u32) {
        self.links.0.get_or_grow(slot, |_| Atomic::new(NO_INDEX));
    }

    #[inline]
    fn acquire(&self, _home: impl FnMut(u32)) -> Option<u32> {
        self.free.pop(&self.links)
    }

    #[inline]
    unsafe fn release_raw(this: NonNull<Self>, slot: u32, mut home: impl FnMut(u32)) {
        // SAFETY: the caller owns a slot of the list, which therefore exists until the push.
        let Self { free, links } = unsafe { this.as_ref() };
        if let Err(Closed) = free.push(slot, links) {
            home(slot);
        }
    }

    fn emptiness(&self) -> Option<u64> {
        self.free.emptiness()
    }

    fn close(&self, home: impl FnMut(u32)) {
        self.free.close();
        // One at a time: a fork meanwhile costs the child one slot, and it may close the list again.
        core::iter::from_fn(|| self.free.pop(&self.links)).for_each(home);
    }
}

impl<M: Memory> TaggedStack<M> {
    /// Whether the list was closed, as far as the caller knows.
    pub(super) fn is_closed(&self) -> bool {
        self.free.is_closed()
    }
}

impl<M: Memory> core::fmt::Debug for TaggedStack<M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("TaggedStack").field("is_empty", &self.free.emptiness().is_some()).finish()
    }
}
