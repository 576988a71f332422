//! [`Server`]: the workers' threads, from start to stop.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use hdrhistogram::Histogram;
use tenure::line::Isolated;
use tenure::memory::{Atomic, Memory, Native, Ordering};

use super::counters::{Counters, Statistics};
use super::inbox::Inbox;
use super::socket;
use super::socket_file::SocketFile;
use super::worker::Worker;
use super::{Address, Settings};
use crate::buffers::Buffers;
use crate::handler::Handler;

/// What the workers of a server share.
pub struct Shared {
    pub(super) settings: Settings,
    pub(super) buffers: Buffers,
    pub(super) inboxes: Vec<Inbox>,
    pub(super) counters: Vec<Isolated<Counters>>,
    /// How long acquires of a connection's buffers took, in nanoseconds, by worker.
    pub(super) acquires: Vec<Mutex<Histogram<u64>>>,
    stopping: <Native as Memory>::AtomicU32,
    /// Whether a client was refused for what it does.
    refused: <Native as Memory>::AtomicU32,
}

impl Shared {
    fn new(settings: Settings) -> io::Result<Self> {
        let buffers = Buffers::new(settings.pool, settings.buffer)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))?;
        let threads = settings.threads;
        Ok(Self {
            inboxes: (0..threads).map(|_| Inbox::new()).collect::<io::Result<_>>()?,
            counters: (0..threads).map(|_| Isolated::default()).collect(),
            acquires: (0..threads).map(|_| Mutex::new(acquires())).collect(),
            stopping: Atomic::new(0),
            refused: Atomic::new(0),
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

    /// How long acquires of a connection's buffers took so far, in nanoseconds. Empty unless the
    /// [settings](Settings::time_acquires) ask for it.
    ///
    /// # Panics
    ///
    /// Never: the histograms of all workers have the same bounds.
    #[must_use]
    pub fn acquires(&self) -> Histogram<u64> {
        self.acquires.iter().fold(acquires(), |mut all, one| {
            let one = one.lock().unwrap_or_else(PoisonError::into_inner);
            all.add(&*one).expect("the same bounds");
            all
        })
    }

    /// What the server was told when it started.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Tells the workers to stop.
    pub(crate) fn stop(&self) {
        // Release: pairs with the Acquire in `is_stopping`. What comes before is seen by whoever stops.
        self.stopping.store(1, Ordering::Release);
        self.inboxes.iter().for_each(Inbox::ring);
    }

    /// Whether this is the first refusal, which it is once.
    pub(super) fn is_first_refusal(&self) -> bool {
        // Relaxed: nothing is published through it.
        self.refused.swap(1, Ordering::Relaxed) == 0
    }

    pub(super) fn is_stopping(&self) -> bool {
        // Acquire: see `stop`.
        self.stopping.load(Ordering::Acquire) == 1
    }
}

/// A histogram from a nanosecond to ten seconds.
fn acquires() -> Histogram<u64> {
    let mut acquires = Histogram::new_with_bounds(1, 10_000_000_000, 3).expect("sound bounds");
    acquires.auto(true);
    acquires
}

/// A server that runs. Its drop stops it.
pub struct Server {
    shared: Arc<Shared>,
    address: Address,
    /// The file of the socket, if it listens at a path.
    file: Option<SocketFile>,
    workers: Vec<JoinHandle<io::Result<()>>>,
}

impl Server {
    /// Starts the workers. `handler` makes the handler of each, on the worker's own thread.
    ///
    /// # Errors
    ///
    /// An address that cannot be listened at, a buffer size that is no power of two, or threads that the system
    /// does not give.
    pub fn start<H: Handler + 'static>(
        settings: Settings,
        handler: impl Fn(usize, &Arc<Shared>) -> H + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let settings = Settings { threads: settings.threads.max(1), ..settings };
        let listeners = socket::listen(&settings)?;
        let shared = Arc::new(Shared::new(settings)?);
        let handler = Arc::new(handler);
        let socket::Listeners { sockets, address, file } = listeners;
        let mut server = Self { shared, address, file, workers: Vec::new() };
        for (at, listener) in sockets.into_iter().enumerate() {
            let (shared, handler) = (Arc::clone(&server.shared), Arc::clone(&handler));
            let worker =
                std::thread::Builder::new().name(format!("worker {at}")).spawn(move || {
                    // A worker that panics takes the others along: its connections would hang for ever.
                    let alarm = Alarm(&shared);
                    let result =
                        Worker::new(at, listener, Arc::clone(&shared), handler(at, &shared))?.run();
                    std::mem::forget(alarm);
                    if result.is_err() {
                        shared.stop();
                    }
                    result
                });
            match worker {
                Ok(worker) => server.workers.push(worker),
                Err(error) => return Err(error),
            }
        }
        Ok(server)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What the workers share: the statistics.
    #[must_use]
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Whether a worker has ended by itself: by an error, or because a client has had the server stop.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.workers.iter().any(JoinHandle::is_finished)
    }

    /// Stops: listens no more, closes what is idle, lets the others end what they are at for
    /// [`Settings::grace`], and waits for the workers.
    ///
    /// # Errors
    ///
    /// The first error or panic that ended a worker early.
    pub fn stop(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        self.shared.stop();
        drop(self.file.take());
        let mut first = Ok(());
        for worker in self.workers.drain(..) {
            let ended =
                worker.join().unwrap_or_else(|_| Err(io::Error::other("a worker panicked")));
            first = first.and(ended);
        }
        // Handed over by a worker that did not know yet, to one that had ended.
        for (inbox, worker) in self.shared.inboxes.iter().zip(&self.shared.counters) {
            worker.open.sub_from_anywhere(inbox.take().len() as u64);
        }
        first
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Whoever wants to know calls `stop`.
        let _ = self.end();
    }
}

/// Stops the server when a worker panics.
struct Alarm<'a>(&'a Shared);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// The longest that a worker waits for events: handlers are told the time that often.
pub(super) const TICK: Duration = Duration::from_millis(500);
