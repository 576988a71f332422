//! Requests from memory: a handler without sockets, for tests and benchmarks.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use tenure::count::RefCount;
use tenure::registry::RegistryCount;

use super::Cache;
use crate::buffers::Buffers;
use crate::handler::{Handler, Next, Output};

/// Feeds `requests` to a handler and returns what it answers. They come in pieces that end at each of `ends`, which grow.
///
/// # Errors
///
/// If there is no buffer for the answers.
///
/// # Panics
///
/// If the handler refuses the connection, or makes no progress.
pub fn answers<H: Handler>(
    handler: &mut H,
    buffers: &Buffers,
    requests: &[u8],
    ends: impl IntoIterator<Item = usize>,
) -> io::Result<Vec<u8>> {
    let mut session = handler.open(IpAddr::V4(Ipv4Addr::LOCALHOST)).expect("a connection");
    let mut output = Output::new(buffers.acquire().map_err(io::Error::other)?);
    let mut answers = Vec::new();
    let mut from = 0;
    'connection: for to in ends.into_iter().chain([requests.len()]) {
        loop {
            let progress = handler.handle(&mut session, &requests[from..to], &mut output);
            let stuck = progress.consumed == 0 && output.is_empty();
            answers.extend_from_slice(&output.to_vec());
            output.advance(output.pending());
            from += progress.consumed;
            match progress.next {
                Next::End | Next::Refuse(_) | Next::Linger => break 'connection,
                Next::Room => assert!(!stuck, "no room in an output that is empty"),
                Next::Turn => {}
                Next::Input => break,
            }
        }
    }
    handler.close(session);
    Ok(answers)
}

/// Calls `work` in so many threads, each with its number, all at once. Returns what each came to.
///
/// When all are done, the handlers are dropped one after another: what a thread unlinked while others looked is freed then.
///
/// # Panics
///
/// If `work` does.
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
                let _ = my_turn.recv(); // Nothing is sent: the turn has come when nobody could any more.
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

/// What a [`play`] came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Played {
    /// Bytes of requests that were answered.
    pub requests: u64,
    /// Bytes of the answers, which nobody read.
    pub answers: u64,
    /// The longest that a thread took.
    pub time: Duration,
}

/// Feeds `script` to a handler `rounds` times in each of `threads`, all at once, all from one address.
///
/// This is the server without the kernel: what is left is the protocol, the store and the counts. The script is fed
/// in pieces of at most `piece` bytes, and must end with a request.
///
/// # Errors
///
/// If there is no buffer for the answers.
///
/// # Panics
///
/// If `piece` is less than a line, a request asks for the end, or a connection is refused.
pub fn play<C: RefCount + 'static, P: RegistryCount>(
    cache: &Cache<C, P>,
    buffers: &Buffers,
    script: &[u8],
    piece: usize,
    threads: usize,
    rounds: u64,
) -> io::Result<Played> {
    let played = in_threads(threads, |_| {
        let mut handler = cache.handler();
        let played = feed(&mut handler, buffers, script, piece, rounds);
        (handler, played)
    });
    let nothing = Played { requests: 0, answers: 0, time: Duration::ZERO };
    played.into_iter().try_fold(nothing, |sum, one| {
        let one = one?;
        Ok(Played {
            requests: sum.requests + one.requests,
            answers: sum.answers + one.answers,
            time: sum.time.max(one.time),
        })
    })
}

/// Feeds `script` to one handler.
fn feed<H: Handler>(
    handler: &mut H,
    buffers: &Buffers,
    script: &[u8],
    piece: usize,
    rounds: u64,
) -> io::Result<Played> {
    let mut session = handler.open(IpAddr::V4(Ipv4Addr::LOCALHOST)).expect("a connection");
    let mut output = Output::new(buffers.acquire().map_err(io::Error::other)?);
    let mut answers = 0;
    let began = Instant::now();
    for _ in 0..rounds {
        let mut at = 0;
        while at < script.len() {
            let input = &script[at..script.len().min(at + piece)];
            let progress = handler.handle(&mut session, input, &mut output);
            assert!(progress.next != Next::End, "the script ends the connection");
            assert!(progress.consumed > 0 || !output.is_empty(), "half a request");
            at += progress.consumed;
            answers += output.pending() as u64;
            output.advance(output.pending());
        }
    }
    let time = began.elapsed();
    handler.close(session);
    Ok(Played { requests: rounds * script.len() as u64, answers, time })
}
