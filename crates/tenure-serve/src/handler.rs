//! What a protocol is to the event loop: a [`Handler`] for each thread, which turns bytes into an [`Output`].
//!
//! It knows no sockets and never waits, so the event loop, tests that cut requests at every byte, a fuzzer and the
//! benchmark without the kernel feed the same one.
//!
//! ```text
//!  socket ──recv──▶ input ──▶ Handler::handle ──▶ Output ──sendmsg──▶ socket
//!                                                  ├── bytes: in the send buffer
//!                                                  └── chunks: counted objects, sent from where they are
//! ```

use std::collections::VecDeque;
use std::io::IoSlice;
use std::net::IpAddr;
use std::time::Instant;

use crate::buffers::Buffer;

/// A protocol, on one thread of a server.
pub trait Handler {
    /// The state of a connection.
    type Session;
    /// A counted object whose bytes are sent without a copy.
    type Chunk: AsRef<[u8]>;

    /// Whether a connection has its own buffers from a request's first byte to its answer's last, or only while many
    /// bytes wait in them. An idle one has none.
    const KEEPS_BUFFERS: bool;

    /// A connection from that address; `None` closes it at once.
    fn open(&mut self, from: IpAddr) -> Option<Self::Session>;

    /// Takes requests from the front of `input`, and puts answers into `output`.
    ///
    /// Returns when a request is incomplete, of which it may consume a part, when the output [is
    /// full](Output::is_full), or when the connection is to end. With `input` as full as buffers get
    /// ([`Settings::buffer`](crate::net::Settings)) it consumes something, asks for the end, or has filled the output.
    fn handle(
        &mut self,
        session: &mut Self::Session,
        input: &[u8],
        output: &mut Output<Self::Chunk>,
    ) -> Progress;

    /// Whether the input taken so far ends with a request. A server that stops closes such connections.
    fn is_idle(&self, _session: &Self::Session) -> bool {
        true
    }

    /// Whether any connection may have unrequested output.
    fn pushes(&self) -> bool {
        false
    }

    /// Whether that connection has unrequested output. Then [`handle`](Self::handle) is called, maybe without input.
    fn has_news(&self, _session: &Self::Session) -> bool {
        false
    }

    /// The connection has ended, in any state.
    fn close(&mut self, session: Self::Session);

    /// Called before each round of events, and about once a second without any.
    fn tick(&mut self, _now: Instant) {}
}

/// How far a handler came.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the input done with.
    pub consumed: usize,
    /// What the handler waits for.
    pub next: Next,
}

/// What a handler waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// More input.
    Input,
    /// Room in the output; the input may have more requests.
    Room,
    /// A turn after other connections; the input has more requests.
    Turn,
    /// Nothing: the connection ends once the output is sent.
    End,
    /// As `End`, for what the client does. The first is logged; a [verbose](crate::net::Settings::verbose) server logs
    /// each.
    Refuse(&'static str),
    /// As `End`, but the client may still be sending: its bytes are dropped for a while, since closing a socket with
    /// unread bytes would take the answer back.
    Linger,
}

/// Bytes that a handler may write between two calls of [`Output::is_full`].
const RESERVE: usize = 4096;

/// Waiting segments: they fit into one `sendmsg`.
const MOST_SEGMENTS: usize = 512;

/// Waiting bytes, with those of chunks; one chunk may be longer.
const MOST_PENDING: usize = 1 << 20;

/// Bytes to send: in a buffer, and in chunks between them.
#[derive(Debug)]
pub struct Output<C> {
    buffer: Buffer,
    segments: VecDeque<Segment<C>>,
    pending: usize,
    /// Memory was short: something and all after it are left out.
    cut: bool,
}

#[derive(Debug)]
enum Segment<C> {
    Bytes {
        start: usize,
        end: usize,
    },
    Chunk {
        chunk: C,
        start: usize,
    },
    /// Bytes that the buffer had no room for.
    Spilled {
        bytes: Vec<u8>,
        start: usize,
    },
}

impl<C: AsRef<[u8]>> Segment<C> {
    fn bytes<'a>(&'a self, buffer: &'a Buffer) -> &'a [u8] {
        match self {
            Self::Bytes { start, end } => &buffer[*start..*end],
            Self::Chunk { chunk, start } => &chunk.as_ref()[*start..],
            Self::Spilled { bytes, start } => &bytes[*start..],
        }
    }

    fn advance(&mut self, count: usize) {
        match self {
            Self::Bytes { start, .. } | Self::Chunk { start, .. } | Self::Spilled { start, .. } => {
                *start += count;
            }
        }
    }
}

impl<C: AsRef<[u8]>> Output<C> {
    /// An empty output that writes into `buffer`.
    #[must_use]
    pub fn new(mut buffer: Buffer) -> Self {
        buffer.clear();
        Self { buffer, segments: VecDeque::new(), pending: 0, cut: false }
    }

