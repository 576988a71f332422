//! [`Machine`]: what a registry needs of a machine besides memory and threads.

use super::collector::Collector;
#[cfg(feature = "raw")]
use crate::count::IncNotZero;
use crate::count::{RcuRef, RefCount, TicketRef};
use crate::line::Isolated;
use crate::memory::{Atomic, Memory, Native, Ordering, Pointer, Threads, forks};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread_local;

/// A count that a [`Registry`](super::Registry) can keep its references with: on the line of its object or [on a line
/// of its own](Isolated).
#[cfg_attr(not(feature = "raw"), doc(hidden))]
pub trait RegistryCount: RefCount + 'static {
    /// For users always the real machine.
    #[doc(hidden)]
    type Machine: Machine;
}

impl<M: Machine> RegistryCount for TicketRef<M> {
    type Machine = M;
}

impl<M: Machine> RegistryCount for RcuRef<M> {
    type Machine = M;
}

#[cfg(feature = "raw")]
impl<M: Machine> RegistryCount for IncNotZero<M> {
    type Machine = M;
}

impl<C: RegistryCount> RegistryCount for Isolated<C> {
    type Machine = C::Machine;
}

/// A machine that registries run on.
///
/// # Safety
///
/// [`puts`](Self::puts) always returns the same collector.
pub unsafe trait Machine: Threads {
    /// Keeps two creations of one object apart.
    type Lock: Lock;
    /// How many entries a thread removes before it looks for readers.
    const BATCH: usize;

    /// The grace periods for puts of counts that [need them](RefCount::NEEDS_GRACE_PERIOD), in all registries: a
    /// registry's own may be gone before the put returns.
    fn puts() -> &'static Collector<Self>;
}

/// A lock of a [`Machine`].
///
/// # Safety
///
/// It has one holder at a time: two creations of one object would write one value.
pub unsafe trait Lock: Send + Sync {
    /// Holds the lock until it is dropped, also by a panic.
    type Held<'l>
    where
        Self: 'l;

    /// A free lock.
    fn new() -> Self;

    /// Waits for the lock. What earlier holders did happens before the return.
    ///
    /// # Panics
    ///
    /// May panic if the calling thread already holds the lock.
    fn lock(&self) -> Self::Held<'_>;

    /// Whether the holder may have been lost in a fork, so that the lock will never be free.
    fn is_lost(&self) -> bool;
}

/// Static, so that a fork during its first use leaves the child nothing to wait for.
static PUTS: Collector<Native> = Collector::native(Native::BATCH);

// SAFETY: a static.
unsafe impl Machine for Native {
    type Lock = CreateLock;
    const BATCH: usize = 64;

    fn puts() -> &'static Collector<Self> {
        &PUTS
    }
}

/// A mutex that detects re-entry by its holder, and a holder that was lost in a fork.
pub struct CreateLock {
    mutex: Mutex<()>,
    /// [`this_thread`] of the holder, or null.
    holder: <Native as Memory>::Pointer<()>,
    /// The holder's thread number plus one, or [`NONE`].
    thread: <Native as Memory>::AtomicU32,
    /// [`forks`] when the lock was made or last released: a thread lost before that is not the holder.
    forks: <Native as Memory>::AtomicU32,
}

pub struct Held<'l> {
    lock: &'l CreateLock,
    _mutex: MutexGuard<'l, ()>,
}

const NONE: u32 = 0;

/// An address that no other live thread has.
fn this_thread() -> *mut () {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| (&raw const *here).cast_mut().cast())
}

// SAFETY: a mutex.
unsafe impl Lock for CreateLock {
    type Held<'l> = Held<'l>;

    fn new() -> Self {
        Self {
            mutex: Mutex::new(()),
            holder: Pointer::new(core::ptr::null_mut()),
            thread: Atomic::new(NONE),
            forks: Atomic::new(forks()),
        }
    }

    fn lock(&self) -> Held<'_> {
        // Relaxed: a thread finds its own address only if it stored that and has not cleared it since.
        if self.holder.load(Ordering::Relaxed) == this_thread() {
            panic!(
                "`create` acquires the key that it creates the object of, and would wait for itself: \
                 acquire another key, or pass in what it needs"
            );
        }
        // A `create` that panicked left nothing behind, so poison means nothing.
        let mutex = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        // Relaxed: as above.
        self.holder.store(this_thread(), Ordering::Relaxed);
        let number = Native::thread().map_or(NONE, |number| number as u32 + 1);
        // Relaxed: read across a fork.
        self.thread.store(number, Ordering::Relaxed);
        Held { lock: self, _mutex: mutex }
    }

    fn is_lost(&self) -> bool {
        // Before `forks`. Acquire: pairs with the Release in the drop of `Held`: if a thread of this process has
        // released the lock, `forks` says so below. The number of a holder that forked was stored before this thread
        // began.
        let thread = self.thread.load(Ordering::Acquire);
        // Relaxed: as above.
        if self.forks.load(Ordering::Relaxed) == forks() {
            return false;
        }
        // The holder may live here, having forked inside `create`. Threads that waited for it come after its release.
        match thread {
            NONE => true,
            number => Native::is_lost(number as usize - 1),
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // This thread is not lost, so no later holder is before the next fork. Relaxed: published by the Release below.
        self.lock.forks.store(forks(), Ordering::Relaxed);
        // Release: pairs with the Acquire in `is_lost`.
        self.lock.thread.store(NONE, Ordering::Release);
        // Relaxed: as in `lock`.
        self.lock.holder.store(core::ptr::null_mut(), Ordering::Relaxed);
    }
}
