//! What a domain counts of itself: on slow paths only.

use crate::memory::{Atomic, Memory, Ordering};

/// What happened in a [`Domain`](super::Domain) so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Seats that are taken now.
    pub seats: usize,
    /// Objects whose last strong handle is gone.
    pub ended: u64,
    /// Heavy barriers that were passed for them: none for objects that no seat had, one for many that went together.
    pub barriers: u64,
    /// Seats that kept an object of those, idle, and lost it.
    pub revoked: u64,
    /// Seats that were using one, and were given a counted reference to go on.
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
