//! [`Collector`]: memory that is freed when no thread can be reading it any more.
//!
//! A thread *reads* while it has a [`Guard`]. Memory that others may be reading is made unreachable and then *retired*:
//! it is freed when all guards of that moment are gone, a *grace period* later.
//!
//! ```text
//!   thread 0            thread 1            thread 2          a `Local` for each thread number
//!  ┌────────────┐      ┌────────────┐      ┌────────────┐
//!  │ section 7  │      │ section 31,│      │ section 2  │     the word: written by the owner, read by all
//!  │            │      │ reading    │      │            │
//!  ├────────────┤      ├────────────┤      ├────────────┤
//!  │ retired    │      │ retired    │      │ retired    │     the owner's alone
//!  │ batches    │      │ batches    │      │ batches    │
//!  └────────────┘      └────────────┘      └────────────┘
//! ```
//!
//! A thread that has retired enough makes a *batch* of it, and notes the *read section* of every thread that is
//! reading. The batch is freed when the number of each of these sections has changed. A guard costs two stores.
//!
//! ```text
//!   reader:  word = reading                      light barrier    read
//!   owner:   make the memory unreachable         heavy barrier    note the words that say `reading`
//! ```
//!
//! 1. **A word** and a **retire list** are written by the thread that has their number. It does not write the list while
//!    code runs that may retire more: functions that free memory, and the allocator.
//! 2. **A reader that is not noted finds nothing of the batch**, as the barriers let at most one side miss the other's
//!    store.
//! 3. **Batches are freed in order.** A section that delays the first one was noted by the later ones too.
//!
//! Orderings: the owner of a batch acquires the words, and every store to a word is Release: the owner may see any
//! store of the thread's next section instead of the end it waits for, and must still free after that thread's reads.
//!
//! A number's next owner gets what the last one retired. A thread whose thread-locals are being destroyed
//! [borrows](Threads::borrow_number) a number for each section. A forked child does not wait for [lost
//! threads](Threads::is_lost); what they retired leaks there.

use crate::cache_line::CachePadded;
use crate::count::KeepsReadable;
use crate::memory::{Atomic, Memory, Native, Ordering, Plain, Threads};
use crate::segments::Segments;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::mem::{self, ManuallyDrop};

/// Bits of a word: the number of guards. One more than fits is [refused](refuse).
const DEPTH: u64 = (1 << 14) - 1;
/// Bit of a word: the thread has retired enough for a batch.
const DUE: u64 = 1 << 14;
/// Bit of a word: the thread has borrowed its number for this section.
const BORROWED: u64 = 1 << 15;
/// The unit in which a word counts sections. If they wrap around, a batch waits for a section too many at worst.
const SECTION: u64 = 1 << 16;

/// The first capacity of a retire list. It is allocated on first use, since a thread may retire nothing for long.
const MIN_ROOM: usize = 4;

/// A scheme of grace periods.
pub struct Collector<M: Threads> {
    locals: Segments<CachePadded<Local<M>>, M>,
    /// How many retired objects make a batch.
    batch: usize,
}

struct Local<M: Memory> {
    word: M::AtomicU64,
    number: u32,
    /// Dropped by [`Collector`], which knows whether the thread is lost.
    retire_list: M::Plain<ManuallyDrop<RetireList>>,
}

// SAFETY: rule 1 keeps threads apart, and `Guard::retire` demands memory that any thread can free.
unsafe impl<M: Memory> Send for Local<M> {}
// SAFETY: as above.
unsafe impl<M: Memory> Sync for Local<M> {}

#[derive(Default)]
struct RetireList {
    /// Not in a batch yet.
    retired: Vec<Retired>,
    /// The oldest first. Empty while a call frees memory: that call has taken them.
    batches: VecDeque<Batch>,
    /// A call is freeing memory.
    is_freeing: bool,
}

#[derive(Clone, Copy)]
struct Retired {
    memory: *mut (),
    free: unsafe fn(*mut ()),
}

struct Batch {
    retired: Vec<Retired>,
    /// Those that may not have ended yet.
    sections: Vec<Section>,
}

struct Section {
    thread: u32,
    /// The word, in units of [`SECTION`].
    section: u64,
}

impl Collector<Native> {
    /// A collector in a static.
    pub const fn native(batch: usize) -> Self {
        Self { locals: Segments::native(), batch }
    }
}

impl<M: Threads> Collector<M> {
    /// Batches have that size.
    pub fn new(batch: usize) -> Self {
        Self { locals: Segments::new(), batch }
    }

