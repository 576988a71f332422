//! [`Machine`]: what a registry needs of a machine besides memory and threads.

use super::collector::Collector;
use crate::cache_line::CachePadded;
use crate::count::RefCount;
use crate::count::generic::{IncNotZero, RcuRef, TicketRef};
use crate::memory::{Atomic, Memory, Native, Ordering, Pointer, Threads, forks};
use alloc::sync::Arc;
use core::cell::Cell;
use core::future::Future;
use core::mem;
use core::pin::Pin;
use core::ptr;
use core::task::{Context, Poll, Waker};
use std::sync::{Condvar, Mutex, PoisonError};
use std::task::Wake;
use std::thread_local;

/// A count that a [`Registry`](super::Registry) can keep its references with: on the line of its object or [on a line
/// of its own](CachePadded).
#[doc(hidden)]
pub trait RegistryCount: RefCount + 'static {
    /// The machine that it runs on: for users always the real one.
    #[doc(hidden)]
    type Machine: Machine;
}

impl<M: Machine> RegistryCount for TicketRef<M> {
    type Machine = M;
}

impl<M: Machine> RegistryCount for RcuRef<M> {
    type Machine = M;
}

impl<M: Machine> RegistryCount for IncNotZero<M> {
    type Machine = M;
}

impl<C: RegistryCount> RegistryCount for CachePadded<C> {
    type Machine = C::Machine;
}

/// A machine that registries run on.
///
/// # Safety
///
/// [`puts`](Self::puts) always returns the same collector.
pub unsafe trait Machine: Threads {
    /// Who creates an object.
    type Creator: Creator;
    /// How many entries a thread removes before it looks for readers.
    const BATCH: usize;

    /// The grace periods for puts of counts that [need them](RefCount::NEEDS_GRACE_PERIOD), in all registries: a
    /// registry's own may be gone before the put returns.
    fn puts() -> &'static Collector<Self>;

    /// Runs a future on the calling thread, which sleeps until it is woken.
    fn block_on<F: Future + Unpin>(future: F) -> F::Output;

    /// How many calls of the calling thread are ending a lingering object to make room for another.
    fn makes_room<R>(access: impl FnOnce(&Cell<u32>) -> R) -> R;
}

/// Who creates an entry's value, if any does.
pub trait Creator: Send + Sync {
    /// No one does.
    fn new() -> Self;

    /// Called by a thread that has seen that no one creates: the next creator is of this process.
    fn forget_lost(&self);

    /// The calling thread does from now on, or a task that it runs.
    fn begin(&self, is_thread: bool);

    /// Called by the thread that began, or one that runs the same task.
    fn end(&self);

    /// Whether the calling thread does, itself.
    fn is_this_thread(&self) -> bool;

    /// Whether it may have been lost in a fork, so that it will never end.
    fn is_lost(&self) -> bool;
}

/// Static, so that a fork during its first use leaves the child nothing to wait for.
static PUTS: Collector<Native> = Collector::native(Native::BATCH);

// SAFETY: a static.
unsafe impl Machine for Native {
    type Creator = ThreadOrTask;
    const BATCH: usize = 64;

    fn puts() -> &'static Collector<Self> {
        &PUTS
    }

    fn block_on<F: Future + Unpin>(mut future: F) -> F::Output {
        let sleeper = Arc::new(Sleeper::new());
        let waker = Waker::from(Arc::clone(&sleeper));
        loop {
            match Pin::new(&mut future).poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(output) => return output,
                Poll::Pending => sleeper.sleep(),
            }
        }
    }

    fn makes_room<R>(access: impl FnOnce(&Cell<u32>) -> R) -> R {
        thread_local!(static MAKES_ROOM: Cell<u32> = const { Cell::new(0) });
        MAKES_ROOM.with(access)
    }
}

/// A thread that waits for another one. Not `park`, which needs a thread-local.
struct Sleeper {
    is_woken: Mutex<bool>,
    woken: Condvar,
    /// [`forks`] at the beginning.
    forks: u32,
}

impl Sleeper {
    fn new() -> Self {
        Self { is_woken: Mutex::new(false), woken: Condvar::new(), forks: forks() }
    }

