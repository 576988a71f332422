//! The real machine, on which a thread can be stopped in the middle of its next heavy barrier.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Barrier, Mutex, PoisonError, Weak};
use std::thread;
use tenure::memory::{Memory, Native, PlainCell, Resident, Threads};

pub(crate) enum Stopping {}

static IN_BARRIER: Barrier = Barrier::new(2);
static GOES_ON: Barrier = Barrier::new(2);

thread_local! {
    static STOPS: Cell<bool> = const { Cell::new(false) };
}

pub(crate) fn stop_in_the_next_barrier() {
    STOPS.set(true);
}

/// Runs `other` in a thread, and `test` while that has stopped in a barrier. One test at a time.
pub(crate) fn while_another_is_in_a_barrier<T: Send>(
    other: impl FnOnce() -> T + Send,
    test: impl FnOnce(),
) -> T {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    thread::scope(|scope| {
        let other = scope.spawn(other);
        IN_BARRIER.wait();
        let tested = catch_unwind(AssertUnwindSafe(test));
        GOES_ON.wait();
        // By hand: a scope does not wait for thread-locals.
        let result = other.join().unwrap();
        tested.unwrap_or_else(|panic| resume_unwind(panic));
        result
    })
}

// SAFETY: the real machine's words and barriers, one of which may take longer.
unsafe impl Memory for Stopping {
    type AtomicU32 = <Native as Memory>::AtomicU32;
    type AtomicU64 = <Native as Memory>::AtomicU64;
    type Pointer<T> = <Native as Memory>::Pointer<T>;
    type Plain<T> = PlainCell<T>;

    fn light_barrier() {
        Native::light_barrier();
    }
    fn heavy_barrier() {
        if STOPS.take() {
            IN_BARRIER.wait();
            GOES_ON.wait();
        }
        Native::heavy_barrier();
    }
    fn spin_hint() {}
}

// SAFETY: the real machine's threads.
unsafe impl Threads for Stopping {
    fn thread() -> Option<usize> {
        Native::thread()
    }
    fn is_lost(thread: usize) -> bool {
        Native::is_lost(thread)
    }
    fn forks() -> u32 {
        Native::forks()
    }
    fn borrow_number() -> Option<usize> {
        Native::borrow_number()
    }
    unsafe fn return_number(thread: usize) {
        // SAFETY: the caller's.
        unsafe { Native::return_number(thread) };
    }
    fn yield_now() {
        Native::yield_now();
    }
    fn at_exit(resident: Weak<dyn Resident>) {
        Native::at_exit(resident);
    }
}
