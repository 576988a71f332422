//! HTTP/1.1: static files, and an answer of a fixed size for benchmarks.
//!
//! `GET` and `HEAD`, with conditions and single ranges, as a [`Handler`]. Small files are in memory once for all
//! workers: an answer takes a reference, sends from there, and puts it at its end. Files over 1 MiB are read while they
//! are sent. A change is seen within a second.
//!
//! A directory answers with its `index.html`, or 404; there are no listings. There is no compression. Links out of the
//! root are not followed (`openat2`, Linux 5.6). Other methods get 405 or 501, ambiguous lengths 400, heads beyond a
//! buffer or 64 fields 414 or 431. A request with a body is answered, and ends its connection. Without memory for a
//! file the answer is 503, or ends early.

mod answer;
mod condition;
mod counters;
mod date;
mod file;
mod files;
mod request;
mod status;
mod target;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Instant;

use tenure::sync::Arc;

use self::answer::Transfer;
pub use self::counters::Statistics;
use self::counters::{All, Counters};
use self::date::Tails;
pub use self::file::Chunk;
use self::file::FileRef;
use self::files::{Cache, Root};
use self::request::{Parsed, Persistence};
use crate::buffers::DEFAULT_BYTES;
use crate::handler::{Handler, Next, Output, Progress};
use crate::net::{Server, Settings, Shared};
use crate::running::Summary;
use crate::running::{Running, not_listening};

const PROTOCOL: &str = "http";

/// What is served.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The directory with the files.
    pub root: Option<PathBuf>,
    /// An answer of a fixed size.
    pub fixed: Option<Fixed>,
    /// The path of the server's statistics, such as `/stats`.
    pub stats: Option<String>,
    /// Limits.
    pub limits: Limits,
}

/// An answer of a fixed size, for benchmarks.
#[derive(Debug, Clone)]
pub struct Fixed {
    /// Its path, such as `/`. It hides a file of that name.
    pub path: String,
    /// Bytes of its body.
    pub bytes: usize,
}

/// Limits of a server.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of a request's head; at most those of a receive buffer.
    pub head: usize,
    /// Bytes of the largest file held in memory; larger ones are read while they are sent.
    pub held: usize,
    /// Files that each worker caches.
    pub cached_files: usize,
    /// Bytes of files that each worker caches; workers share what they have in common.
    pub cached_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { head: DEFAULT_BYTES, held: 1 << 20, cached_files: 1024, cached_bytes: 64 << 20 }
    }
}

/// What the workers of a server share.
#[derive(Debug)]
pub struct Site {
    root: Root,
    fixed: Option<(Vec<u8>, FileRef)>,
    stats: Option<Vec<u8>>,
    limits: Limits,
    counters: All,
}

impl Site {
    /// What is served.
    ///
    /// # Errors
    ///
    /// In one line: a root that is no readable directory, or a path that is none.
    pub fn new(config: &Config) -> Result<Self, String> {
        let limits = config.limits;
        let root = Root::open(config.root.as_deref(), limits)?;
        let fixed = match &config.fixed {
            Some(Fixed { path, bytes }) => {
                let file = root.fixed(path, "text/plain; charset=utf-8", vec![b'x'; *bytes]);
                Some((name(path)?, file))
            }
            None => None,
        };
        let stats = config.stats.as_deref().map(name).transpose()?;
        Ok(Self { root, fixed, stats, limits, counters: All::default() })
    }

    /// Requests so far, and files in use now.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let ours = usize::from(self.fixed.is_some());
        self.counters.read(self.root.live() - ours)
    }
}

fn name(path: &str) -> Result<Vec<u8>, String> {
    let name = target::name(path.as_bytes(), &mut Vec::new()).map(<[u8]>::to_vec);
    name.map_err(|_| format!("{path:?} is not a path; give one such as /stats"))
}

/// HTTP on one thread of a server.
pub struct Http {
    site: Arc<Site>,
    stats: Box<dyn Fn() -> String>,
    cache: Cache,
    tails: Tails,
    counters: std::sync::Arc<Counters>,
    now: Instant,
    scratch: Vec<u8>,
    index: Vec<u8>,
}

