//! [`Cached`]: a value that all threads read and that is sometimes replaced.
//!
//! For configurations, routing tables, schemas, keys, feature flags: what every request reads, and an administrator or
//! a background task replaces as a whole.
//!
//! ```
//! use tenure::lazy::Cached;
//!
//! let limits = Cached::new(vec![100, 200]);
//!
//! let worker = {
//!     let mut limits = limits.reader(); // one for each thread: the fastest way to read
//!     std::thread::spawn(move || limits.read()[0])
//! };
//! assert_eq!(limits.read()[1], 200); // without a reader: finds the thread's place by itself
//!
//! limits.store(vec![300]); // the old value is dropped now, unless somebody is reading it
//! assert_eq!(*limits.read(), [300]);
//! # worker.join().unwrap();
//! ```
//!
//! In a static it needs a `LazyLock`: `static LIMITS: LazyLock<Cached<Limits>> = LazyLock::new(|| ...)`.
//!
//! # What it costs
//!
//! On Linux with the feature `std`:
//!
//! | | atomic read-modify-writes | what else |
//! |---|---|---|
//! | [`Reader::read`] and drop of its guard | none | four loads and two stores. Only the shared pointer's cache line is shared, and nobody writes that until the value is replaced |
//! | [`Cached::read`] and drop of its guard | none | the same, after the thread's number and its place were looked up |
//! | the first read of a new value by each thread | one, on the thread's own cache line | |
//! | [`Cached::read`] while the thread has a guard of the same `Cached` | about six | memory for the guard |
//! | [`Cached::store`] | about twenty | two looks at every reader, and a barrier that interrupts the CPUs which run this process |
//!
//! Elsewhere, and where the system refuses `membarrier`, each read has two full fences: it costs about as much as a
//! reference count that nobody else uses, and still scales as no shared count does. Without `std` threads have no numbers,
//! and [`Cached::read`] always takes the slow way: use a [`Reader`].
//!
//! Every reader, and every thread that has read without one, has a place of a cache line or two. Places are used again
//! by later readers, and stay until the last handle is gone.
//!
//! # What a read sees
//!
//! The value that was current at some moment during the call: never one whose replacement had returned before the read
//! began. A guard keeps its value, whatever is stored meanwhile. Each read may see a newer value than the one before
//! it, and never an older one.
//!
//! # When a replaced value is dropped
//!
//! - If nobody reads it and nobody has a [`Context`] of it: by the [`store`](Cached::store) that replaced it, before
//!   that returns; or, if another thread is in `store` at that moment, by that one.
//! - If somebody is reading it: by the last guard.
//! - If the destructor of another value of it is running on that thread: when that has returned (with `std`).
//!
//! A sleeping thread delays nothing, unless it holds a guard. A guard of [`Cached::read`] that is forgotten keeps its value
//! for ever.
//!
//! # Compared with others
//!
//! `arc_swap::ArcSwap::load` needs no handle, as [`Cached::read`]; its writers do not wait for readers either.
//! `arc_swap::Cache` is a handle, as [`Reader`], but it *owns* what it read last: a thread that goes to sleep keeps an old
//! value alive until it reads again. A [`Reader`] keeps nothing alive between reads. An `RwLock` makes readers write a
//! shared word, and wait for writers. A [`Cached`] holds one sized type: put a `Box<dyn Trait>` into it where you need one.

mod guard;
mod reader;

use super::protocol::{Slot, destroy};
use super::seat::InUse;
use super::shootdown::{Ending, Object, Shootdown, Words};
use super::{Context, Domain, Statistics};
use crate::line::Isolated;
use crate::memory::{Native, Ordering, Pointer, Threads};
use crate::segments::{CAPACITY, Segments};
use crate::shared::Shared;
use alloc::boxed::Box;
use core::fmt;
use core::ptr::{self, NonNull};

pub use guard::CachedGuard;
pub use reader::{ReadGuard, Reader};

type Block<T, M> = Object<T, M, false>;
type ThreadSlot<T, M> = Slot<T, Shootdown, M>;

/// A value that all threads read, with plain loads and stores, and that can be replaced: see the [module](self).
///
/// Cloning gives another handle to the same value. Readers keep it alive, too. To be shared between threads it asks for
/// `T: Send + Sync`. (`M` is for tests on other machines.)
///
/// Invariant in `T`, as a `Mutex` is, since values are put in through a shared reference:
///
/// ```compile_fail
/// # use tenure::lazy::Cached;
/// fn shorter<'c, 'a>(cached: &'c Cached<&'static str>) -> &'c Cached<&'a str> { cached } // error: may not live long enough
/// ```
///
/// Not for signal handlers: one that reads while the thread it interrupts does would share that thread's place.
pub struct Cached<T, M: Threads = Native> {
    shared: Shared<Published<T, M>, M>,
}