    /// Appends a copy of `bytes`, or [cuts](Self::take_cut) the output.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) {
        if self.cut {
            return;
        }
        let start = self.buffer.len();
        let fits = self.buffer.append(bytes);
        if let Some(Segment::Bytes { end, .. }) = self.segments.back_mut()
            && *end == start
        {
            *end += fits;
        } else if fits > 0 && !self.push(Segment::Bytes { start, end: start + fits }) {
            return;
        }
        self.pending += fits;
        if fits < bytes.len() {
            self.spill(&bytes[fits..]);
        }
    }

    /// Only answers longer than the reserve spill: handlers stop at a full output.
    #[cold]
    fn spill(&mut self, bytes: &[u8]) {
        if !matches!(self.segments.back(), Some(Segment::Spilled { .. }))
            && !self.push(Segment::Spilled { bytes: Vec::new(), start: 0 })
        {
            return;
        }
        let Some(Segment::Spilled { bytes: spilled, .. }) = self.segments.back_mut() else {
            unreachable!("it was pushed");
        };
        if spilled.try_reserve(bytes.len()).is_err() {
            self.cut = true;
            return;
        }
        spilled.extend_from_slice(bytes);
        self.pending += bytes.len();
    }

    /// Appends `chunk` from byte `start` on, without a copy, or [cuts](Self::take_cut) the output. Panics if the chunk
    /// is shorter.
    #[inline]
    pub fn send(&mut self, chunk: C, start: usize) {
        let len = chunk.as_ref().len();
        assert!(start <= len, "a chunk of {len} bytes has no byte {start}");
        if start < len && !self.cut && self.push(Segment::Chunk { chunk, start }) {
            self.pending += len - start;
        }
    }

    /// Returns whether there was memory.
    #[inline]
    fn push(&mut self, segment: Segment<C>) -> bool {
        if self.segments.try_reserve(1).is_err() {
            self.cut = true;
            return false;
        }
        self.segments.push_back(segment);
        true
    }

    /// Whether want of memory cut the output since the last call. The connection then has to end: its client would take
    /// the next answer for this one.
    #[must_use]
    pub fn take_cut(&mut self) -> bool {
        std::mem::take(&mut self.cut)
    }

    /// Whether handlers wait until some of this is sent.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.buffer.spare() < RESERVE
            || self.segments.len() >= MOST_SEGMENTS
            || self.pending >= MOST_PENDING
    }

    /// Bytes to send.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending
    }

    /// Whether there is nothing to send.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pending == 0
    }

    /// Fills `slices` with the first bytes to send, and returns those used.
    pub fn fill<'a, 's>(&'a self, slices: &'s mut [IoSlice<'a>]) -> &'s [IoSlice<'a>] {
        let count = self.segments.len().min(slices.len());
        for (slice, segment) in slices.iter_mut().zip(&self.segments) {
            *slice = IoSlice::new(segment.bytes(&self.buffer));
        }
        &slices[..count]
    }

    /// Drops the first `count` bytes, which were sent. Panics if there are fewer.
    pub fn advance(&mut self, mut count: usize) {
        assert!(count <= self.pending, "{count} bytes sent of {}", self.pending);
        self.pending -= count;
        if self.pending == 0 {
            self.segments.clear();
            self.buffer.clear();
            return;
        }
        while let Some(first) = self.segments.front_mut() {
            let len = first.bytes(&self.buffer).len();
            if count < len {
                first.advance(count);
                return;
            }
            count -= len;
            self.segments.pop_front();
        }
    }

    /// All bytes, for tests.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        self.segments.iter().map(|segment| segment.bytes(&self.buffer)).collect::<Vec<_>>().concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffers::{Buffers, PoolKind};
    use std::rc::Rc;

    fn output() -> Output<Rc<[u8]>> {
        Output::new(Buffers::new(PoolKind::Magazines, 8192).unwrap().acquire().unwrap())
    }

    #[test]
    fn bytes_and_chunks_are_sent_in_the_order_in_which_they_came_however_they_are_cut() {
        let chunk: Rc<[u8]> = Rc::from(&b"<chunk>"[..]);
        for step in 1..40 {
            let mut output = output();
            output.write(b"one ");
            output.write(b"two ");
            output.send(Rc::clone(&chunk), 1);
            output.write(b" three");
            output.send(Rc::clone(&chunk), 7); // Nothing of it.
            assert_eq!((output.pending(), Rc::strong_count(&chunk)), (20, 2));
            let mut sent = Vec::new();
            while !output.is_empty() {
                let mut slices = [IoSlice::new(&[]); 2];
                let bytes: Vec<u8> =
                    output.fill(&mut slices).iter().flat_map(|slice| slice.to_vec()).collect();
                let count = step.min(bytes.len());
                sent.extend_from_slice(&bytes[..count]);
                output.advance(count);
            }
            assert_eq!(sent, b"one two chunk> three");
            assert_eq!(Rc::strong_count(&chunk), 1, "a chunk that was sent is let go");
        }
    }

    #[test]
    fn an_answer_longer_than_the_buffer_is_kept_and_fills_the_output() {
        let mut output = output();
        assert!(!output.is_full());
        let long: Vec<u8> = (0..20_000_u32).map(|at| at as u8).collect();
        output.write(&long);
        output.write(b"end");
        assert!(output.is_full());
        assert_eq!(output.pending(), 20_003);
        assert_eq!(output.to_vec(), [&long[..], b"end"].concat());
        output.advance(20_003);
        assert!(output.is_empty() && !output.is_full());
    }

    #[test]
    fn an_output_is_full_once_many_chunks_or_bytes_wait() {
        let mut many = output();
        let small: Rc<[u8]> = Rc::from(&b"x"[..]);
        while !many.is_full() {
            many.send(Rc::clone(&small), 0);
        }
        assert_eq!(many.pending(), MOST_SEGMENTS);
        let mut large = output();
        large.send(Rc::from(vec![0; MOST_PENDING]), 0);
        assert!(large.is_full());
    }
}
