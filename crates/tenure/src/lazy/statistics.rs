//! What a domain counts of itself: on slow paths only.

use crate::memory::{Atomic, Memory, Ordering};

/// What happened in a [`Domain`](super::Domain) so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Seats that are taken now. Threads that read a [`Cached`](super::Cached) without a reader count for one each,
    /// unless they came after one that had ended.
    pub seats: usize,
    /// Objects that have lost their last context.
    pub ended: u64,
    /// Heavy barriers that were passed to take them from seats: none for objects that no seat had, one for many that went
    /// together.
    pub barriers: u64,
    /// How often an idle seat lost such an object.
    pub revoked: u64,
    /// How often a seat was using such an object, and was given a counted reference to it.
    pub donated: u64,
}

/// The figures behind [`Statistics`].
pub(crate) struct Counters<M: Memory> {
    pub(crate) ended: Counter<M>,
    pub(crate) barriers: Counter<M>,
    pub(crate) revoked: Counter<M>,
    pub(crate) donated: Counter<M>,
}

pub(crate) struct Counter<M: Memory>(M::AtomicU64);

impl<M: Memory> Counter<M> {
    fn new() -> Self {
        Self(Atomic::new(0))
    }

    pub(crate) fn add(&self, n: u64) {
        if n > 0 {
            // Relaxed: a statistic.
            self.0.fetch_add(n, Ordering::Relaxed);
        }
    }

    fn read(&self) -> u64 {
        // Relaxed: a statistic.
        self.0.load(Ordering::Relaxed)
    }
}

impl<M: Memory> Counters<M> {
    pub(crate) fn new() -> Self {
        Self {
            ended: Counter::new(),
            barriers: Counter::new(),
            revoked: Counter::new(),
            donated: Counter::new(),
        }
    }

    pub(crate) fn read(&self, seats: usize) -> Statistics {
        Statistics {
            seats,
            ended: self.ended.read(),
            barriers: self.barriers.read(),
            revoked: self.revoked.read(),
            donated: self.donated.read(),
        }
    }
}