    /// Begins a read section, or nests in the thread's current one.
    ///
    /// # Panics
    ///
    /// If the thread has as many guards as a word can count. Nothing has changed then.
    ///
    /// # Safety
    ///
    /// The caller drops the guard, or forgets it, before it returns: in a thread-local it would outlive the thread's
    /// number, and write to another thread's word.
    #[inline(always)]
    pub unsafe fn enter(&self) -> Guard<'_, M> {
        let local = match M::thread() {
            Some(number) => match self.locals.get(number as u32) {
                Some(local) => local,
                None => self.local(number),
            },
            None => self.borrow(),
        };
        // Relaxed: this thread's own.
        let word = local.word.load(Ordering::Relaxed);
        // One more would look like `DUE`, and as if the thread did not read.
        if word & DEPTH == DEPTH {
            refuse();
        }
        // Release: pairs with the Acquire in `has_ended`, which may find this section in place of the one it waits for.
        // The barrier orders the store before the reads.
        local.word.store(word + 1, Ordering::Release);
        // Pairs with the heavy barrier in `collect`.
        M::light_barrier();
        Guard { collector: self, local, not_send: PhantomData }
    }

    #[cold]
    fn local(&self, number: usize) -> &Local<M> {
        self.locals.get_or_grow(number as u32, |number| {
            CachePadded::new(Local {
                word: Atomic::new(0),
                number,
                retire_list: Plain::new(ManuallyDrop::default()),
            })
        })
    }

    /// The calling thread borrows a number until its section ends.
    #[cold]
    fn borrow(&self) -> &Local<M> {
        let number = M::borrow_number().expect("every thread that reads can have a number");
        let local = self.local(number);
        // Relaxed: as in `enter`.
        let word = local.word.load(Ordering::Relaxed);
        // Release: as in `enter`.
        local.word.store(word | BORROWED, Ordering::Release);
        local
    }

    /// Makes a batch if enough is retired, and frees the batches whose grace period is over. The calling thread has the
    /// number of `local`, and is not reading.
    fn collect(&self, local: &Local<M>) {
        let Some(mut freeing) = Freeing::begin(local) else { return };
        // Functions that free memory may retire enough for the next batch.
        while let Some(retired) = local.take_retired(self.batch) {
            // Pairs with the light barrier in `enter`.
            M::heavy_barrier();
            let sections = self.locals.snapshot().filter_map(|(thread, local)| {
                // Acquire: pairs with the Release in the drop of a `Guard`: past reads come before the freeing.
                let word = local.word.load(Ordering::Acquire);
                (word & DEPTH != 0).then_some(Section { thread, section: word / SECTION })
            });
            let batch = Batch { retired, sections: sections.collect() };
            freeing.batches.push_back(batch);
            while let Some(free) = freeing.take_oldest(|section| self.has_ended(section)) {
                free.into_iter().for_each(Retired::free);
            }
        }
    }

    fn has_ended(&self, noted: &Section) -> bool {
        let local = self.locals.get(noted.thread).expect("a local is never removed");
        // Acquire: pairs with the Release in the drop of a `Guard`.
        local.word.load(Ordering::Acquire) / SECTION != noted.section
            || M::is_lost(noted.thread as usize)
    }
}

#[cold]
#[inline(never)]
fn refuse() -> ! {
    panic!(
        "this thread nests {DEPTH} lookups or drops, and one more is too many: \
         a comparison of keys that looks something up must not recurse without end"
    )
}

impl<M: Memory> Local<M> {
    /// Called by the thread that has the number, or the owner of the collector. `act` must not come here again: it neither
    /// allocates nor frees.
    fn with_list<R>(&self, act: impl FnOnce(&mut RetireList) -> R) -> R {
        // SAFETY: rule 1: one thread, which does not come here again: the allocator, which may, is not called.
        self.retire_list.with_mut(|list| act(unsafe { &mut *list }))
    }

    /// Adds to the list. Returns how many are in no batch yet.
    fn add(&self, retired: Retired) -> usize {
        let mut room = Vec::new();
        loop {
            match self.with_list(|list| list.push(retired, &mut room)) {
                Ok(count) => return count,
                Err(capacity) => room = Vec::with_capacity(capacity),
            }
        }
    }

    /// Takes what is in no batch yet, if it is enough for one. For the call that frees.
    fn take_retired(&self, batch: usize) -> Option<Vec<Retired>> {
        if self.with_list(|list| list.retired.len()) < batch {
            return None;
        }
        let next = Vec::with_capacity(batch);
        Some(self.with_list(|list| mem::replace(&mut list.retired, next)))
    }
}

