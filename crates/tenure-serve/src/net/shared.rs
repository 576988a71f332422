//! [`Shared`]: what the workers of a server share.

use std::io;
use std::sync::{Mutex, PoisonError};

use hdrhistogram::Histogram;
use tenure::line::Isolated;
use tenure::memory::{Atomic, Memory, Native, Ordering};

use super::Settings;
use super::counters::{Counters, Statistics};
use super::inbox::Inbox;
use crate::buffers::Buffers;

/// What the workers of a server share.
pub struct Shared {
    pub(super) settings: Settings,
    pub(super) buffers: Buffers,
    pub(super) inboxes: Vec<Inbox>,
    pub(super) counters: Vec<Isolated<Counters>>,
    /// How long acquires of a connection's buffers took, in nanoseconds, by worker.
    pub(super) acquires: Vec<Mutex<Histogram<u64>>>,
    stopping: <Native as Memory>::AtomicU32,
    /// Whether a client was refused for what it does.
    refused: <Native as Memory>::AtomicU32,
}

impl Shared {
    pub(super) fn new(settings: Settings) -> io::Result<Self> {
        let buffers = Buffers::new(settings.pool, settings.buffer)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))?;
        let threads = settings.threads;
        Ok(Self {
            inboxes: (0..threads).map(|_| Inbox::new()).collect::<io::Result<_>>()?,
            counters: (0..threads).map(|_| Isolated::default()).collect(),
            acquires: (0..threads).map(|_| Mutex::new(acquires())).collect(),
            stopping: Atomic::new(0),
            refused: Atomic::new(0),
            buffers,
            settings,
        })
    }

    /// What happened so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        Statistics::of(&self.counters, self.buffers.statistics().total)
    }

    /// Connections that each worker has now.
    #[must_use]
    pub fn open_by_worker(&self) -> Vec<u64> {
        self.counters.iter().map(|worker| worker.open.get()).collect()
    }

    /// How long acquires of a connection's buffers took so far, in nanoseconds. Empty unless the
    /// [settings](Settings::time_acquires) ask for it.
    ///
    /// # Panics
    ///
    /// Never: the histograms of all workers have the same bounds.
    #[must_use]
    pub fn acquires(&self) -> Histogram<u64> {
        self.acquires.iter().fold(acquires(), |mut all, one| {
            let one = one.lock().unwrap_or_else(PoisonError::into_inner);
            all.add(&*one).expect("the same bounds");
            all
        })
    }

    /// What the server was told when it started.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Tells the workers to stop.
    pub(crate) fn stop(&self) {
        // Release: pairs with the Acquire in `is_stopping`. What comes before is seen by whoever stops.
        self.stopping.store(1, Ordering::Release);
        self.inboxes.iter().for_each(Inbox::ring);
    }

    /// Whether this is the first refusal, which it is once.
    pub(super) fn is_first_refusal(&self) -> bool {
        // Relaxed: nothing is published through it.
        self.refused.swap(1, Ordering::Relaxed) == 0
    }

    pub(super) fn is_stopping(&self) -> bool {
        // Acquire: see `stop`.
        self.stopping.load(Ordering::Acquire) == 1
    }
}

/// A histogram from a nanosecond to ten seconds.
fn acquires() -> Histogram<u64> {
    let mut acquires = Histogram::new_with_bounds(1, 10_000_000_000, 3).expect("sound bounds");
    acquires.auto(true);
    acquires
}
