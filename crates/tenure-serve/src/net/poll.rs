//! epoll, and what its events mean.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

const EVENTS: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interest {
    /// A connection to accept. The system wakes one of the workers that wait for the same socket.
    Accept,
    Read,
    Write,
}

impl Interest {
    fn flags(self) -> EventFlags {
        match self {
            Self::Accept => EventFlags::IN | EventFlags::EXCLUSIVE,
            Self::Read => EventFlags::IN,
            Self::Write => EventFlags::OUT,
        }
    }
}

pub(super) struct Poll {
    epoll: OwnedFd,
    events: Vec<Event>,
}

impl Poll {
    pub(super) fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let none = Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        Ok(Self { epoll, events: vec![none; EVENTS] })
    }

    pub(super) fn add(&self, file: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, file, EventData::new_u64(token), interest.flags())?)
    }

    pub(super) fn change(&self, file: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, file, EventData::new_u64(token), interest.flags())?)
    }

    pub(super) fn remove(&self, file: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, file)?)
    }

    /// Returns how many events there are.
    pub(super) fn wait(&mut self, timeout: Duration) -> io::Result<usize> {
        let timeout = Timespec::try_from(timeout).ok();
        match epoll::wait(&self.epoll, &mut self.events[..], timeout.as_ref()) {
            Ok(count) => Ok(count),
            Err(rustix::io::Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn token(&self, at: usize) -> u64 {
        self.events[at].data.u64()
    }
}