impl RetireList {
    /// Adds `retired`. If there is no room, moves to `room`, if that is larger; otherwise returns how large it has to be.
    fn push(&mut self, retired: Retired, room: &mut Vec<Retired>) -> Result<usize, usize> {
        let length = self.retired.len();
        if length == self.retired.capacity() {
            if room.capacity() <= length {
                return Err((2 * length).max(MIN_ROOM));
            }
            // Does not allocate, as `room` is empty and large enough.
            room.append(&mut self.retired);
            mem::swap(room, &mut self.retired);
        }
        self.retired.push(retired);
        Ok(length + 1)
    }
}

/// The batches of a thread while a call frees them. Its drop, also in a panic, puts back those that are left.
struct Freeing<'l, M: Memory> {
    local: &'l Local<M>,
    batches: VecDeque<Batch>,
}

impl<'l, M: Memory> Freeing<'l, M> {
    /// `None` if a call further up the stack is already freeing.
    fn begin(local: &'l Local<M>) -> Option<Self> {
        local.with_list(|list| {
            let begins = !mem::replace(&mut list.is_freeing, true);
            begins.then(|| Self { local, batches: mem::take(&mut list.batches) })
        })
    }

    /// The contents of the oldest batch, if its grace period is over.
    fn take_oldest(&mut self, has_ended: impl Fn(&Section) -> bool) -> Option<Vec<Retired>> {
        let oldest = self.batches.front_mut()?;
        while let Some(section) = oldest.sections.last() {
            if !has_ended(section) {
                return None;
            }
            oldest.sections.pop();
        }
        self.batches.pop_front().map(|batch| batch.retired)
    }
}

impl<M: Memory> Drop for Freeing<'_, M> {
    fn drop(&mut self) {
        let Self { local, batches } = self;
        local.with_list(|list| {
            // The list's own is empty, and has no memory.
            mem::swap(&mut list.batches, batches);
            list.is_freeing = false;
        });
    }
}

impl Retired {
    fn free(self) {
        // SAFETY: promised to `Guard::retire`, and the grace period is over.
        unsafe { (self.free)(self.memory) };
    }
}

impl<M: Threads> Drop for Collector<M> {
    fn drop(&mut self) {
        for (thread, local) in self.locals.snapshot() {
            // A lost thread may have been changing its list: leak that.
            if !M::is_lost(thread as usize) {
                let RetireList { retired, batches, .. } = local.with_list(mem::take);
                let batches = batches.into_iter().flat_map(|batch| batch.retired);
                batches.chain(retired).for_each(Retired::free);
            }
        }
    }
}

/// The calling thread reads while it has this.
pub struct Guard<'g, M: Threads> {
    collector: &'g Collector<M>,
    local: &'g Local<M>,
    /// The word is the calling thread's.
    not_send: PhantomData<*mut ()>,
}

// SAFETY: what is retired during its life is not freed before its end.
unsafe impl<M: Threads> KeepsReadable for Guard<'_, M> {}

impl<M: Threads> Guard<'_, M> {
    /// Calls `free` with `memory` after a grace period, or when the collector goes.
    ///
    /// # Safety
    ///
    /// Any thread may call `free`. Threads that begin a read section from now on do not find the memory.
    pub unsafe fn retire(&self, memory: *mut (), free: unsafe fn(*mut ())) {
        if self.local.add(Retired { memory, free }) >= self.collector.batch {
            // Relaxed: this thread's own.
            let word = self.local.word.load(Ordering::Relaxed);
            // Release: as in `enter`.
            self.local.word.store(word | DUE, Ordering::Release);
        }
    }

    /// If the guard is nested, or there is more to do.
    #[cold]
    #[inline(never)]
    fn leave_slowly(collector: &Collector<M>, local: &Local<M>, word: u64) {
        if word & DEPTH > 1 {
            // Release: as in `enter`.
            local.word.store(word - 1, Ordering::Release);
            return;
        }
        let next = (word - 1).wrapping_add(SECTION) & !(DUE | BORROWED);
        // Release: as in `drop`.
        local.word.store(next, Ordering::Release);
        if word & DUE != 0 {
            collector.collect(local);
        }
        if word & BORROWED != 0 {
            // SAFETY: borrowed by `enter`, for this section.
            unsafe { M::return_number(local.number as usize) };
        }
    }
}

