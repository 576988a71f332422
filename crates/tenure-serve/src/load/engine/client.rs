//! A client: one connection at a time, and what is under way on it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::sockopt::set_tcp_nodelay;
use rustix::net::{
    AddressFamily, SendFlags, SocketFlags, SocketType, connect, ipproto, send, socket_with,
};

use super::Job;
use super::protocol::{Protocol, Verdict};
use super::tally::Tally;
use crate::load::outcome::ErrorKind;

#[derive(Debug, Clone, Copy)]
pub(super) struct Flight<A> {
    /// When sent, or due, from the start of the run.
    pub(super) start_ns: u64,
    pub(super) ask: A,
}

pub(super) struct Client<P: Protocol> {
    pub(super) socket: Option<OwnedFd>,
    /// The oldest first.
    pub(super) flights: VecDeque<Flight<P::Ask>>,
    /// The state of the oldest one's answer.
    pub(super) scan: P::Scan,
    unsent: Vec<u8>,
    /// When bytes last moved while requests were under way.
    pub(super) active_ns: u64,
    /// Whether this connection received bytes.
    pub(super) answered: bool,
    /// Whether it is in the list of clients with room for a request: open loops only.
    pub(super) is_listed: bool,
}

impl<P: Protocol> Client<P> {
    pub(super) fn new(depth: usize) -> Self {
        Self {
            socket: None,
            flights: VecDeque::with_capacity(depth),
            scan: P::Scan::default(),
            unsent: Vec::new(),
            active_ns: 0,
            answered: false,
            is_listed: false,
        }
    }

    pub(super) fn connected(
        &mut self,
        epoll: &OwnedFd,
        index: usize,
        socket: OwnedFd,
    ) -> Result<(), Errno> {
        epoll::add(epoll, &socket, EventData::new_u64(index as u64), EventFlags::IN)?;
        self.socket = Some(socket);
        Ok(())
    }

    pub(super) fn disconnect(&mut self) {
        // Its last descriptor: epoll forgets it too.
        self.socket = None;
        self.flights.clear();
        self.unsent.clear();
        self.scan = P::Scan::default();
        self.answered = false;
    }

    pub(super) fn is_stuck(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Sends `bytes`, or keeps them until [`flush`](Self::flush).
    #[inline]
    pub(super) fn send(
        &mut self,
        epoll: &OwnedFd,
        index: usize,
        bytes: &[u8],
    ) -> Result<(), Errno> {
        let Some(socket) = &self.socket else { return Ok(()) };
        if self.unsent.is_empty() {
            let sent = send_some(socket, bytes)?;
            if sent < bytes.len() {
                self.unsent.extend_from_slice(&bytes[sent..]);
                let flags = EventFlags::IN | EventFlags::OUT;
                epoll::modify(epoll, socket, EventData::new_u64(index as u64), flags)?;
            }
        } else {
            self.unsent.extend_from_slice(bytes);
        }
        Ok(())
    }

    pub(super) fn flush(&mut self, epoll: &OwnedFd, index: usize) -> Result<(), Errno> {
        let Some(socket) = &self.socket else { return Ok(()) };
        let sent = send_some(socket, &self.unsent)?;
        self.unsent.drain(..sent);
        if self.unsent.is_empty() {
            epoll::modify(epoll, socket, EventData::new_u64(index as u64), EventFlags::IN)?;
        }
        Ok(())
    }
}

/// Bytes that the socket took: none before it is connected.
fn send_some(socket: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    match send(socket, bytes, SendFlags::NOSIGNAL) {
        Err(Errno::AGAIN | Errno::NOTCONN) => Ok(0),
        result => result,
    }
}

/// Over loopback the connection is complete on return, so the caller may write at once; elsewhere that write takes no
/// bytes yet.
pub(super) fn open(target: &SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if target.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    set_tcp_nodelay(&socket, true)?;
    match connect(&socket, target) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}

pub(super) enum After {
    Go,
    /// It has ended as it should.
    Closed,
    /// It has ended early.
    Lost(ErrorKind, String),
}

/// A broken answer loses the connection.
#[inline]
pub(super) fn count(
    job: &Job,
    tally: &mut Tally,
    kind: usize,
    verdict: Verdict,
    start_ns: u64,
    now_ns: u64,
) -> Result<(), After> {
    let hit = match verdict {
        Verdict::Done => true,
        Verdict::Miss => false,
        Verdict::Refused(said) => {
            tally.fail(ErrorKind::Refused, said);
            return Ok(());
        }
        Verdict::Wrong(said) => {
            tally.fail(ErrorKind::Wrong, said);
            return Ok(());
        }
        Verdict::Broken(said) => return Err(After::Lost(ErrorKind::Wrong, said)),
    };
    // With a number of requests those asked in time count, otherwise those answered in time.
    let decides_ns = if job.quota.is_some() { start_ns } else { now_ns };
    if decides_ns >= job.from_ns && now_ns < job.until_ns {
        let at_ns = now_ns - job.from_ns;
        tally.record(kind, hit, now_ns.saturating_sub(start_ns), at_ns);
        tally.last_ns = now_ns;
    }
    Ok(())
}

/// Before any byte arrived, there was no connection.
pub(super) fn lost(answered: bool, error: Errno) -> After {
    let kind = match error {
        Errno::CONNREFUSED | Errno::TIMEDOUT | Errno::HOSTUNREACH | Errno::NETUNREACH
            if !answered =>
        {
            ErrorKind::Connect
        }
        _ => ErrorKind::Reset,
    };
    After::Lost(kind, said(error))
}

pub(super) fn said(error: Errno) -> String {
    std::io::Error::from(error).to_string()
}
