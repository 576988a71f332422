//! Which accesses to contended lines a thread times, and what it has begun to time.

use core::cell::Cell;

/// One in so many accesses to contended lines is timed, on average. At random, or a loop would have the same one timed
/// each time.
pub(super) const TIMED_EVERY: u32 = 16;

/// Of one thread.
pub(super) struct Times {
    /// Accesses to contended lines until one is timed, and what the number of the next is drawn from.
    until_timed: Cell<u32>,
    random: Cell<u32>,
    /// The processor time when a compare-exchange failed; 0 if none did, or its time is not taken.
    failed: Cell<u64>,
    /// When the last access that was timed ended; 0 if the thread has used a contended line since, or has waited.
    timed_until: Cell<u64>,
}

impl Times {
    pub(super) fn new(seed: u32) -> Self {
        Self {
            until_timed: Cell::new(0),
            random: Cell::new(seed),
            failed: Cell::new(0),
            timed_until: Cell::new(0),
        }
    }

    /// Whether the next access to a contended line is to be timed: one in [`TIMED_EVERY`].
    #[inline(always)]
    pub(super) fn is_due(&self) -> bool {
        let left = self.until_timed.get();
        self.until_timed.set(left.wrapping_sub(1));
        left == 0 && self.draw()
    }

    #[cold]
    fn draw(&self) -> bool {
        // Numerical Recipes' generator: its upper bits are good.
        let random = self.random.get().wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.random.set(random);
        self.until_timed.set((random >> 16) % (2 * TIMED_EVERY - 1));
        true
    }

    /// Whether a compare-exchange has failed, and the time since then is taken.
    #[inline(always)]
    pub(super) fn has_failed(&self) -> bool {
        self.failed.get() != 0
    }

    pub(super) fn set_failed(&self, processor_time: u64) {
        self.failed.set(processor_time);
    }

    pub(super) fn take_failed(&self) -> u64 {
        self.failed.replace(0)
    }

    /// When the last access that was timed ended, if nothing has come between.
    #[inline(always)]
    pub(super) fn timed_until(&self) -> u64 {
        self.timed_until.get()
    }

    pub(super) fn set_timed_until(&self, time: u64) {
        self.timed_until.set(time);
    }
}
