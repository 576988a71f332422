//! [`Stats`], and the counters behind them.

use crate::memory::{Atomic, Memory, Ordering};

/// What happened in a [`Registry`](super::Registry) so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Objects that were created.
    pub created: u64,
    /// Objects that lost their last reference.
    pub destroyed: u64,
    /// Calls of `create` that returned an error or panicked, and futures that did so or were dropped.
    pub failed: u64,
    /// Acquires that found an object in creation by another thread, and waited for it.
    pub waited: u64,
    /// Acquires that found an object which had just lost its last reference, and made room for the next.
    pub met_dead: u64,
}

/// Written when objects come and go, never by a lookup.
pub(super) struct Counters<M: Memory> {
    pub(super) created: M::AtomicU64,
    pub(super) destroyed: M::AtomicU64,
    pub(super) failed: M::AtomicU64,
    pub(super) waited: M::AtomicU64,
    pub(super) met_dead: M::AtomicU64,
}

impl<M: Memory> Counters<M> {
    pub(super) fn new() -> Self {
        let [created, destroyed, failed, waited, met_dead] = [(); 5].map(|()| Atomic::new(0));
        Self { created, destroyed, failed, waited, met_dead }
    }

    /// Objects that were created and not destroyed, at most.
    pub(super) fn live(&self) -> u64 {
        // Acquire: pairs with the Release in `Entry::leave_map`.
        let destroyed = self.destroyed.load(Ordering::Acquire);
        // Relaxed: after the load above.
        self.created.load(Ordering::Relaxed) - destroyed
    }

    pub(super) fn read(&self) -> Stats {
        // Relaxed: statistics.
        let read = |counter: &M::AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            created: read(&self.created),
            destroyed: read(&self.destroyed),
            failed: read(&self.failed),
            waited: read(&self.waited),
            met_dead: read(&self.met_dead),
        }
    }
}
