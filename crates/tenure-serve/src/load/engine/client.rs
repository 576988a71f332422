//! A client: one connection at a time, and what is under way on it.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::protocol::Protocol;

/// A request that has no answer yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flight<A> {
    /// When it was sent, or should have been, in nanoseconds from the start of the run.
    pub(super) start_ns: u64,
    /// What was asked.
    pub(super) ask: A,
}

/// One client of a thread.
pub(super) struct Client<P: Protocol> {
    /// The connection, if there is one.
    pub(super) socket: Option<OwnedFd>,
    /// What was asked and not answered, the oldest first.
    pub(super) flights: VecDeque<Flight<P::Ask>>,
    /// How far into the answer to the oldest.
    pub(super) scan: P::Scan,
    /// What the socket had no room for.
    unsent: Vec<u8>,
    /// Something came or went at that time, while anything was under way.
    pub(super) active_ns: u64,
    /// Something came on this connection.
    pub(super) answered: bool,
    /// It is in the list of clients that have room for a request, which only an open loop has.
    pub(super) is_listed: bool,
}

impl<P: Protocol> Client<P> {
    /// Without a connection yet.
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

    /// Takes a connection, and has `epoll` tell what comes.
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

    /// Ends the connection, and forgets what was under way on it.
    pub(super) fn disconnect(&mut self) {
        // Its last descriptor: epoll forgets it too.
        self.socket = None;
        self.flights.clear();
        self.unsent.clear();
        self.scan = P::Scan::default();
        self.answered = false;
    }

    /// Whether bytes wait for room in the socket.
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

    /// The socket has room: sends what waits for it.
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

/// How many bytes the socket took. One that is not connected yet takes none.
fn send_some(socket: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    match send(socket, bytes, SendFlags::NOSIGNAL) {
        Err(Errno::AGAIN | Errno::NOTCONN) => Ok(0),
        result => result,
    }
}
