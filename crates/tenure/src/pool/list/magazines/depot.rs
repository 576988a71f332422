//! [`Depot`]: crates of free slots, in a lock-free stack.
//!
//! A crate is on one of two stacks, `stocked` or `empty`, or belongs to the thread that took it from there;
//! that thread alone reads and writes what is in it. Crates are made when there is no empty one, and live as
//! long as the depot.

use super::super::{Closed, Linked, Stack};
use crate::line::Isolated;
use crate::memory::{Atomic, Memory, Ordering, Plain};
use crate::segments::{NO_INDEX, Segments};
use core::ptr::NonNull;

pub(super) struct Depot<M: Memory, const BATCH: usize> {
    stocked: Isolated<Stack<M>>,
    empty: Isolated<Stack<M>>,
    crates: Crates<M, BATCH>,
    made: M::AtomicU32,
    /// Slots that a crate may have.
    batch: u32,
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
struct Taken<'a, M: Memory, const BATCH: usize> {
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

    fn push(&mut self, slot: u32) {
        let count = self.count();
        // SAFETY: the crate is this thread's.
        self.of.slots[count as usize].with_mut(|field| unsafe { *field = slot });
        self.set_count(count + 1);
    }
}

impl<M: Memory, const BATCH: usize> Depot<M, BATCH> {
    /// A depot whose crates have up to `batch` slots.
    pub(super) fn new(batch: u32) -> Self {
        assert!((1..=BATCH as u32).contains(&batch), "a crate has 1 to {BATCH} slots");
        Self {
            stocked: Stack::isolated(),
            empty: Stack::isolated(),
            crates: Crates(Segments::new()),
            made: Atomic::new(0),
            batch,
        }
    }

    fn take_from(&self, stack: &Stack<M>) -> Option<Taken<'_, M, BATCH>> {
        stack.pop(&self.crates).map(|index| self.taken(index))
    }

    /// The crate of that number, which is on no stack any more.
    fn taken(&self, index: u32) -> Taken<'_, M, BATCH> {
        Taken { index, of: self.crates.0.get(index).expect("the crate was made") }
    }

    fn take_empty(&self) -> Taken<'_, M, BATCH> {
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

    /// Puts a crate back where it belongs. Once the depot is closed, its slots come home.
    ///
    /// # Safety
    ///
    /// The depot exists until this has pushed the crate, or brought its slots home, and perhaps no longer.
    unsafe fn put(this: NonNull<Self>, mut taken: Taken<'_, M, BATCH>, home: impl FnMut(u32)) {
        // SAFETY: the caller's.
        let Self { stocked, empty, crates, .. } = unsafe { this.as_ref() };
        if taken.count() == 0 {
            // The stack of empty crates is never closed.
            let _: Result<(), Closed> = empty.push(taken.index, crates);
        } else if let Err(Closed) = stocked.push(taken.index, crates) {
            // Nobody needs the crate any more.
            let mut slots = [0; BATCH];
            let count = taken.count() as usize;
            slots.fill_with(|| taken.pop().unwrap_or(NO_INDEX));
            slots[..count].iter().copied().for_each(home);
        }
    }

    /// [`put`](Self::put) by somebody who keeps the depot alive.
    fn put_back(&self, taken: Taken<'_, M, BATCH>, home: impl FnMut(u32)) {
        // SAFETY: `self` exists.
        unsafe { Self::put(NonNull::from(self), taken, home) };
    }

    /// Takes all slots of a crate. Returns whether there was one.
    pub(super) fn take(&self, mut each: impl FnMut(u32)) -> bool {
        let Some(mut taken) = self.take_from(&self.stocked) else { return false };
        while let Some(slot) = taken.pop() {
            each(slot);
        }
        self.put_back(taken, |_| ());
        true
    }

    /// Takes a slot.
    #[cold]
    pub(super) fn take_one(&self, home: impl FnMut(u32)) -> Option<u32> {
        let mut taken = self.take_from(&self.stocked)?;
        let slot = taken.pop();
        self.put_back(taken, home);
        slot
    }

    /// Stores all that `next` gives, a crate at a time.
    ///
    /// # Safety
    ///
    /// The depot exists as long as one of the slots is not stored and has not come home.
    pub(super) unsafe fn give(
        this: NonNull<Self>,
        mut next: impl FnMut() -> Option<u32>,
        mut home: impl FnMut(u32),
    ) {
        let mut slot = next();
        while slot.is_some() {
            // SAFETY: the caller's: there is a slot.
            let depot = unsafe { this.as_ref() };
            let mut taken = depot.take_empty();
            while let Some(given) = slot {
                taken.push(given);
                // Asked before the crate is out of hand: with its last slot the depot may go.
                slot = next();
                if taken.count() == depot.batch {
                    break;
                }
            }
            // SAFETY: the caller's: the crate has slots.
            unsafe { Self::put(this, taken, &mut home) };
        }
    }

    /// Stores a slot, in a crate that has room if the first has.
    ///
    /// # Safety
    ///
    /// The depot exists as long as the slot is not stored and has not come home.
    #[cold]
    pub(super) unsafe fn give_one(this: NonNull<Self>, slot: u32, mut home: impl FnMut(u32)) {
        // SAFETY: the caller's.
        let depot = unsafe { this.as_ref() };
        let mut taken = match depot.take_from(&depot.stocked) {
            Some(taken) if taken.count() < depot.batch => taken,
            Some(full) => {
                depot.put_back(full, &mut home);
                depot.take_empty()
            }
            None => depot.take_empty(),
        };
        taken.push(slot);
        // SAFETY: the caller's: the crate has the slot.
        unsafe { Self::put(this, taken, home) };
    }

    /// Takes all slots for good: from now on all that is given comes home.
    pub(super) fn close(&self, mut home: impl FnMut(u32)) {
        self.stocked.close(&self.crates, |index| {
            let mut taken = self.taken(index);
            while let Some(slot) = taken.pop() {
                home(slot);
            }
        });
    }
}
