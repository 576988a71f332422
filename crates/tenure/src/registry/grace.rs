//! [`Grace`]: memory that is freed when every thread that may be looking at it has come out.
//!
//! A thread is *inside* while it looks at memory that others may take away. What is taken away is *retired*: it is freed
//! when all threads that were inside at that time have come out, which is a *grace period*.
//!
//! ```text
//!   thread 0            thread 1            thread 2          a place for each thread number
//!  ┌────────────┐      ┌────────────┐      ┌────────────┐
//!  │ visit 7    │      │ visit 31,  │      │ visit 2    │     written by the owner, read by all
//!  │            │      │ inside     │      │            │
//!  ├────────────┤      ├────────────┤      ├────────────┤
//!  │ retired    │      │ retired    │      │ retired    │     the owner's alone
//!  │ batches    │      │ batches    │      │ batches    │
//!  └────────────┘      └────────────┘      └────────────┘
//! ```
//!
//! A thread that has retired so many makes a *batch* of them, and notes who is inside. The batch is freed when each of those
//! visits has ended: its number has changed. No thread waits, and coming in and out costs two stores to a word of the
//! thread's own.
//!
//! ```text
//!   visitor                             owner of a batch
//!   word = inside                       take away what is to be retired
//!   light barrier                       heavy barrier
//!   look                                note all words that say inside
//! ```
//!
//! 1. **The word of a place** is written by the thread that has its number.
//! 2. **What is retired** is used by that thread too, and by nobody while a function that frees memory runs: such a function
//!    may run anything, and may retire more.
//! 3. **Who is inside and not noted sees that it is gone.** Had the visitor seen what was taken away, and the owner not seen
//!    the word, both would have missed the other's store, which the barriers rule out.
//! 4. **Batches are freed in their order.** A visit that the first one waits for is noted by those behind it.
//!
//! # Orderings
//!
//! The owner of a batch acquires the words, and visits begin and end with Release: it may find the next visit in the place
//! of the end that it waits for, and looks of the earlier one come before the freeing all the same.
//!
//! # Threads that come and go
//!
//! What a thread retired stays with its number, for the next thread that gets that. A thread whose thread-locals are being
//! destroyed has no number any more, and [borrows](Threads::borrow_number) one for each visit.
//!
//! A process that forked goes on: nobody waits for a thread that [is lost](Threads::is_lost). What such a thread had
//! retired is lost to the child.

use crate::line::Isolated;
use crate::memory::{Atomic, Memory, Native, Ordering, Plain, Threads};
use crate::segments::Segments;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;

/// In a word: how many guards the thread has. One more than fit here is [refused](refuse).
const DEPTH: u64 = (1 << 14) - 1;
/// In a word: the thread has retired enough for a batch.
const DUE: u64 = 1 << 14;
/// In a word: the thread has borrowed its number for this visit.
const BORROWED: u64 = 1 << 15;
/// What a word counts visits by. May wrap around: two visits of one number are a wait for nothing.
const VISIT: u64 = 1 << 16;

/// Memory that waits for grace periods, in batches of so many.
pub(super) struct Grace<M: Threads, const BATCH: usize> {
    places: Segments<Isolated<Place<M>>, M>,
}

/// What the thread of a number has.
struct Place<M: Memory> {
    word: M::AtomicU64,
    number: u32,
    /// Dropped by [`Grace`], which alone knows whether the thread is lost.
    own: M::Plain<ManuallyDrop<Own>>,
}

// SAFETY: `own` is used by the thread that has the number: rule 2. What is in there may be freed on any thread, as
// `Inside::retire` demands.
unsafe impl<M: Memory> Send for Place<M> {}
// SAFETY: as above.
unsafe impl<M: Memory> Sync for Place<M> {}

#[derive(Default)]
struct Own {
    retired: Vec<Retired>,
    /// The oldest first.
    batches: VecDeque<Batch>,
    /// Memory is being freed by a call further out.
    is_freeing: bool,
}