    fn sleep(&self) {
        let is_woken = self.is_woken.lock().unwrap_or_else(PoisonError::into_inner);
        let woken = self.woken.wait_while(is_woken, |is_woken| !mem::take(is_woken));
        drop(woken.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        // A thread that slept when this process was forked is lost, perhaps with the lock.
        if self.forks == forks() {
            *self.is_woken.lock().unwrap_or_else(PoisonError::into_inner) = true;
            self.woken.notify_one();
        }
    }
}

/// Detects re-entry by a thread that creates, and one that was lost in a fork.
pub struct ThreadOrTask {
    /// [`this_thread`], or null.
    address: <Native as Memory>::Pointer<()>,
    /// The thread's number plus one, or [`NONE`]. A task has none: a fork leaves the threads behind that run it.
    thread: <Native as Memory>::AtomicU32,
    /// [`forks`] when this was made or last ended, or was last seen to have ended: a thread lost before that is not the
    /// creator.
    forks: <Native as Memory>::AtomicU32,
}

const NONE: u32 = 0;

/// An address that no other live thread has.
fn this_thread() -> *mut () {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| (&raw const *here).cast_mut().cast())
}

impl Creator for ThreadOrTask {
    fn new() -> Self {
        Self {
            address: Pointer::new(ptr::null_mut()),
            thread: Atomic::new(NONE),
            forks: Atomic::new(forks()),
        }
    }

    fn forget_lost(&self) {
        // Relaxed: published by the exchange that takes the turn. Others may store the same.
        self.forks.store(forks(), Ordering::Relaxed);
    }

    fn begin(&self, is_thread: bool) {
        if is_thread {
            // Relaxed, both: compared with this thread's own, and read across a fork.
            self.address.store(this_thread(), Ordering::Relaxed);
            let number = Native::thread().map_or(NONE, |number| number as u32 + 1);
            self.thread.store(number, Ordering::Relaxed);
        }
    }

    fn end(&self) {
        // This thread is not lost, so no later creator is before the next fork. Relaxed: published by the Release below.
        self.forks.store(forks(), Ordering::Relaxed);
        // Release: pairs with the Acquire in `is_lost`.
        self.thread.store(NONE, Ordering::Release);
        // Relaxed: as in `begin`.
        self.address.store(ptr::null_mut(), Ordering::Relaxed);
    }

    fn is_this_thread(&self) -> bool {
        // Relaxed: a thread finds its own address only if it stored that and has not cleared it since.
        self.address.load(Ordering::Relaxed) == this_thread()
    }

    fn is_lost(&self) -> bool {
        // Before `forks`. Acquire: pairs with the Release in `end`: if a thread of this process has created, `forks`
        // says so below. The number of a creator that forked was stored before this thread began.
        let thread = self.thread.load(Ordering::Acquire);
        // Relaxed: as above.
        if self.forks.load(Ordering::Relaxed) == forks() {
            return false;
        }
        // The creator may live here, having forked inside `create`. Threads that waited for it come after its end.
        match thread {
            NONE => true,
            number => Native::is_lost(number as usize - 1),
        }
    }
}

#[cfg(all(test, unix, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn a_wake_in_a_child_does_not_wait_for_a_sleeper_of_the_parent() {
        let sleeper = Arc::new(Sleeper::new());
        let waker = Waker::from(Arc::clone(&sleeper));
        // A sleeper that is about to sleep holds the lock.
        let held = sleeper.is_woken.lock().unwrap();
        // SAFETY: the child has this thread alone, which wakes the sleeper and ends.
        let process = unsafe { libc::fork() };
        assert!(process >= 0, "no process to be had");
        if process == 0 {
            // SAFETY: sets a timer, which ends a child that waits.
            unsafe { libc::alarm(20) };
            let wake = std::panic::AssertUnwindSafe(|| waker.wake());
            let failed = std::panic::catch_unwind(wake).is_err();
            // SAFETY: ends the child.
            unsafe { libc::_exit(failed.into()) };
        }
        let mut status = 0;
        // SAFETY: `status` is a place for the status of this thread's child.
        assert_eq!(unsafe { libc::waitpid(process, &raw mut status, 0) }, process);
        assert_eq!(status, 0, "the child waits for the lock");
        drop(held);
    }
}