impl<M: Threads> Drop for Guard<'_, M> {
    #[inline(always)]
    fn drop(&mut self) {
        // Relaxed: this thread's own.
        let word = self.local.word.load(Ordering::Relaxed);
        if word & (SECTION - 1) == 1 {
            // Release: pairs with the Acquire in `collect` and `has_ended`: reads come before the freeing.
            self.local.word.store((word - 1).wrapping_add(SECTION), Ordering::Release);
        } else {
            Self::leave_slowly(self.collector, self.local, word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    type Counter = <Native as Memory>::AtomicU32;

    fn enter(collector: &Collector<Native>) -> Guard<'_, Native> {
        // SAFETY: the guards of these tests end with them.
        unsafe { collector.enter() }
    }

    fn word(collector: &Collector<Native>) -> &<Native as Memory>::AtomicU64 {
        let number = Native::thread().expect("the thread of a test has a number");
        &collector.local(number).word
    }

    unsafe fn free(freed: *mut ()) {
        // SAFETY: the tests retire only counters, which outlive the grace periods.
        unsafe { &*freed.cast::<Counter>() }.fetch_add(1, Ordering::Relaxed);
    }

    fn retire(guard: &Guard<'_, Native>, freed: &Counter) {
        // SAFETY: `free` only counts, and may do so on any thread.
        unsafe { guard.retire((&raw const *freed).cast_mut().cast(), free) };
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long")]
    fn a_guard_too_many_is_refused_and_nothing_has_changed() {
        let freed = Counter::new(0);
        let collector = Collector::new(1);
        let guards = Vec::from_iter((0..DEPTH).map(|_| enter(&collector)));
        let before = word(&collector).load(Ordering::Relaxed);
        for _ in 0..2 {
            assert!(catch_unwind(AssertUnwindSafe(|| drop(enter(&collector)))).is_err());
            assert_eq!(word(&collector).load(Ordering::Relaxed), before);
        }
        std::thread::scope(|scope| {
            let retire = || retire(&enter(&collector), &freed);
            scope.spawn(retire).join().unwrap();
            assert_eq!(freed.load(Ordering::Relaxed), 0, "freed although a thread reads");
            drop(guards);
            scope.spawn(retire).join().unwrap();
        });
        drop(enter(&collector));
        drop(collector);
        assert_eq!(freed.load(Ordering::Relaxed), 2);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long")]
    fn guards_that_are_forgotten_do_not_let_the_word_overflow() {
        // First, as the last to go: it outlives what is freed with `collector`.
        let freed = Counter::new(0);
        let collector = Collector::new(1);
        (0..DEPTH).for_each(|_| core::mem::forget(enter(&collector)));
        assert!(catch_unwind(AssertUnwindSafe(|| drop(enter(&collector)))).is_err());
        std::thread::scope(|scope| {
            scope.spawn(|| retire(&enter(&collector), &freed)).join().unwrap();
        });
        assert_eq!(freed.load(Ordering::Relaxed), 0, "freed although a thread reads for ever");
    }

    #[test]
    fn what_is_retired_waits_for_the_outermost_guard_of_each_reader_and_no_longer() {
        let freed = Counter::new(0);
        let collector = Collector::new(1);
        let freed_now = || freed.load(Ordering::Relaxed);
        let turn = std::sync::Barrier::new(2);
        let (mut reading, mut done) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let outer = enter(&collector);
                turn.wait();
                turn.wait();
                drop(enter(&collector));
                turn.wait();
                turn.wait();
                drop(outer);
                turn.wait();
            });
            turn.wait();
            retire(&enter(&collector), &freed);
            turn.wait();
            // The reader's nested guard comes and goes.
            turn.wait();
            retire(&enter(&collector), &freed);
            reading = freed_now();
            turn.wait();
            turn.wait();
            retire(&enter(&collector), &freed);
            done = freed_now();
        });
        assert_eq!(reading, 0, "freed although a thread reads");
        assert_eq!(done, 3, "kept although no thread reads");
    }

    #[test]
    fn the_count_of_sections_wraps_around() {
        const LAST: u64 = !(SECTION - 1);
        let freed = Counter::new(0);
        let collector = Collector::new(1);
        word(&collector).store(LAST, Ordering::Relaxed);
        drop(enter(&collector));
        assert_eq!(word(&collector).load(Ordering::Relaxed), 0);
        word(&collector).store(LAST, Ordering::Relaxed);
        retire(&enter(&collector), &freed);
        assert_eq!(
            (word(&collector).load(Ordering::Relaxed), freed.load(Ordering::Relaxed)),
            (0, 1)
        );
    }
}
