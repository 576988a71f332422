use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use hdrhistogram::Histogram;
use rustix::event::EventfdFlags;
use tenure::line::Isolated;
use tenure::memory::{Atomic, Memory, Native, Ordering};

use super::Settings;
use super::counters::{Counters, Statistics};
use crate::buffers::Buffers;
use crate::lock::Lock;
use crate::relaxed::Relaxed;

type Arrival = (OwnedFd, IpAddr);

/// Where connections are handed over, and what wakes a waiting worker.
pub(super) struct Inbox {
    bell: OwnedFd,
    /// `None` once its worker has ended.
    arrivals: Lock<Option<Vec<Arrival>>>,
}

impl Inbox {
    fn new() -> io::Result<Self> {
        let bell = rustix::event::eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self { bell, arrivals: Lock::new(Some(Vec::new())) })
    }

    fn ring(&self) {
        // Fails only after 2^64 - 2 unheard rings: the worker is awake then.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Hands over a connection, which comes back if the worker has ended.
    pub(super) fn push(&self, arrival: Arrival) -> Result<(), Arrival> {
        match &mut *self.arrivals.lock() {
            Some(arrivals) => arrivals.push(arrival),
            None => return Err(arrival),
        }
        self.ring();
        Ok(())
    }

    /// Ends it, unless something has arrived since the last [`take`](Self::take).
    pub(super) fn close(&self) -> bool {
        let mut arrivals = self.arrivals.lock();
        let is_empty = arrivals.as_ref().is_none_or(Vec::is_empty);
        if is_empty {
            *arrivals = None;
        }
        is_empty
    }

    /// Since the last call.
    pub(super) fn take(&self) -> Vec<Arrival> {
        // The bell first: a push after this rings again.
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        self.arrivals.lock().as_mut().map(std::mem::take).unwrap_or_default()
    }
}

impl AsFd for Inbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

/// What the workers of a server share.
pub struct Shared {
    pub(super) settings: Settings,
    pub(super) buffers: Buffers,
    pub(super) inboxes: Vec<Inbox>,
    pub(super) counters: Vec<Isolated<Counters>>,
    /// Nanoseconds, by worker.
    pub(super) acquires: Vec<Lock<Histogram<u64>>>,
    stopping: <Native as Memory>::AtomicU32,
    /// Clients refused for what they do.
    pub(super) refused: Relaxed<u64>,
}

impl Shared {
    pub(super) fn new(settings: Settings) -> io::Result<Self> {
        let buffers = Buffers::new(settings.pool, settings.buffer)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))?;
        let threads = settings.threads;
        Ok(Self {
            inboxes: (0..threads).map(|_| Inbox::new()).collect::<io::Result<_>>()?,
            counters: (0..threads).map(|_| Isolated::default()).collect(),
            acquires: (0..threads).map(|_| Lock::new(acquires())).collect(),
            stopping: Atomic::new(0),
            refused: Relaxed::default(),
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

    /// Nanoseconds that acquires of a connection's buffers took, if the [settings](Settings::time_acquires) ask for it.
    #[must_use]
    pub fn acquires(&self) -> Histogram<u64> {
        self.acquires.iter().fold(acquires(), |mut all, one| {
            all.add(&*one.lock()).expect("the same bounds");
            all
        })
    }

    /// The settings that the server started with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn stop(&self) {
        // Release: pairs with the Acquire in `is_stopping`. The worker sees what happened before the stop.
        self.stopping.store(1, Ordering::Release);
        self.inboxes.iter().for_each(Inbox::ring);
    }

    pub(super) fn is_stopping(&self) -> bool {
        // Acquire: see `stop`.
        self.stopping.load(Ordering::Acquire) == 1
    }
}

/// From a nanosecond to ten seconds.
fn acquires() -> Histogram<u64> {
    let mut acquires = Histogram::new_with_bounds(1, 10_000_000_000, 3).expect("sound bounds");
    acquires.auto(true);
    acquires
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_in_the_inbox_of_a_worker_that_ends() {
        let inbox = Inbox::new().unwrap();
        let arrival = || (Inbox::new().unwrap().bell, IpAddr::from([127, 0, 0, 1]));
        inbox.push(arrival()).unwrap();
        assert!(!inbox.close(), "a connection waits in it");
        assert_eq!(inbox.take().len(), 1);
        assert!(inbox.close());
        assert!(inbox.push(arrival()).is_err());
        assert!(inbox.take().is_empty() && inbox.close());
    }
}