struct Retired {
    memory: *mut (),
    free: unsafe fn(*mut ()),
}

struct Batch {
    retired: Vec<Retired>,
    /// Those that may not have ended yet.
    visits: Vec<Visit>,
}

struct Visit {
    thread: u32,
    /// The word without what is below [`VISIT`].
    visit: u64,
}

impl<const BATCH: usize> Grace<Native, BATCH> {
    /// [`new`](Self::new), for a static: no thread waits for another to make it.
    pub(super) const fn native() -> Self {
        Self { places: Segments::native() }
    }
}

impl<M: Threads, const BATCH: usize> Grace<M, BATCH> {
    pub(super) fn new() -> Self {
        Self { places: Segments::new() }
    }

    /// Comes in.
    ///
    /// # Panics
    ///
    /// If the thread has as many guards as a word can count. Nothing has changed then.
    ///
    /// # Safety
    ///
    /// The caller drops the guard, or forgets it, before it returns: a guard in a thread-local would outlive the thread's
    /// number, and write to a word that is another thread's by then.
    #[inline(always)]
    pub(super) unsafe fn enter(&self) -> Inside<'_, M, BATCH> {
        let place = match M::thread() {
            Some(number) => match self.places.get(number as u32) {
                Some(place) => place,
                None => self.place(number),
            },
            None => self.borrow(),
        };
        // Relaxed: this thread's own.
        let word = place.word.load(Ordering::Relaxed);
        // One more would look like `DUE`, and the thread as if it were outside.
        if word & DEPTH == DEPTH {
            refuse();
        }
        // Release: pairs with the Acquire of who waits for an earlier visit of this thread, and finds this one. The barrier
        // orders it before what the thread looks at.
        place.word.store(word + 1, Ordering::Release);
        // Pairs with the heavy barrier in `tidy`.
        M::light_barrier();
        Inside { grace: self, place, stays: PhantomData }
    }

    #[cold]
    fn place(&self, number: usize) -> &Place<M> {
        let new = |number| Place { word: Atomic::new(0), number, own: Plain::new(<_>::default()) };
        self.places.get_or_grow(number as u32, |number| Isolated::new(new(number)))
    }

    /// The place of a number that the calling thread has until it comes out.
    #[cold]
    fn borrow(&self) -> &Place<M> {
        let number = M::borrow_number().expect("every thread that comes in can have a number");
        let place = self.place(number);
        // Relaxed: as in `enter`.
        let word = place.word.load(Ordering::Relaxed);
        // Release: as in `enter`.
        place.word.store(word | BORROWED, Ordering::Release);
        place
    }

    /// Makes a batch of what is retired, if that is enough, and frees the batches that nobody waits for.
    ///
    /// The calling thread has the place, and is not inside.
    fn tidy(&self, place: &Place<M>) {
        /// Memory may be freed again, also where a function that does so panics.
        struct Freed<'p, M: Memory>(&'p Place<M>);
        impl<M: Memory> Drop for Freed<'_, M> {
            fn drop(&mut self) {
                self.0.own(|own| own.is_freeing = false);
            }
        }

        if place.own(|own| core::mem::replace(&mut own.is_freeing, true)) {
            return;
        }
        let _freed = Freed(place);
        // Functions that free memory may retire more than a batch.
        while let Some(retired) = place.own(|own| own.take(BATCH)) {
            // Pairs with the light barrier in `enter`.
            M::heavy_barrier();
            let visits = self.places.snapshot().filter_map(|(thread, place)| {
                // Acquire: pairs with the Release in `leave`: the looks of those who are out come before the freeing.
                let word = place.word.load(Ordering::Acquire);
                (word & DEPTH != 0).then_some(Visit { thread, visit: word / VISIT })
            });
            let batch = Batch { retired, visits: visits.collect() };
            place.own(|own| own.batches.push_back(batch));
            while let Some(free) = place.own(|own| own.free(|visit| self.has_ended(visit))) {
                free.into_iter().for_each(Retired::free);
            }
        }
    }

    fn has_ended(&self, noted: &Visit) -> bool {
        let place = self.places.get(noted.thread).expect("a place that was there stays");
        // Acquire: pairs with the Release in `leave`.
        place.word.load(Ordering::Acquire) / VISIT != noted.visit
            || M::is_lost(noted.thread as usize)
    }
}

