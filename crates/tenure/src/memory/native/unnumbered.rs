//! Threads without `std`: there are no thread-locals, so none has a number.

use super::super::{Resident, Threads};
use super::Native;
use alloc::sync::Weak;

// SAFETY: no thread has a number.
unsafe impl Threads for Native {
    fn thread() -> Option<usize> {
        None
    }

    fn is_lost(_thread: usize) -> bool {
        false
    }

    fn yield_now() {
        core::hint::spin_loop();
    }

    // Nothing is kept under a number.
    fn at_exit(_resident: Weak<dyn Resident>) {}
}
