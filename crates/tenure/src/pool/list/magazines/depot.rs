//! [`Depot`]: the idle slots that are in no magazine, loose or in batches.
//!
//! ```text
//!   loose     a stack of slots      for any thread at any time: a slot moves in one compare-exchange
//!   stocked   a stack of batches    for threads inside of a magazine, which a reclaimer can wait for
//!   empty     a stack of batches    without slots, so they hide none
//! ```
//!
//! A batch is on one of the two stacks, or belongs to the thread that took it, which alone reads and writes it. No
//! other thread can then reach its slots, although they are idle. So `stocked` is only touched from [inside](super) of
//! a magazine, or under the list's lock.
//!
//! Batches are made when there is no empty one, and live as long as the depot.

use super::super::{Closed, Linked, List, Stack, TaggedStack};
use crate::cache_line::CachePadded;
use crate::memory::{Atomic, Memory, Ordering, Plain, Resident, Threads};
use crate::segments::{NO_INDEX, Segments};
use alloc::sync::Weak;
use core::iter;
use core::ptr::NonNull;

pub(super) struct Depot<M: Memory, const BATCH: usize> {
    pub(super) loose: TaggedStack<M>,
    stocked: CachePadded<Stack<M>>,
    empty: CachePadded<Stack<M>>,
    batches: Batches<M, BATCH>,
    made: M::AtomicU32,
}

struct Batches<M: Memory, const BATCH: usize>(Segments<Batch<M, BATCH>, M>);

struct Batch<M: Memory, const BATCH: usize> {
    link: M::AtomicU32,
    count: M::Plain<u32>,
    slots: [M::Plain<u32>; BATCH],
}

// SAFETY: the plain fields, integers, belong to the thread that took the batch off a stack; pushes are Release and pops
// Acquire.
unsafe impl<M: Memory, const BATCH: usize> Send for Batch<M, BATCH> {}
// SAFETY: as above.
unsafe impl<M: Memory, const BATCH: usize> Sync for Batch<M, BATCH> {}

impl<M: Memory, const BATCH: usize> Linked<M> for Batches<M, BATCH> {
    fn link(&self, index: u32) -> &M::AtomicU32 {
        &self.0.get(index).expect("the batch was made").link
    }
}

/// A batch on no stack: it belongs to the calling thread.
pub(super) struct Taken<'a, M: Memory, const BATCH: usize> {
    index: u32,
    batch: &'a Batch<M, BATCH>,
}

impl<M: Memory, const BATCH: usize> Taken<'_, M, BATCH> {
    fn count(&self) -> u32 {
        // SAFETY: the batch belongs to this thread.
        unsafe { self.batch.count.read() }
    }

    fn set_count(&mut self, count: u32) {
        // SAFETY: the batch belongs to this thread.
        self.batch.count.with_mut(|field| unsafe { *field = count });
    }

    fn pop(&mut self) -> Option<u32> {
        let count = self.count().checked_sub(1)?;
        self.set_count(count);
        // SAFETY: the batch belongs to this thread.
        Some(unsafe { self.batch.slots[count as usize].read() })
    }

    pub(super) fn push(&mut self, slot: u32) {
        let count = self.count();
        // SAFETY: the batch belongs to this thread.
        self.batch.slots[count as usize].with_mut(|field| unsafe { *field = slot });
        self.set_count(count + 1);
    }
}

impl<M: Threads, const BATCH: usize> Depot<M, BATCH> {
    pub(super) fn new(owner: Weak<dyn Resident>) -> Self {
        Self {
            loose: TaggedStack::new_in(0, owner),
            stocked: Stack::isolated(),
            empty: Stack::isolated(),
            batches: Batches(Segments::new()),
            made: Atomic::new(0),
        }
    }

    fn take_from(&self, stack: &Stack<M>) -> Option<Taken<'_, M, BATCH>> {
        let index = stack.pop(&self.batches)?;
        Some(Taken { index, batch: self.batches.0.get(index).expect("the batch was made") })
    }

    pub(super) fn take_empty(&self) -> Taken<'_, M, BATCH> {
        self.take_from(&self.empty).unwrap_or_else(|| {
            // Relaxed: only the number is passed on.
            let index = self.made.fetch_add(1, Ordering::Relaxed);
            let batch = self.batches.0.get_or_grow(index, |_| Batch {
                link: Atomic::new(NO_INDEX),
                count: Plain::new(0),
                slots: core::array::from_fn(|_| Plain::new(0)),
            });
            Taken { index, batch }
        })
    }

    /// Puts a batch onto its stack. If it has slots, the caller is inside of a magazine or holds the lock.
    #[allow(clippy::needless_pass_by_value, reason = "the batch is given up")]
    pub(super) fn put(&self, taken: Taken<'_, M, BATCH>) {
        let stack = if taken.count() == 0 { &self.empty } else { &self.stocked };
        let pushed = stack.push(taken.index, &self.batches);
        debug_assert!(pushed.is_ok(), "stacks of batches are never closed");
    }

    /// Calls `each` with every slot of a batch. The caller is inside of a magazine or holds the lock.
    pub(super) fn take(&self, each: impl FnMut(u32)) -> bool {
        let Some(mut taken) = self.take_from(&self.stocked) else { return false };
        iter::from_fn(|| taken.pop()).for_each(each);
        self.put(taken);
        true
    }

    /// Makes a slot of the caller loose. The depot is open: it closes when magazines and batches are empty for good.
    pub(super) fn loosen(&self, slot: u32) {
        // SAFETY: the caller owns the slot.
        let released = unsafe { self.loose.release(slot) };
        debug_assert!(released.is_ok(), "slot {slot} comes from a magazine of a closed list");
    }

    /// Makes the slots of all batches loose. The caller holds the lock.
    pub(super) fn unpack(&self) {
        while self.take(|slot| self.loosen(slot)) {}
    }

    #[cold]
    pub(super) fn take_one(&self) -> Option<u32> {
        self.loose.acquire()
    }

    /// Makes a slot loose, in one step.
    ///
    /// # Safety
    ///
    /// The caller owns the slot, which keeps the depot.
    #[cold]
    pub(super) unsafe fn give_one(this: NonNull<Self>, slot: u32) -> Result<(), Closed> {
        // SAFETY: passed on to the caller.
        unsafe { TaggedStack::release_raw(NonNull::from(&this.as_ref().loose), slot) }
    }
}