#[cold]
#[inline(never)]
fn refuse() -> ! {
    panic!(
        "{DEPTH} lookups or drops run one inside of another on this thread, and there can be no more: \
         a comparison of keys that looks something up must not come to itself again"
    )
}

impl<M: Memory> Place<M> {
    /// For the thread that has the place, or for who has the whole. `act` does not come here again.
    fn own<R>(&self, act: impl FnOnce(&mut Own) -> R) -> R {
        // SAFETY: rule 2, and no function that frees memory is called in here.
        self.own.with_mut(|own| act(unsafe { &mut *own }))
    }
}

impl Own {
    fn take(&mut self, batch: usize) -> Option<Vec<Retired>> {
        let next = || Vec::with_capacity(batch);
        (self.retired.len() >= batch).then(|| core::mem::replace(&mut self.retired, next()))
    }

    /// What the oldest batch has, if all visits that it waits for have ended.
    fn free(&mut self, has_ended: impl Fn(&Visit) -> bool) -> Option<Vec<Retired>> {
        let oldest = self.batches.front_mut()?;
        while let Some(visit) = oldest.visits.last() {
            if !has_ended(visit) {
                return None;
            }
            oldest.visits.pop();
        }
        self.batches.pop_front().map(|batch| batch.retired)
    }
}

impl Retired {
    fn free(self) {
        // SAFETY: of `Inside::retire`, whose grace period is over.
        unsafe { (self.free)(self.memory) };
    }
}

impl<M: Threads, const BATCH: usize> Drop for Grace<M, BATCH> {
    fn drop(&mut self) {
        for (thread, place) in self.places.snapshot() {
            // A lost thread may have been in the middle of it: that is neither read nor dropped.
            if !M::is_lost(thread as usize) {
                let Own { retired, batches, .. } = place.own(core::mem::take);
                let batches = batches.into_iter().flat_map(|batch| batch.retired);
                batches.chain(retired).for_each(Retired::free);
            }
        }
    }
}

/// A thread is inside while it has this.
pub struct Inside<'g, M: Threads, const BATCH: usize> {
    grace: &'g Grace<M, BATCH>,
    place: &'g Place<M>,
    /// The thread's own.
    stays: PhantomData<*mut ()>,
}

impl<M: Threads, const BATCH: usize> Inside<'_, M, BATCH> {
    /// Calls `free` when every thread that is inside now has come out, or when the whole goes.
    ///
    /// # Safety
    ///
    /// `free` may be called with `memory` then, on any thread. Threads that come in from now on do not find the memory.
    pub(super) unsafe fn retire(&self, memory: *mut (), free: unsafe fn(*mut ())) {
        let retired = self.place.own(|own| {
            own.retired.push(Retired { memory, free });
            own.retired.len()
        });
        if retired >= BATCH {
            // Relaxed: a note to this thread itself.
            let word = self.place.word.load(Ordering::Relaxed);
            // Release: as in `enter`.
            self.place.word.store(word | DUE, Ordering::Release);
        }
    }

    /// The outermost guard with more to do, or one that is not the outermost.
    #[cold]
    #[inline(never)]
    fn leave_slowly(grace: &Grace<M, BATCH>, place: &Place<M>, word: u64) {
        if word & DEPTH > 1 {
            // Release: as in `enter`.
            place.word.store(word - 1, Ordering::Release);
            return;
        }
        let next = (word - 1).wrapping_add(VISIT) & !(DUE | BORROWED);
        // Release: as in `drop`.
        place.word.store(next, Ordering::Release);
        if word & DUE != 0 {
            grace.tidy(place);
        }
        if word & BORROWED != 0 {
            // SAFETY: borrowed by `enter`, for this visit.
            unsafe { M::return_number(place.number as usize) };
        }
    }
}