impl Http {
    /// A worker's handler. `stats` returns the server's statistics as JSON.
    #[must_use]
    pub fn new(site: Arc<Site>, stats: impl Fn() -> String + 'static) -> Self {
        let now = Instant::now();
        Self {
            counters: site.counters.of_a_worker(),
            site,
            stats: Box::new(stats),
            cache: Cache::default(),
            tails: Tails::new(now),
            now,
            scratch: Vec::new(),
            index: Vec::new(),
        }
    }
}

/// Starts an HTTP server. Connections stay with the worker that accepts them; a head fits into a buffer.
///
/// # Errors
///
/// In one line: what is wrong with `config` ([`Site::new`]), or why the server does not [start](Server::start).
pub fn start(config: &Config, settings: Settings) -> Result<Running, String> {
    let mut config = config.clone();
    config.limits.head = settings.buffer;
    if config.root.is_none() && config.fixed.is_none() && config.stats.is_none() {
        return Err("nothing to serve; give a folder, --body BYTES or --stats PATH".to_owned());
    }
    let site = Arc::new(Site::new(&config)?);
    let settings = Settings { spread: false, ..settings };
    let address = settings.listen.clone();
    let of_workers = Arc::clone(&site);
    let handler = move |_, shared: &std::sync::Arc<Shared>| {
        let (site, shared) = (Arc::clone(&of_workers), std::sync::Arc::clone(shared));
        let counted = Arc::clone(&site);
        Http::new(site, move || Summary::of(PROTOCOL, &shared, counted.statistics().named()).json())
    };
    let server =
        Server::start(settings, handler).map_err(|error| not_listening(&address, &error))?;
    Ok(Running::new(server, PROTOCOL, move || site.statistics().named()))
}

/// The state of a connection.
#[derive(Debug, Default)]
pub struct Session {
    transfer: Option<Transfer>,
    /// How the connection ends after the transfer.
    end: Option<Next>,
}

impl Handler for Http {
    type Session = Session;
    type Chunk = Chunk;

    const KEEPS_BUFFERS: bool = true;

    fn open(&mut self, _from: IpAddr) -> Option<Session> {
        Some(Session::default())
    }

    fn handle(
        &mut self,
        session: &mut Session,
        input: &[u8],
        output: &mut Output<Chunk>,
    ) -> Progress {
        let mut consumed = 0;
        let next = loop {
            match session.transfer.as_mut().map(|transfer| transfer.proceed(output)) {
                None => {}
                Some(answer::Step::Done) => session.transfer = None,
                Some(answer::Step::Room) => break Next::Room,
                Some(answer::Step::CutShort) => {
                    session.transfer = None;
                    break Next::End;
                }
            }
            let rest = &input[consumed..];
            match session.end {
                Some(end) => break if rest.is_empty() { end } else { Next::Linger },
                None if rest.is_empty() => break Next::Input,
                None if output.is_full() => break Next::Room,
                None => {}
            }
            match request::parse(rest, self.site.limits.head) {
                Parsed::Incomplete => break Next::Input,
                Parsed::Refused(status) => {
                    self.counters.requests.count(1);
                    consumed = input.len();
                    let with_body = !rest.trim_ascii_start().starts_with(b"HEAD ");
                    self.refuse(status, (Persistence::Close, with_body), output);
                    session.end = Some(Next::Linger);
                }
                Parsed::Head(head) => {
                    self.counters.requests.count(1);
                    consumed += head.len;
                    if head.persistence == Persistence::Close {
                        session.end = Some(if head.has_body { Next::Linger } else { Next::End });
                    }
                    session.transfer = self.answer(&head, output);
                }
            }
        };
        Progress { consumed, next }
    }

    fn close(&mut self, _session: Session) {}

    fn tick(&mut self, now: Instant) {
        self.now = now;
        if self.tails.update(now) {
            self.cache.sweep(now);
        }
    }
}