/// What handles and readers share.
struct Published<T, M: Threads> {
    /// The value. Never null; owns a strong reference.
    current: Isolated<M::Pointer<Block<T, M>>>,
    domain: Domain<T, Shootdown, M>,
    /// The slot of each thread that has read without a reader, by its number. Null before.
    threads: Segments<M::Pointer<ThreadSlot<T, M>>, M>,
}

impl<T> Cached<T> {
    /// Puts `value` on the heap, to be read and replaced.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self::new_in(value)
    }
}

impl<T, M: Threads> Cached<T, M> {
    /// [`new`](Cached::new) on any machine, for tests.
    #[must_use]
    pub fn new_in(value: T) -> Self {
        let domain = Domain::new_in();
        let first = published(&domain, value);
        let current = Isolated::new(Pointer::new(first.into_raw().as_ptr()));
        Self { shared: Shared::new(Published { current, domain, threads: Segments::new() }) }
    }

    /// Reads the value.
    ///
    /// The guard stays on its thread: copy what you need before an `.await`, or use a [`Reader`], which is faster too. If
    /// this thread has a guard of this `Cached` already, the second one costs about twenty times as much.
    #[inline(always)]
    pub fn read(&self) -> CachedGuard<'_, T, M> {
        let published = &*self.shared;
        match M::thread().and_then(|thread| published.slot_of(thread)) {
            // SAFETY: the slot is the calling thread's as long as it has the number. No guard uses it, not even of a
            // thread that had the number before. Guards stay on the thread, see to it if they outlive its number, and
            // borrow what keeps the domain, which keeps the slot.
            Some(slot) => CachedGuard::new(unsafe { published.protect(&slot.scheme) }, None),
            None => self.read_elsewhere(),
        }
    }

    #[cold]
    fn read_elsewhere(&self) -> CachedGuard<'_, T, M> {
        let published = &*self.shared;
        let thread = M::thread().and_then(|thread| u32::try_from(thread).ok());
        if let Some(slot) = thread.and_then(|thread| published.first_slot_of(thread)) {
            // SAFETY: as in `read`.
            return CachedGuard::new(unsafe { published.protect(&slot.scheme) }, None);
        }
        let seat = Box::new(published.domain.seat());
        // SAFETY: the seat is new, and the guard lets go of it last.
        let in_use = unsafe { published.protect(seat.slot()) };
        CachedGuard::new(in_use, Some(seat))
    }

    /// A handle for one thread at a time, which reads fastest.
    #[must_use]
    pub fn reader(&self) -> Reader<T, M> {
        Reader::new(self.shared.clone())
    }

    /// Replaces the value, and drops the old one: [when](self#when-a-replaced-value-is-dropped).
    pub fn store(&self, value: T) {
        drop(self.replace(value));
    }

    /// Replaces the value, and returns a strong handle to the old one.
    ///
    /// ```
    /// use tenure::lazy::Cached;
    ///
    /// let cached = Cached::new(1);
    /// let old = cached.replace(2);
    /// assert_eq!((*old, *cached.read()), (1, 2));
    /// ```
    #[must_use = "`store` drops the old value"]
    pub fn replace(&self, value: T) -> Context<T, Shootdown, M> {
        let new = published(&self.shared.domain, value).into_raw();
        // Relaxed, here and on failure: compared only.
        let mut old = self.shared.current.load(Ordering::Relaxed);
        let replaced = loop {
            match self.exchange(old, new) {
                // Not `old`, which may have been another block at the same address.
                Ok(replaced) => break replaced,
                Err(found) => old = found,
            }
        };
        // SAFETY: whoever replaces a pointer owns its reference; never null.
        unsafe { Context::from_pointer(replaced) }
    }

    /// Replaces the value by what `update` makes of it.
    ///
    /// Where somebody else replaces it meanwhile `update` is called again, with the newer value.
    ///
    /// ```
    /// use tenure::lazy::Cached;
    ///
    /// let cached = Cached::new(vec![1]);
    /// cached.update(|old| [&old[..], &[2]].concat());
    /// assert_eq!(*cached.read(), [1, 2]);
    /// ```
    pub fn update(&self, mut update: impl FnMut(&T) -> T) {
        let mut reader = self.reader();
        loop {
            let old = reader.read();
            let new = published(&self.shared.domain, update(&old)).into_raw();
            // The guard keeps the old block, so no other one is at its address.
            match self.exchange(old.block().as_ptr(), new) {
                Ok(replaced) => {
                    // In this order: the end of the old value need not donate to this thread's own guard.
                    drop(old);
                    // SAFETY: whoever replaces a pointer owns its reference; never null.
                    drop(unsafe { Context::from_pointer(replaced) });
                    return;
                }
                Err(_) => {
                    self.shared.domain.core().counters.ended.add(1);
                    // SAFETY: it was not stored, so nobody has seen it, and its one reference is here.
                    unsafe { destroy(new) };
                }
            }
        }
    }

    fn exchange(
        &self,
        old: *mut Block<T, M>,
        new: NonNull<Block<T, M>>,
    ) -> Result<*mut Block<T, M>, *mut Block<T, M>> {
        // Release: pairs with the Acquire in `protect`: the new block is initialised.
        // Acquire: the same of the old one, whose handle is returned.
        self.shared.current.compare_exchange(old, new.as_ptr(), Ordering::AcqRel, Ordering::Relaxed)
    }

    /// A strong handle to the value: to keep it for long, or to send it elsewhere. An atomic add on its count.
    #[must_use]
    pub fn context(&self) -> Context<T, Shootdown, M> {
        loop {
            // `None`: replaced since it was read, and the last handle is gone.
            if let Some(context) = CachedGuard::upgrade(&self.read()) {
                return context;
            }
        }
    }

    /// What has happened so far; seats are readers and threads that have read without one.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.shared.domain.statistics()
    }
}