impl<M: Threads, const BATCH: usize> Drop for Inside<'_, M, BATCH> {
    #[inline(always)]
    fn drop(&mut self) {
        // Relaxed: this thread's own.
        let word = self.place.word.load(Ordering::Relaxed);
        if word & (VISIT - 1) == 1 {
            // Release: pairs with the Acquire of who waits for the visit: looks come before the freeing.
            self.place.word.store((word - 1).wrapping_add(VISIT), Ordering::Release);
        } else {
            Self::leave_slowly(self.grace, self.place, word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    type Single = Grace<Native, 1>;
    type Counter = <Native as Memory>::AtomicU32;

    fn enter(grace: &Single) -> Inside<'_, Native, 1> {
        // SAFETY: the guards of these tests end with them.
        unsafe { grace.enter() }
    }

    fn word(grace: &Single) -> &<Native as Memory>::AtomicU64 {
        let number = Native::thread().expect("the thread of a test has a number");
        &grace.place(number).word
    }

    /// Counts its calls.
    unsafe fn free(freed: *mut ()) {
        // SAFETY: the tests retire nothing but a counter, which outlives the grace periods.
        unsafe { &*freed.cast::<Counter>() }.fetch_add(1, Ordering::Relaxed);
    }

    fn retire(guard: &Inside<'_, Native, 1>, freed: &Counter) {
        // SAFETY: `free` only counts, and may do so on any thread.
        unsafe { guard.retire((&raw const *freed).cast_mut().cast(), free) };
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long")]
    fn a_guard_too_many_is_refused_and_nothing_has_changed() {
        let freed = Counter::new(0);
        let grace = Single::new();
        let guards = Vec::from_iter((0..DEPTH).map(|_| enter(&grace)));
        let before = word(&grace).load(Ordering::Relaxed);
        for _ in 0..2 {
            assert!(catch_unwind(AssertUnwindSafe(|| drop(enter(&grace)))).is_err());
            assert_eq!(word(&grace).load(Ordering::Relaxed), before);
        }
        std::thread::scope(|scope| {
            let retire = || retire(&enter(&grace), &freed);
            scope.spawn(retire).join().unwrap();
            assert_eq!(freed.load(Ordering::Relaxed), 0, "freed although a thread is inside");
            drop(guards);
            scope.spawn(retire).join().unwrap();
        });
        drop(enter(&grace));
        drop(grace);
        assert_eq!(freed.load(Ordering::Relaxed), 2);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long")]
    fn guards_that_are_forgotten_do_not_let_the_word_overflow() {
        // First, as the last to go: the counter outlives what is freed with `grace`.
        let freed = Counter::new(0);
        let grace = Single::new();
        (0..DEPTH).for_each(|_| core::mem::forget(enter(&grace)));
        assert!(catch_unwind(AssertUnwindSafe(|| drop(enter(&grace)))).is_err());
        std::thread::scope(|scope| {
            scope.spawn(|| retire(&enter(&grace), &freed)).join().unwrap();
        });
        assert_eq!(freed.load(Ordering::Relaxed), 0, "freed although a thread is inside for ever");
    }

    #[test]
    fn the_count_of_visits_wraps_around() {
        const LAST: u64 = !(VISIT - 1);
        let freed = Counter::new(0);
        let grace = Single::new();
        word(&grace).store(LAST, Ordering::Relaxed);
        drop(enter(&grace));
        assert_eq!(word(&grace).load(Ordering::Relaxed), 0);
        word(&grace).store(LAST, Ordering::Relaxed);
        retire(&enter(&grace), &freed);
        assert_eq!((word(&grace).load(Ordering::Relaxed), freed.load(Ordering::Relaxed)), (0, 1));
    }
}
