//! The real machine, on which a thread can be stopped in the middle of its next heavy barrier.

use std::cell::Cell;
use std::sync::{Barrier, Weak};
use tenure::memory::{Memory, Native, PlainCell, Resident, Threads};

pub(crate) enum Stopping {}

static IN_BARRIER: Barrier = Barrier::new(2);
static GOES_ON: Barrier = Barrier::new(2);

thread_local! {
    static STOPS: Cell<bool> = const { Cell::new(false) };
}

/// Until [`let_it_go_on`].
pub(crate) fn stop_in_the_next_barrier() {
    STOPS.set(true);
}

pub(crate) fn wait_until_it_stops() {
    IN_BARRIER.wait();
}

pub(crate) fn let_it_go_on() {
    GOES_ON.wait();
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
