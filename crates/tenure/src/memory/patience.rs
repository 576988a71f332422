//! [`Patience`]: how to wait for a few instructions of another thread.

use super::Threads;

/// What a loop does while it waits for a few instructions of another thread.
///
/// That thread is nearly always running, and done at once. If it was preempted, a loop that only spins would keep the
/// processor from it.
pub(crate) struct Patience {
    spins: u32,
}

/// Some microseconds, at the 40 to 140 cycles of a spin hint on x86-64.
const SPINS: u32 = 64;

impl Patience {
    pub(crate) fn new() -> Self {
        Self { spins: SPINS }
    }

    /// Once around the loop.
    pub(crate) fn wait<M: Threads>(&mut self) {
        match self.spins.checked_sub(1) {
            Some(left) => {
                self.spins = left;
                M::spin_hint();
            }
            None => M::yield_now(),
        }
    }
}
