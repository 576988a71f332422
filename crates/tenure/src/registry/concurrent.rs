//! [`Concurrent`]: the real ground. A lock-free map, std's mutex, grace periods.
//!
//! Each map has grace periods of its own, so that what waits for them goes with the map. Guards for puts cannot be of the
//! map: the put may be the end of the caller's claim to that, which may be gone before the put is over. They are of one
//! [`Grace`] that the process has for it, in which nothing waits unless the count
//! [asks for it](crate::count::RefCount::NEEDS_GRACE_PERIOD).

use super::grace::{Grace, Inside};
use super::ground::{Element, Ground, Lock};
use super::map::{Link, LockFree, REMOVALS};
use crate::count::ReadSide;
use crate::memory::{Atomic, Memory, Native, Ordering, Pointer, Threads, forks};
use core::hash::BuildHasher;
use core::marker::PhantomData;
use core::ptr::NonNull;
use std::hash::RandomState;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread_local;

/// The ground of every registry that does not say otherwise: lock-free lookups on the real machine.
///
/// `S` makes the hashes of keys, as in [`std::collections::HashMap`].
#[derive(Debug)]
pub struct Concurrent<S = RandomState>(PhantomData<S>);

/// Made when the program is built: a fork during its first use leaves the child nothing to wait for.
static PUTS: Grace<Native, REMOVALS> = Grace::native();

// SAFETY: see each.
unsafe impl<S: BuildHasher + Send + Sync + 'static> Ground for Concurrent<S> {
    type Memory = Native;
    type Lock = CreateLock;
    type Guard = Inside<'static, Native, REMOVALS>;
    type Hasher = S;
    type Link = Link<Native>;
    type Map<E: Element<Link = Link<Native>>> = LockFree<E, S>;

    unsafe fn enter() -> Inside<'static, Native, REMOVALS> {
        // SAFETY: the caller's.
        unsafe { PUTS.enter() }
    }

    unsafe fn defer_free<E: Element>(element: NonNull<E>) {
        /// # Safety
        ///
        /// As [`Element::free`].
        unsafe fn free<E: Element>(element: *mut ()) {
            // SAFETY: it was a `NonNull`.
            let element = unsafe { NonNull::new_unchecked(element.cast::<E>()) };
            // SAFETY: the caller's.
            unsafe { E::free(element) };
        }
        // SAFETY: dropped below, before this returns.
        let guard = unsafe { PUTS.enter() };
        // SAFETY: nobody comes to the element any more who has not a guard already. It may be freed on any thread.
        unsafe { guard.retire(element.as_ptr().cast(), free::<E>) };
    }

    fn map<E: Element<Link = Link<Native>>>(hasher: S) -> LockFree<E, S> {
        LockFree::new(hasher)
    }

    fn link(hash: u64) -> Link<Native> {
        Link::new(hash)
    }
}

// SAFETY: what is retired while it exists is not freed before it is gone.
unsafe impl<M: Threads, const BATCH: usize> ReadSide for Inside<'_, M, BATCH> {}

/// A mutex that knows when its holder comes again, and when a fork has left its holder behind.
pub struct CreateLock {
    mutex: Mutex<()>,
    /// What [`this_thread`] says in the holder's thread; null where nobody has it.
    holder: <Native as Memory>::Pointer<()>,
    /// The number of the holder's thread, and one; [`NOBODY`] also where that has no number.
    thread: <Native as Memory>::AtomicU32,
    /// How many forks there had been when the lock was made, or was last given back: no thread that was lost before has it.
    forks: <Native as Memory>::AtomicU32,
}

/// Has [`CreateLock`] until it is dropped.
pub struct Held<'l> {
    lock: &'l CreateLock,
    _mutex: MutexGuard<'l, ()>,
}

/// An address that no other thread has at this time.
fn this_thread() -> *mut () {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| (&raw const *here).cast_mut().cast())
}

const NOBODY: u32 = 0;

// SAFETY: a mutex.
unsafe impl Lock for CreateLock {
    type Held<'l> = Held<'l>;

    fn new() -> Self {
        Self {
            mutex: Mutex::new(()),
            holder: Pointer::new(core::ptr::null_mut()),
            thread: Atomic::new(NOBODY),
            forks: Atomic::new(forks()),
        }
    }

    fn lock(&self) -> Held<'_> {
        // Relaxed: a thread finds its own name here if it has stored that itself and not taken it away since.
        if self.holder.load(Ordering::Relaxed) == this_thread() {
            panic!(
                "`create` acquires the key that it creates the object of, and would wait for itself: \
                 acquire another key, or hand over what it needs"
            );
        }
        // A `create` that panicked leaves nothing behind.
        let mutex = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        // Relaxed: as above.
        self.holder.store(this_thread(), Ordering::Relaxed);
        let number = Native::thread().map_or(NOBODY, |number| number as u32 + 1);
        // Relaxed: read across a fork.
        self.thread.store(number, Ordering::Relaxed);
        Held { lock: self, _mutex: mutex }
    }

    fn is_lost(&self) -> bool {
        // Before `forks`, and Acquire: pairs with the Release in the drop of `Held`. If a thread of this process has given
        // the lock back, `forks` says so below. The number of one that forked was stored before this thread began.
        let thread = self.thread.load(Ordering::Acquire);
        // Relaxed: as above.
        if self.forks.load(Ordering::Relaxed) == forks() {
            return false;
        }
        // The mutex does not say whether it is held by a thread of this process. That is so for one that forked in the
        // middle of a `create`. Those that waited for it come after it has given the lock back.
        match thread {
            NOBODY => true,
            number => Native::is_lost(number as usize - 1),
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // This thread is not lost, so the holders to come are not lost either, until the next fork. Relaxed: published below.
        self.lock.forks.store(forks(), Ordering::Relaxed);
        // Release: pairs with the Acquire in `is_lost`.
        self.lock.thread.store(NOBODY, Ordering::Release);
        // Relaxed: as in `lock`.
        self.lock.holder.store(core::ptr::null_mut(), Ordering::Relaxed);
    }
}
