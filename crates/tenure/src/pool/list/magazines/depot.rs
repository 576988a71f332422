//! [`Depot`]: crates of free slots, in a lock-free stack.
//!
//! A crate is on one of two stacks, `stocked` or `empty`, or belongs to the thread that took it from there;
//! that thread alone reads and writes what is in it. Crates are made when there is no empty one, and live as
//! long as the depot.

use super::super::{Closed, Linked, Stack};
use crate::memory::{Atomic, Memory, Ordering, Plain};
use crate::pool::segments::{NO_INDEX, Segments};

pub(super) struct Depot<M: Memory, const BATCH: usize> {
    stocked: Stack<M>,
    empty: Stack<M>,
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
            stocked: Stack::new(),
            empty: Stack::new(),
            crates: Crates(Segments::new()),
            made: Atomic::new(0),
            batch,
        }
    }

    fn take_from(&self, stack: &Stack<M>) -> Option<Taken<'_, M, BATCH>> {
        let index = stack.pop(&self.crates)?;
        Some(Taken { index, of: self.crates.0.get(index).expect("the crate was made") })
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
    /// The last touch of a depot that somebody closes meanwhile, and which may end with the last slot.
    fn put(&self, mut taken: Taken<'_, M, BATCH>, home: impl FnMut(u32)) {
        if taken.count() == 0 {
            // The stack of empty crates is never closed.
            let _: Result<(), Closed> = self.empty.push(taken.index, &self.crates);
        } else if let Err(Closed) = self.stocked.push(taken.index, &self.crates) {
            // Nobody needs the crate any more.
            let mut slots = [0; BATCH];
            let count = taken.count() as usize;
            slots.fill_with(|| taken.pop().unwrap_or(NO_INDEX));
            slots[..count].iter().copied().for_each(home);
        }
    }

    /// Takes all slots of a crate. Returns whether there was one.
    pub(super) fn take(&self, mut each: impl FnMut(u32)) -> bool {
        let Some(mut taken) = self.take_from(&self.stocked) else { return false };
        while let Some(slot) = taken.pop() {
            each(slot);
        }
        self.put(taken, |_| ());
        true
    }

    /// Takes a slot.
    #[cold]
    pub(super) fn take_one(&self, home: impl FnMut(u32)) -> Option<u32> {
        let mut taken = self.take_from(&self.stocked)?;
        let slot = taken.pop();
        self.put(taken, home);
        slot
    }

    /// Stores all that `next` gives, a crate at a time.
    pub(super) fn give(&self, mut next: impl FnMut() -> Option<u32>, mut home: impl FnMut(u32)) {
        let mut slot = next();
        while slot.is_some() {
            let mut taken = self.take_empty();
            while let Some(given) = slot {
                taken.push(given);
                slot = if taken.count() < self.batch { next() } else { None };
            }
            let full = taken.count() == self.batch;
            self.put(taken, &mut home);
            if full {
                slot = next();
            }
        }
    }

    /// Stores a slot, in a crate that has room if the first has.
    #[cold]
    pub(super) fn give_one(&self, slot: u32, mut home: impl FnMut(u32)) {
        let mut taken = match self.take_from(&self.stocked) {
            Some(taken) if taken.count() < self.batch => taken,
            Some(full) => {
                self.put(full, &mut home);
                self.take_empty()
            }
            None => self.take_empty(),
        };
        taken.push(slot);
        self.put(taken, home);
    }

    /// Takes all slots for good: from now on all that is given comes home.
    pub(super) fn close(&self, mut home: impl FnMut(u32)) {
        self.stocked.close(&self.crates, |index| {
            let of = self.crates.0.get(index).expect("the crate was made");
            let mut taken = Taken { index, of };
            while let Some(slot) = taken.pop() {
                home(slot);
            }
        });
    }
}
