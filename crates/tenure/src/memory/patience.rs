//! [`Patience`]: how to wait for a few instructions of another thread.

use super::Threads;

/// Waits for a few instructions of another thread, which is nearly always running. If it was preempted, a loop that
/// only spins would keep the processor from it, so this yields after a while.
pub(crate) struct Patience {
    spins: u32,
}

/// Some microseconds, at the 40 to 140 cycles of a spin hint on x86-64.
const SPINS: u32 = 64;

impl Patience {
    pub(crate) fn new() -> Self {
        Self { spins: SPINS }
    }

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
