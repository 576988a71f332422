//! What a domain counts, on slow paths only.

use crate::memory::{Atomic, Memory, Ordering};

/// What has happened in a [`Domain`](super::Domain) or an [`RcuCell`](crate::rcu::RcuCell) so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Local handles that exist now. A thread that reads an [`RcuCell`](crate::rcu::RcuCell) without a reader has one too,
    /// which the next thread takes over when it ends.
    pub local_handles: usize,
    /// Objects that have lost their last strong handle.
    pub retired: u64,
    /// Heavy barriers: none for an object that no handle had, one for many that were retired together.
    pub barriers: u64,
    /// How often an idle handle lost its object.
    pub revoked: u64,
    /// How often a handle that was using its object got a counted reference to it.
    pub donated: u64,
}

pub(super) struct Counters<M: Memory> {
    pub(super) retired: Counter<M>,
    pub(super) barriers: Counter<M>,
    pub(super) revoked: Counter<M>,
    pub(super) donated: Counter<M>,
}

pub(super) struct Counter<M: Memory>(M::AtomicU64);

impl<M: Memory> Counter<M> {
    fn new() -> Self {
        Self(Atomic::new(0))
    }

    pub(super) fn add(&self, n: u64) {
        if n > 0 {
            // Relaxed, here and below: a statistic.
            self.0.fetch_add(n, Ordering::Relaxed);
        }
    }

    fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl<M: Memory> Counters<M> {
    pub(super) fn new() -> Self {
        let [retired, barriers, revoked, donated] = [(); 4].map(|()| Counter::new());
        Self { retired, barriers, revoked, donated }
    }

    pub(super) fn read(&self, local_handles: usize) -> Stats {
        Stats {
            local_handles,
            retired: self.retired.read(),
            barriers: self.barriers.read(),
            revoked: self.revoked.read(),
            donated: self.donated.read(),
        }
    }
}
