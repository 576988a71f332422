//! [`Inbox`]: how others reach a worker that waits for events.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::event::EventfdFlags;

/// A connection on its way to the worker that will have it.
pub(super) type Arrival = (OwnedFd, IpAddr);

/// Where connections are handed over, and what wakes a worker.
pub(super) struct Inbox {
    bell: OwnedFd,
    arrivals: Mutex<Vec<Arrival>>,
}

impl Inbox {
    pub(super) fn new() -> io::Result<Self> {
        let bell = rustix::event::eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self { bell, arrivals: Mutex::default() })
    }

    /// Wakes the worker.
    pub(super) fn ring(&self) {
        // It fails where the bell has rung 2^64 - 2 times unheard: it is awake then.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Hands a connection over.
    pub(super) fn push(&self, arrival: Arrival) {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner).push(arrival);
        self.ring();
    }

    /// What was handed over since the last time.
    pub(super) fn take(&self) -> Vec<Arrival> {
        // The bell first: who pushes after that rings again.
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        std::mem::take(&mut *self.arrivals.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl AsFd for Inbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
