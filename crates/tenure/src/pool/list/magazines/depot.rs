//! [`Depot`]: the free slots that are in no hoard, one by one or in crates.
//!
//! ```text
//!   loose     a stack of slots     for any thread at any time: a slot moves in one compare-exchange
//!   stocked   a stack of crates    for those who use a hoard, and so can be waited for
//!   empty     a stack of crates    crates without slots hide none
//! ```
//!
//! A crate is on one of the two stacks or belongs to the thread that took it from there; that thread alone reads and
//! writes what is in it. Its slots are in nobody's reach meanwhile, although nobody uses them. So `stocked` is only
//! touched from [inside](super) of a hoard, or by the thread that has the list's turn.
//!
//! Crates are made when there is no empty one, and live as long as the depot.

use super::super::{FreeList, Linked, Stack, TaggedStack};
use crate::line::Isolated;
use crate::memory::{Atomic, Memory, Ordering, Plain, Resident, Threads};
use crate::segments::{NO_INDEX, Segments};
use alloc::sync::Weak;
use core::iter;
use core::ptr::NonNull;

pub(super) struct Depot<M: Memory, const BATCH: usize> {
    pub(super) loose: TaggedStack<M>,
    stocked: Isolated<Stack<M>>,
    empty: Isolated<Stack<M>>,
    crates: Crates<M, BATCH>,
    made: M::AtomicU32,
}

struct Crates<M: Memory, const BATCH: usize>(Segments<Crate<M, BATCH>, M>);

struct Crate<M: Memory, const BATCH: usize> {
    link: M::AtomicU32,
    count: M::Plain<u32>,
    slots: [M::Plain<u32>; BATCH],
}

// SAFETY: the plain fields belong to the thread that took the crate off a stack; pushes are Release and pops
// Acquire. They hold integers.
unsafe impl<M: Memory, const BATCH: usize> Send for Crate<M, BATCH> {}
// SAFETY: as above.
unsafe impl<M: Memory, const BATCH: usize> Sync for Crate<M, BATCH> {}

impl<M: Memory, const BATCH: usize> Linked<M> for Crates<M, BATCH> {
    fn link(&self, index: u32) -> &M::AtomicU32 {
        &self.0.get(index).expect("the crate was made").link
    }
}

/// A crate that is on no stack: the calling thread's.
pub(super) struct Taken<'a, M: Memory, const BATCH: usize> {
    index: u32,
    of: &'a Crate<M, BATCH>,
}

impl<M: Memory, const BATCH: usize> Taken<'_, M, BATCH> {
    fn count(&self) -> u32 {
        // SAFETY: the crate is this thread's.
        unsafe { self.of.count.read() }
    }

    fn set_count(&mut self, count: u32) {
        // SAFETY: the crate is this thread's.
        self.of.count.with_mut(|field| unsafe { *field = count });
    }

    fn pop(&mut self) -> Option<u32> {
        let count = self.count().checked_sub(1)?;
        self.set_count(count);
        // SAFETY: the crate is this thread's.
        Some(unsafe { self.of.slots[count as usize].read() })
    }

    /// Adds a slot to a crate that has room.
    pub(super) fn push(&mut self, slot: u32) {
        let count = self.count();
        // SAFETY: the crate is this thread's.
        self.of.slots[count as usize].with_mut(|field| unsafe { *field = slot });
        self.set_count(count + 1);
    }
}

impl<M: Threads, const BATCH: usize> Depot<M, BATCH> {
    pub(super) fn new(owner: Weak<dyn Resident>) -> Self {
        Self {
            loose: TaggedStack::new_in(0, owner),
            stocked: Stack::isolated(),
            empty: Stack::isolated(),
            crates: Crates(Segments::new()),
            made: Atomic::new(0),
        }
    }

    fn take_from(&self, stack: &Stack<M>) -> Option<Taken<'_, M, BATCH>> {
        let index = stack.pop(&self.crates)?;
        Some(Taken { index, of: self.crates.0.get(index).expect("the crate was made") })
    }

    /// A crate without slots, a new one if need be.
    pub(super) fn take_empty(&self) -> Taken<'_, M, BATCH> {
        self.take_from(&self.empty).unwrap_or_else(|| {
            // Relaxed: the number alone is passed on.
            let index = self.made.fetch_add(1, Ordering::Relaxed);
            let of = self.crates.0.get_or_grow(index, |_| Crate {
                link: Atomic::new(NO_INDEX),
                count: Plain::new(0),
                slots: core::array::from_fn(|_| Plain::new(0)),
            });
            Taken { index, of }
        })
    }

    /// Puts a crate back where it belongs. If it has slots, the caller is inside of a hoard, or has the turn.
    #[allow(clippy::needless_pass_by_value, reason = "the crate is the caller's no more")]
    pub(super) fn put(&self, taken: Taken<'_, M, BATCH>) {
        let stack = if taken.count() == 0 { &self.empty } else { &self.stocked };
        let pushed = stack.push(taken.index, &self.crates);
        debug_assert!(pushed.is_ok(), "stacks of crates are never closed");
    }

    /// Takes all slots of a crate, for `each`. The caller is inside of a hoard, or has the turn.
    pub(super) fn take(&self, each: impl FnMut(u32)) -> bool {
        let Some(mut taken) = self.take_from(&self.stocked) else { return false };
        iter::from_fn(|| taken.pop()).for_each(each);
        self.put(taken);
        true
    }

    /// Makes a slot of the caller's loose. The depot is open: it is closed when hoards and crates are empty for good.
    pub(super) fn loosen(&self, slot: u32) {
        let home = |slot| debug_assert!(false, "slot {slot} comes home from a hoard");
        // SAFETY: the caller owns the slot.
        unsafe { self.loose.release(slot, home) };
    }

    /// Makes the slots of all crates loose. The caller has the turn.
    pub(super) fn unpack(&self) {
        while self.take(|slot| self.loosen(slot)) {}
    }

    /// Takes a slot, which moves in one step.
    #[cold]
    pub(super) fn take_one(&self) -> Option<u32> {
        self.loose.acquire(|_| ())
    }

    /// Stores a slot, which moves in one step.
    ///
    /// # Safety
    ///
    /// The slot is the caller's, and the depot exists as long as it is.
    #[cold]
    pub(super) unsafe fn give_one(this: NonNull<Self>, slot: u32, home: impl FnMut(u32)) {
        // SAFETY: the caller's.
        let Self { loose, .. } = unsafe { this.as_ref() };
        // SAFETY: the caller's.
        unsafe { TaggedStack::release_raw(NonNull::from(loose), slot, home) };
    }
}
