//! What a registry counts of itself: when objects come and go, and never when they are found.

use crate::memory::{Atomic, Memory, Ordering};

/// What happened in a [`Registry`](super::Registry) so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Objects that were created.
    pub created: u64,
    /// Objects that lost their last reference.
    pub destroyed: u64,
    /// Calls of `create` that returned an error or panicked.
    pub failed: u64,
    /// Acquires that found an object which another one was about to create, and waited for that.
    pub waited: u64,
    /// Acquires that found an object which had just lost its last reference, and made room for the next.
    pub met_dying: u64,
}

/// The figures behind [`Statistics`].
pub(super) struct Counters<M: Memory> {
    created: M::AtomicU64,
    destroyed: M::AtomicU64,
    failed: M::AtomicU64,
    waited: M::AtomicU64,
    met_dying: M::AtomicU64,
}

impl<M: Memory> Counters<M> {
    pub(super) fn new() -> Self {
        Self {
            created: Atomic::new(0),
            destroyed: Atomic::new(0),
            failed: Atomic::new(0),
            waited: Atomic::new(0),
            met_dying: Atomic::new(0),
        }
    }

    pub(super) fn created(&self) {
        // Relaxed: what makes it be seen before the object's destruction is the put of a reference.
        self.created.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn destroyed(&self) {
        // Release: pairs with the Acquire in `live`, so that an object which counts as destroyed also counts as
        // created.
        self.destroyed.fetch_add(1, Ordering::Release);
    }

    pub(super) fn failed(&self) {
        // Relaxed: a statistic.
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn waited(&self) {
        // Relaxed: a statistic.
        self.waited.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn met_dying(&self) {
        // Relaxed: a statistic.
        self.met_dying.fetch_add(1, Ordering::Relaxed);
    }

    /// Objects that were created and not destroyed, at most.
    pub(super) fn live(&self) -> u64 {
        // Acquire: pairs with the Release in `destroyed`.
        let destroyed = self.destroyed.load(Ordering::Acquire);
        // Relaxed: at least as late as the load above.
        self.created.load(Ordering::Relaxed) - destroyed
    }

    pub(super) fn read(&self) -> Statistics {
        // Relaxed: statistics.
        Statistics {
            created: self.created.load(Ordering::Relaxed),
            destroyed: self.destroyed.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            waited: self.waited.load(Ordering::Relaxed),
            met_dying: self.met_dying.load(Ordering::Relaxed),
        }
    }
}