fn published<T, M: Threads>(
    domain: &Domain<T, Shootdown, M>,
    value: T,
) -> Context<T, Shootdown, M> {
    domain.context_with(Ending::published(), value)
}

impl<T, M: Threads> Published<T, M> {
    /// The slot of the calling thread, unless it is in use or there is none yet.
    #[inline(always)]
    fn slot_of(&self, thread: usize) -> Option<&ThreadSlot<T, M>> {
        // Relaxed: stored by this thread, or by one that had its number before.
        let slot = self.threads.get(thread as u32)?.load(Ordering::Relaxed);
        // SAFETY: null, or a slot of the domain, which keeps it.
        let slot = unsafe { slot.as_ref() }?;
        (!slot.scheme.is_active()).then_some(slot)
    }

    /// A slot for the calling thread, unless it has one.
    fn first_slot_of(&self, thread: u32) -> Option<&ThreadSlot<T, M>> {
        if thread >= CAPACITY {
            return None;
        }
        let place = self.threads.get_or_grow(thread, |_| Pointer::new(ptr::null_mut()));
        // Relaxed, here and below: as in `slot_of`.
        if !place.load(Ordering::Relaxed).is_null() {
            return None;
        }
        let (_, slot) = self.domain.core().take();
        place.store((&raw const *slot).cast_mut(), Ordering::Relaxed);
        Some(slot)
    }

    /// Uses the value that is current.
    ///
    /// # Safety
    ///
    /// The caller owns the slot, of the domain, and does not use it otherwise for `'s`, for which the domain stays.
    #[inline(always)]
    unsafe fn protect<'s>(&self, slot: &Words<T, M, false>) -> InUse<'s, T, Shootdown, M> {
        // SAFETY: the caller's; `current` and its blocks are as `Words::protect` wants them: see `exchange`.
        let block = unsafe { slot.protect(&self.current) };
        // SAFETY: the caller's.
        unsafe { InUse::new(slot, block) }
    }
}

impl<T, M: Threads> Drop for Published<T, M> {
    fn drop(&mut self) {
        // Relaxed: who stored it had a handle, and has given that back before this, the last one.
        let last = self.current.load(Ordering::Relaxed);
        // SAFETY: the pointer's reference, and nobody goes by the pointer any more; never null. A guard that was forgotten
        // is as any other to who ends the block.
        drop(unsafe { Context::from_pointer(last) });
    }
}

impl<T, M: Threads> Clone for Cached<T, M> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<T: Default> Default for Cached<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for Cached<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: fmt::Debug, M: Threads> fmt::Debug for Cached<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cached").field(&*self.read()).finish()
    }
}
