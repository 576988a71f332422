//! Handlers without sockets, for tests and benchmarks.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::buffers::Buffers;
use crate::handler::{Handler, Next, Output};

/// Feeds a handler as the event loop does, and holds it to its promises.
pub struct Connection<H: Handler> {
    /// The handler's session.
    pub session: H::Session,
    /// Answers that wait.
    pub output: Output<H::Chunk>,
    /// Answers that were sent.
    pub sent: Vec<u8>,
    /// What the handler waits for.
    pub next: Next,
    input: Vec<u8>,
    buffer: usize,
}

impl<H: Handler> Connection<H> {
    /// A connection from this machine with a receive buffer of `buffer` bytes. Panics if the handler refuses it, or
    /// there is no buffer for its answers.
    pub fn open(handler: &mut H, buffers: &Buffers, buffer: usize) -> Self {
        let session = handler.open(IpAddr::V4(Ipv4Addr::LOCALHOST)).expect("a connection");
        let output = Output::new(buffers.acquire().expect("a buffer"));
        Self { session, output, sent: Vec::new(), next: Next::Input, input: Vec::new(), buffer }
    }

    /// Whether the handler has ended the connection.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(self.next, Next::End | Next::Refuse(_) | Next::Linger)
    }

    /// Takes bytes, and sends all that the handler answers. Panics if the handler breaks a promise of
    /// [`Handler::handle`].
    pub fn receive(&mut self, handler: &mut H, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
        while !self.has_ended() {
            let seen = &self.input[..self.input.len().min(self.buffer)];
            let is_full = seen.len() == self.buffer;
            let progress = handler.handle(&mut self.session, seen, &mut self.output);
            self.input.drain(..progress.consumed);
            let sent = self.output.pending();
            self.sent.extend(self.output.to_vec());
            self.output.advance(sent);
            self.next = progress.next;
            match progress.next {
                Next::Input if progress.consumed == 0 => {
                    assert!(!is_full, "a full buffer makes progress");
                    return;
                }
                Next::Input if self.input.is_empty() => return,
                Next::Room => assert!(sent > 0 || progress.consumed > 0, "nothing makes room"),
                _ => {}
            }
        }
    }
}

/// Feeds `requests` to a handler, in pieces that end at each of the growing `ends`, and returns its answers. Panics as
/// [`Connection::open`] and [`Connection::receive`].
pub fn answers<H: Handler>(
    handler: &mut H,
    buffers: &Buffers,
    requests: &[u8],
    ends: impl IntoIterator<Item = usize>,
) -> Vec<u8> {
    let mut connection = Connection::open(handler, buffers, usize::MAX);
    let mut from = 0;
    for to in ends.into_iter().chain([requests.len()]) {
        connection.receive(handler, &requests[from..to]);
        from = to;
    }
    handler.close(connection.session);
    connection.sent
}

/// Calls `work` in `threads` threads at once, each with its number, and returns the results. Then drops the handlers
/// one after another, which frees what a thread unlinked while others read. Panics if `work` does.
pub fn in_threads<H: Handler, R: Send>(
    threads: usize,
    work: impl Fn(usize) -> (H, R) + Sync,
) -> Vec<R> {
    let start = Barrier::new(threads);
    let (done, all_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let spawn = |number| {
            let (turn, my_turn) = mpsc::channel::<()>();
            let (start, work, done) = (&start, &work, done.clone());
            let thread = scope.spawn(move || {
                start.wait();
                let (handler, result) = work(number);
                drop(done);
                let _ = my_turn.recv(); // Nothing is sent: the turn has come when the sender is dropped.
                drop(handler);
                result
            });
            (turn, thread)
        };
        let players: Vec<_> = (0..threads).map(spawn).collect();
        drop(done);
        let _ = all_done.recv(); // As above: all threads are done, or panicked.
        players
            .into_iter()
            .map(|(turn, thread)| {
                drop(turn);
                thread.join().expect("a thread that does not panic")
            })
            .collect()
    })
}

/// Feeds `script` to a handler `rounds` times in each of `threads` at once, from one address, in pieces of at most
/// `piece` bytes: the server without the kernel. Returns the longest that a thread took, or an error without a buffer
/// for the answers.
///
/// # Panics
///
/// If `script` does not end with a request, `piece` is less than a line, a request asks for the end, or a connection is
/// refused.
pub fn play<H: Handler>(
    handler: impl Fn() -> H + Sync,
    buffers: &Buffers,
    script: &[u8],
    piece: usize,
    threads: usize,
    rounds: u64,
) -> io::Result<Duration> {
    let times = in_threads(threads, |_| {
        let mut handler = handler();
        let time = feed(&mut handler, buffers, script, piece, rounds);
        (handler, time)
    });
    times.into_iter().try_fold(Duration::ZERO, |longest, time| Ok(longest.max(time?)))
}

fn feed<H: Handler>(
    handler: &mut H,
    buffers: &Buffers,
    script: &[u8],
    piece: usize,
    rounds: u64,
) -> io::Result<Duration> {
    let mut session = handler.open(IpAddr::V4(Ipv4Addr::LOCALHOST)).expect("a connection");
    let mut output = Output::new(buffers.acquire().map_err(io::Error::other)?);
    let began = Instant::now();
    for _ in 0..rounds {
        let mut at = 0;
        while at < script.len() {
            let input = &script[at..script.len().min(at + piece)];
            let progress = handler.handle(&mut session, input, &mut output);
            assert!(progress.next != Next::End, "the script ends the connection");
            assert!(progress.consumed > 0 || !output.is_empty(), "half a request");
            at += progress.consumed;
            output.advance(output.pending());
        }
    }
    let time = began.elapsed();
    handler.close(session);
    Ok(time)
}
