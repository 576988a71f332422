//! [`Connection`]: a socket, the handler's session, and the bytes that wait.

use std::io::IoSlice;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use super::counters::Counters;
use super::poll::Interest;
use super::socket::{self, Moved};
use crate::buffers::Buffer;
use crate::handler::{Handler, Next, Output};

const SLICES: usize = 64;

/// Reads before others have their turn.
const READS: usize = 8;

/// How often output is filled and sent before others have their turn.
const FILLS: usize = 8;

pub(super) struct Connection<H: Handler> {
    pub(super) socket: OwnedFd,
    pub(super) session: H::Session,
    /// The start of a short request; `input` is `None` then.
    pub(super) rest: Vec<u8>,
    /// The start of a request. With [`Handler::KEEPS_BUFFERS`] present exactly when `output` is.
    pub(super) input: Option<Buffer>,
    /// Answers that the socket did not take yet.
    pub(super) output: Option<Output<H::Chunk>>,
    pub(super) phase: Phase,
    /// `None` if epoll does not know the socket.
    pub(super) interest: Option<Interest>,
    /// Whether the client left bytes untaken in the last turn.
    pub(super) stalls: bool,
    pub(super) active: Instant,
    pub(super) refused: Option<&'static str>,
    /// Tells it from earlier connections with its key, whose events may still come.
    pub(super) generation: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Open,
    /// The handler has more to write without more input.
    Writing,
    /// Ends once the output is sent.
    Ending,
    /// As `Ending`, and then lingers.
    EndingLate,
    /// All is sent; what still comes is dropped.
    Lingering,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Goes on when there is something to read, or room to write.
    Waits(Interest),
    /// The socket is to be closed.
    Over,
    Broken,
}

pub(super) struct Hands<'a, C> {
    pub(super) input: &'a mut Buffer,
    pub(super) output: &'a mut Output<C>,
}

impl<H: Handler> Connection<H> {
    /// Reads, answers and sends until there is nothing to do at the moment.
    pub(super) fn turn(
        &mut self,
        handler: &mut H,
        hands: &mut Hands<'_, H::Chunk>,
        counters: &Counters,
    ) -> Fate {
        if self.phase == Phase::Lingering {
            return self.drop_input(hands.input, counters);
        }
        // No new answers before the client took the old ones.
        if let Some(fate) = self.flush(hands.output, counters) {
            return fate;
        }
        let mut reads = READS;
        let mut drained = false;
        loop {
            if let Some(fate) = self.answer(handler, hands, counters) {
                return fate;
            }
            if drained || reads == 0 {
                counters.yielded.count(u64::from(!drained));
                return Fate::Waits(Interest::Read);
            }
            reads -= 1;
            if hands.input.is_empty() {
                hands.input.clear();
            } else if hands.input.spare() == 0 {
                hands.input.compact();
            }
            let room = hands.input.spare();
            if room == 0 {
                debug_assert!(false, "a handler makes progress with a full buffer");
                return Fate::Broken;
            }
            match socket::read(self.socket.as_fd(), hands.input.spare_mut()) {
                // Half a request needs no answer; a client that only ended its output has all others.
                Moved::Bytes(0) => return Fate::Over,
                Moved::Bytes(count) => {
                    hands.input.commit(count);
                    counters.read.count(count as u64);
                    // Reading again would mostly find nothing.
                    drained = count < room;
                }
                Moved::Blocked => return Fate::Waits(Interest::Read),
                Moved::Broken => return Fate::Broken,
            }
        }
    }

    /// `None` if more input is wanted.
    fn answer(
        &mut self,
        handler: &mut H,
        hands: &mut Hands<'_, H::Chunk>,
        counters: &Counters,
    ) -> Option<Fate> {
        let mut gives_way = false;
        for _ in 0..FILLS {
            let calls = match self.phase {
                Phase::Open => !hands.input.is_empty() || handler.has_news(&self.session),
                Phase::Writing => true,
                Phase::Ending | Phase::EndingLate | Phase::Lingering => false,
            };
            if calls {
                let progress = handler.handle(&mut self.session, hands.input, hands.output);
                hands.input.consume(progress.consumed);
                self.phase = match progress.next {
                    Next::Input => Phase::Open,
                    Next::Room | Next::Turn => Phase::Writing,
                    Next::End => Phase::Ending,
                    Next::Refuse(why) => {
                        self.refused = Some(why);
                        Phase::Ending
                    }
                    Next::Linger => Phase::EndingLate,
                };
                if hands.output.take_cut() {
                    self.refused = Some("there is no memory for an answer");
                    self.phase = Phase::Ending;
                }
                gives_way = progress.next == Next::Turn;
                if self.phase == Phase::Writing && progress.consumed == 0 && hands.output.is_empty()
                {
                    debug_assert!(false, "a handler that asks for room has filled some");
                    return Some(Fate::Broken);
                }
            }
            if let Some(fate) = self.flush(hands.output, counters) {
                return Some(fate);
            }
            match self.phase {
                Phase::Open => return None,
                Phase::Writing if gives_way => break,
                Phase::Writing => {}
                Phase::Ending => return Some(Fate::Over),
                Phase::EndingLate | Phase::Lingering => {
                    socket::end_output(self.socket.as_fd());
                    self.phase = Phase::Lingering;
                    return Some(self.drop_input(hands.input, counters));
                }
            }
        }
        counters.yielded.count(1);
        // The socket has room, so the next round of events comes back here.
        Some(Fate::Waits(Interest::Write))
    }

    /// Sends the output, or says how the turn ends.
    fn flush(&mut self, output: &mut Output<H::Chunk>, counters: &Counters) -> Option<Fate> {
        let last = matches!(self.phase, Phase::Ending | Phase::EndingLate);
        while !output.is_empty() {
            let mut slices = [IoSlice::new(&[]); SLICES];
            match socket::write(self.socket.as_fd(), output.fill(&mut slices), last) {
                Moved::Bytes(count) => {
                    counters.written.count(count as u64);
                    output.advance(count);
                }
                Moved::Blocked => return Some(Fate::Waits(Interest::Write)),
                Moved::Broken => return Some(Fate::Broken),
            }
        }
        None
    }

    fn drop_input(&mut self, input: &mut Buffer, counters: &Counters) -> Fate {
        for _ in 0..READS {
            input.clear();
            match socket::read(self.socket.as_fd(), input.spare_mut()) {
                Moved::Bytes(0) => return Fate::Over,
                Moved::Bytes(count) => counters.read.count(count as u64),
                Moved::Blocked => break,
                Moved::Broken => return Fate::Broken,
            }
        }
        Fate::Waits(Interest::Read)
    }
}
