//! A connection without its socket, for mio and tokio.

use std::io::{self, IoSlice};
use std::net::IpAddr;

use tenure::count::TicketRef;
use tenure::line::Isolated;
use tenure_serve::buffers::{Buffer, Buffers};
use tenure_serve::handler::{Handler, Next, Output};
use tenure_serve::memcached::{Cache, Chunk, Config, Memcached, Session};

const SLICES: usize = 64;

type Peer = Isolated<TicketRef>;

pub(crate) fn cache() -> Cache<TicketRef, Peer> {
    Cache::new(&Config::default())
}

pub(crate) type Protocol = Memcached<TicketRef, Peer>;

pub(crate) struct Connection {
    session: Option<Session<TicketRef, Peer>>,
    pub(crate) input: Buffer,
    output: Output<Chunk<TicketRef>>,
    next: Next,
}

impl Connection {
    pub(crate) fn open(
        protocol: &mut Protocol,
        from: IpAddr,
        buffers: &Buffers,
    ) -> io::Result<Self> {
        let (send, receive) = buffers.acquire_pair().map_err(io::Error::other)?;
        let session = protocol.open(from);
        Ok(Self { session, input: receive, output: Output::new(send), next: Next::Input })
    }

    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.input.is_empty() {
            self.input.clear();
        } else if self.input.spare() == 0 {
            self.input.compact();
        }
        self.input.spare_mut()
    }

    /// Answers the input by `send`. An error means that the connection waits for room, or has ended.
    pub(crate) fn answer(
        &mut self,
        protocol: &mut Protocol,
        mut send: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<()> {
        let session = self.session.as_mut().ok_or(io::ErrorKind::ConnectionRefused)?;
        loop {
            while !self.output.is_empty() {
                let mut slices = [IoSlice::new(&[]); SLICES];
                let sent = send(self.output.fill(&mut slices))?;
                self.output.advance(sent);
            }
            match self.next {
                Next::Input if self.input.is_empty() => return Ok(()),
                Next::End | Next::Refuse(_) | Next::Linger => {
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
                Next::Input | Next::Room | Next::Turn => {}
            }
            let progress = protocol.handle(session, &self.input, &mut self.output);
            self.input.consume(progress.consumed);
            self.next = progress.next;
            if self.next == Next::Input && self.output.is_empty() {
                return Ok(());
            }
        }
    }

    pub(crate) fn close(&mut self, protocol: &mut Protocol) {
        if let Some(session) = self.session.take() {
            protocol.close(session);
        }
    }
}
