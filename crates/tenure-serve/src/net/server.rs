use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::shared::Shared;
use super::socket::{self, SocketFile};
use super::worker::Worker;
use super::{Address, Settings};
use crate::handler::Handler;

/// A server that runs. Its drop stops it.
pub struct Server {
    shared: Arc<Shared>,
    address: Address,
    file: Option<SocketFile>,
    workers: Vec<JoinHandle<io::Result<()>>>,
}

impl Server {
    /// Starts the workers. Each calls `handler` on its own thread.
    ///
    /// # Errors
    ///
    /// An address that cannot be listened at, a buffer size that is no power of two, or threads that the system
    /// refuses.
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
            let thread = std::thread::Builder::new().name(format!("worker {at}"));
            server.workers.push(thread.spawn(move || {
                // A worker that panics stops the others: its connections would hang for ever.
                let alarm = Alarm(&shared);
                let result =
                    Worker::new(at, listener, Arc::clone(&shared), handler(at, &shared))?.run();
                std::mem::forget(alarm);
                if result.is_err() {
                    shared.stop();
                }
                result
            })?);
        }
        Ok(server)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What the workers share.
    #[must_use]
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Whether a worker has ended by itself: by an error, or at a client's request.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.workers.iter().any(JoinHandle::is_finished)
    }

    /// Stops listening, closes idle connections, gives the others [`Settings::grace`], and joins the workers.
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
        // Handed over to an ended worker, by one that did not know yet.
        for (inbox, worker) in self.shared.inboxes.iter().zip(&self.shared.counters) {
            worker.open.sub(inbox.take().len() as u64);
        }
        first
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // For the error, call `stop`.
        let _ = self.end();
    }
}

struct Alarm<'a>(&'a Shared);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}
