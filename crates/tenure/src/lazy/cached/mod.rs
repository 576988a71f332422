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
//! limits.store(vec![300]); // the old value is dropped before this returns, if nobody is reading it
//! assert_eq!(*limits.read(), [300]);
//! # worker.join().unwrap();
//! ```
//!
//! # What it costs
//!
//! | operation | loads | stores | atomic read-modify-writes |
//! |---|---|---|---|
//! | [`Reader::read`] and drop of the guard | the shared pointer, which nobody writes until it is replaced; the thread's own line | two, to the thread's own line | none |
//! | [`Cached::read`] and drop of the guard | also the thread's number and its place | as above | none |
//! | the first read of a new value by each thread | the same, twice | the same, and one more | one, on the thread's own line |
//! | [`Cached::read`] while the thread reads already | the same | the same, elsewhere | about five: it takes a seat for the guard |
//! | [`Cached::store`] | a pass over all readers | few | about six, and a heavy barrier |
//!
//! # What a read sees
//!
//! The value that was current at some moment during the call: never one whose replacement had returned before the read
//! began. A guard keeps its value, whatever is stored meanwhile. Each read may see a newer value than the one before
//! it, and never an older one.
//!
//! # When a replaced value is dropped
//!
//! If nobody reads it and nobody has a [`Context`] of it: by the [`store`](Cached::store) that replaced it, before
//! that returns, or by a thread that is ending another value of the same `Cached` at that moment, before *that* returns.
//! If somebody is reading it: by the last guard. Threads that do not run have no part in it, whatever they read last.
//!
//! # Compared with others
//!
//! `arc_swap::ArcSwap::load` needs no handle, as [`Cached::read`]; its writers wait for nobody either.
//! `arc_swap::Cache` is a handle, as [`Reader`], but it *owns* what it read last: a thread that goes to sleep keeps an old
//! value alive until it reads again. A [`Reader`] keeps nothing alive between reads. An `RwLock` makes readers write a
//! shared word, and wait for writers.

mod guard;
mod reader;

use super::domain::Slot;
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
/// A handle: clones are the same. Readers keep it alive, too.
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
    /// A shared value.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self::new_in(value)
    }
}

impl<T, M: Threads> Cached<T, M> {
    /// [`new`](Cached::new) on any machine.
    #[must_use]
    pub fn new_in(value: T) -> Self {
        let domain = Domain::new_in();
        let first = published(&domain, value);
        let current = Isolated::new(Pointer::new(first.into_raw().as_ptr()));
        Self { shared: Shared::new(Published { current, domain, threads: Segments::new() }) }
    }

    /// Reads the value.
    ///
    /// The guard stays on this thread. A few loads and two stores; [`Reader::read`] needs fewer. Where the thread
    /// has a guard of this `Cached` already, a seat is taken for the new one.
    #[inline(always)]
    #[must_use]
    pub fn read(&self) -> CachedGuard<'_, T, M> {
        let published = &*self.shared;
        match M::thread().and_then(|thread| published.slot_of(thread)) {
            // SAFETY: the slot is the calling thread's, and no guard of it is out; guards stay on the thread, and
            // borrow the domain, which keeps the slot.
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

    /// A handle for one thread, which reads fastest.
    #[must_use]
    pub fn reader(&self) -> Reader<T, M> {
        Reader::new(self.shared.clone())
    }

    /// Replaces the value, and drops the old one: [when](self#when-a-replaced-value-is-dropped).
    pub fn store(&self, value: T) {
        drop(self.replace(value));
    }

    /// Replaces the value, and returns a handle to the old one.
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
        while let Err(found) = self.exchange(old, new) {
            old = found;
        }
        // SAFETY: whoever replaces a pointer owns its reference; never null.
        unsafe { Context::from_pointer(old) }
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
                // SAFETY: it was not stored: the reference is here.
                Err(_) => drop(unsafe { Context::from_raw(new) }),
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
        // Acquire: pairs with the Release of whoever stored it.
        let last = self.current.load(Ordering::Acquire);
        // SAFETY: the pointer's reference, and nobody reads it any more; never null.
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
