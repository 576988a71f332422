//! The open connections, for `stats conns`.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tenure::memory::{Atomic, Ordering};
use tenure::sync::Arc;

use super::AtomicU32;
use super::clock::Seconds;

/// What others may know of a connection.
pub(super) struct Known {
    /// Counts from 1; no two connections share one.
    pub(super) number: u64,
    /// The unspecified address where the client has none.
    pub(super) from: IpAddr,
    /// When it was last heard of.
    heard: AtomicU32,
}

impl Known {
    pub(super) fn heard(&self) -> Seconds {
        // Relaxed: a statistic.
        self.heard.load(Ordering::Relaxed)
    }

    /// Writes only what is not so yet.
    #[inline]
    pub(super) fn hear(&self, now: Seconds) {
        if self.heard() != now {
            // Relaxed: as above.
            self.heard.store(now, Ordering::Relaxed);
        }
    }
}

/// All open connections.
#[derive(Default)]
pub(super) struct Connections(Mutex<All>);

#[derive(Default)]
struct All {
    last: u64,
    open: BTreeMap<u64, Arc<Known>>,
}

impl Connections {
    fn lock(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection begins.
    pub(super) fn join(&self, from: IpAddr, now: Seconds) -> Arc<Known> {
        let mut all = self.lock();
        all.last += 1;
        let known = Arc::new(Known { number: all.last, from, heard: Atomic::new(now) });
        all.open.insert(known.number, known.clone());
        known
    }

    /// A connection ends.
    pub(super) fn leave(&self, known: &Known) {
        self.lock().open.remove(&known.number);
    }

    /// Those that are open, in the order in which they began.
    pub(super) fn list(&self) -> Vec<Arc<Known>> {
        self.lock().open.values().cloned().collect()
    }
}
