//! A cache with one handler, fed from memory.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;
use std::time::{Duration, Instant};

use tenure::count::TicketRef;
use tenure_serve::buffers::{Buffers, PoolKind};
use tenure_serve::handler::{Handler, Next, Progress};
use tenure_serve::memcached::{Cache, Config, Memcached};
use tenure_serve::script::{self, Connection};

pub(crate) struct Server {
    pub(crate) cache: Cache<TicketRef, TicketRef>,
    pub(crate) handler: Memcached<TicketRef, TicketRef>,
    pub(crate) buffers: Buffers,
    start: Instant,
}

impl Server {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::default();
        change(&mut config);
        let cache = Cache::new(&config);
        let buffers = Buffers::new(PoolKind::Magazines, 16 << 10).unwrap();
        Self { handler: cache.handler(), cache, buffers, start: Instant::now() }
    }

    pub(crate) fn with_memory(bytes: u64) -> Self {
        Self::with(|config| config.memory = bytes)
    }

    pub(crate) fn tick(&mut self, seconds: u64) {
        self.tick_at(Duration::from_secs(seconds));
    }

    pub(crate) fn tick_at(&mut self, since_start: Duration) {
        self.handler.tick(self.start + since_start);
    }

    /// Requests arrive in pieces of `piece` bytes.
    pub(crate) fn cut(&mut self, requests: &[u8], piece: usize) -> Vec<u8> {
        self.cut_at(requests, (1..).map(|at| at * piece).take_while(|at| *at < requests.len()))
    }

    /// Requests arrive in pieces that end at `ends`.
    pub(crate) fn cut_at(
        &mut self,
        requests: &[u8],
        ends: impl IntoIterator<Item = usize>,
    ) -> Vec<u8> {
        script::answers(&mut self.handler, &self.buffers, requests, ends)
    }

    pub(crate) fn ask(&mut self, requests: impl AsRef<[u8]>) -> String {
        text(&self.cut(requests.as_ref(), 16 << 10))
    }

    pub(crate) fn set(&mut self, key: impl Display, len: usize) -> String {
        self.ask(set(key, len))
    }

    pub(crate) fn fill(&mut self, keys: Range<usize>, len: usize) {
        keys.for_each(|key| drop(self.set(format_args!("k{key}"), len)));
    }

    pub(crate) fn has(&mut self, key: impl Display) -> bool {
        self.ask(format!("get {key}\r\n")).starts_with("VALUE")
    }

    pub(crate) fn stat(&mut self, name: &str) -> u64 {
        let stats = self.stats("");
        stats.get(name).unwrap_or_else(|| panic!("{name} in {stats:?}")).parse().unwrap()
    }

    pub(crate) fn stats(&mut self, kind: &str) -> BTreeMap<String, String> {
        let answer = self.ask(format!("stats {kind}\r\n"));
        let lines = answer.lines().filter_map(|line| line.strip_prefix("STAT ")?.split_once(' '));
        lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }
}

/// A connection that stays open between requests.
pub(crate) struct Client(pub(crate) Connection<Memcached<TicketRef, TicketRef>>);

impl Client {
    pub(crate) fn new(server: &mut Server) -> Self {
        Self(Connection::open(&mut server.handler, &server.buffers, usize::MAX))
    }

    /// The output waits.
    pub(crate) fn handle(&mut self, server: &mut Server, requests: &[u8]) -> Progress {
        server.handler.handle(&mut self.0.session, requests, &mut self.0.output)
    }

    pub(crate) fn ask(&mut self, server: &mut Server, requests: &str) -> String {
        self.0.receive(&mut server.handler, requests.as_bytes());
        assert_eq!(self.0.next, Next::Input);
        text(&std::mem::take(&mut self.0.sent))
    }

    /// A watcher's lines from their type on, without the connections' numbers.
    pub(crate) fn news(&mut self, server: &mut Server) -> Vec<String> {
        let all = self.ask(server, "");
        let line = |line: &str| {
            let what = &line[line.find("type=").unwrap_or(0)..];
            what.split(" cfd=").next().unwrap().to_owned()
        };
        all.lines().map(line).collect()
    }

    pub(crate) fn close(self, server: &mut Server) {
        server.handler.close(self.0.session);
    }
}

pub(crate) fn set(key: impl Display, len: usize) -> String {
    format!("set {key} 0 0 {len}\r\n{}\r\n", "x".repeat(len))
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
