//! A cache that speaks memcached's text protocol, in which each item and each peer is a counted object.
//!
//! Answers are those of memcached 1.6.45, byte for byte, unless they reveal its internals
//! (`tests/memcached/transcripts.rs` compares them). Deliberate differences:
//!
//! - After an overlong key in a retrieval, memcached drops unsent answers to earlier requests. This server does not.
//! - The value of a refused line is always dropped; memcached may read it as commands. Where its length is uncertain
//!   (spaces in a key move it), the connection ends after the error.
//! - A storage command has no words behind its last one but `noreply`; expiries and flags beyond 32 bits are refused.
//! - A value's number starts at 1 and grows only when something is stored. A line may begin with spaces.
//! - An item that `mg`, `ma` or `md` makes under a key in base64 goes to clients with its key in base64.
//! - `incr` and `decr` pad a number that becomes shorter with spaces, which memcached does unless an unsent answer
//!   holds the item.
//! - A value of spaces alone is no number. memcached reads past its end.
//! - The classes of `stats items`, `stats slabs`, `me` and `lru_crawler metadump` go by size, with memcached's default
//!   bounds. Memory is not kept by class: `stats slabs` has no pages and free chunks, commands that tune slabs are
//!   refused, and `lru_crawler crawl` searches all classes.
//! - `stats detail` counts meta commands, too.
//! - Eviction is SIEVE, not a segmented LRU, up to about 16,000 items as if there were one queue. With more, each of
//!   256 shards evicts from its own: of 100 items that one queue would keep, about 95 stay.
//! - One connection too many, and one whose client speaks the binary protocol, is closed without a line.
//! - `stats conns` lists addresses, then connections with their own numbers, without states and ports. `watch` uses the
//!   same numbers, and has no raw commands, system events and proxies.
//! - A build with debug assertions has memcached's `debugtime SECONDS`, which moves the clock forward.
//!
//! # A get
//!
//! ```text
//!  line ─▶ get Peer ─▶ guard ─▶ map ─▶ Item ─▶ expired? flushed? ─▶ get Item ─▶ put Peer ─▶ output ─▶ put Item
//! ```
//!
//! It takes and releases two counts. Of other shared lines, only the mark of a hit is written: once between two passes
//! of the eviction's hand, and once a second. Nothing is allocated or copied.
//!
//! # Memory
//!
//! Items lie in cells of blocks of 64 KiB. However the sizes of values shift, the process takes at most about 1.3 times
//! its limit, and some MiB for buffers and code. `stats` has:
//!
//! | line | bytes |
//! |---|---|
//! | `limit_maxbytes` | that items may take, with their share of the map |
//! | `bytes` | that linked items take, counted so |
//! | `arena_bytes` | of blocks with items |
//! | `arena_overhead_bytes` | of these, in free cells; they count towards the limit, and beyond a sixteenth of it items are moved together |
//! | `arena_free_bytes` | of free blocks; beyond a sixteenth of the limit they go back to the system within seconds |
//! | `resident_bytes` | of the process in memory |
//!
//! With less memory than its limit, the cache makes do (`malloc_fails` counts the refused values), and tries to grow by
//! a 256th of the limit each second.

mod answer;
mod arena;
mod base64;
mod classes;
mod clock;
mod connection;
mod counters;
mod item;
mod meta;
mod number;
mod passwords;
mod peer;
mod prefixes;
mod queue;
mod request;
mod stats;
mod store;
mod text;
mod watch;
mod words;

use std::fmt;
use std::sync::OnceLock;
use std::time::{Instant, SystemTime};

use tenure::count::{IncNotZero, RcuRef, RefCount, TicketRef};
use tenure::line::Isolated;
use tenure::registry::RegistryCount;
use tenure::sync::Arc;

use crate::net::{self, Server, Settings};
use crate::running::{Running, not_listening};
pub use connection::{Memcached, Session};
pub use item::Chunk;
pub use passwords::Passwords;

use clock::Clock;
use counters::Workers;
use peer::{Connections, Limits, Peers};
use prefixes::Prefixes;
use store::Store;

choice! {
    /// The count of items and peers.
    CountKind, "a count is inc-not-zero, rcuref or ticket";
    /// A compare-exchange loop: the baseline.
    IncNotZero = "inc-not-zero",
    /// One add, and memory that stays readable.
    RcuRef = "rcuref",
    /// One add, and nothing else.
    #[default]
    Ticket = "ticket",
}

choice! {
    /// Where the count of a peer lies.
    LineKind, "a line is shared or isolated";
    /// Beside what every request reads: the baseline.
    Shared = "shared",
    /// On a line of its own.
    #[default]
    Isolated = "isolated",
}

/// The settings of a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// The count of items and peers.
    pub count: CountKind,
    /// Where the count of a peer lies.
    pub line: LineKind,
    /// Bytes of linked items, with their overhead; beyond it items are evicted. Values still arriving, items being sent
    /// or waiting for a grace period, and buffers are not in it. Where all items, these included, take twice as much,
    /// values over 16 KiB are refused; at four times as much, or 64 MiB more if that is more, all are.
    pub memory: u64,
    /// Bytes of an item, as memcached counts them: value, key, and about 60.
    pub largest_item: usize,
    /// Bytes of a request's line, but not a retrieval's. A longer line ends the connection without an answer.
    pub longest_line: usize,
    /// Connections from one address at once.
    pub connections_per_peer: u64,
    /// Evicts items where memory is full; otherwise values are refused.
    pub evictions: bool,
    /// Allows `flush_all`.
    pub flush: bool,
    /// Lets clients end the server with `shutdown`.
    pub shutdown: bool,
    /// Lets clients list all keys with `lru_crawler metadump`.
    pub dump: bool,
    /// Lets clients follow others with `watch`.
    pub watch: bool,
    /// Frees expired items before their memory is needed; clients change that with `lru_crawler enable` and `disable`.
    pub crawl: bool,
    /// Requests that a connection makes before others have their turn.
    pub requests_per_turn: u64,
    /// Counts requests by their keys' prefixes up to this byte, for `stats detail`. `None`: up to `:`, once a client
    /// sends `stats detail on`.
    pub prefix_delimiter: Option<u8>,
    /// A connection has to send one of these first.
    pub passwords: Option<Passwords>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            count: CountKind::default(),
            line: LineKind::default(),
            memory: 64 << 20,
            largest_item: 1 << 20,
            longest_line: 2048,
            connections_per_peer: u64::MAX,
            evictions: true,
            flush: true,
            shutdown: false,
            dump: true,
            watch: true,
            crawl: true,
            requests_per_turn: u64::MAX,
            prefix_delimiter: None,
            passwords: None,
        }
    }
}

struct Shared<C: RefCount + 'static, P: RegistryCount> {
    store: Store<C>,
    peers: Peers<P>,
    workers: Workers,
    clock: Clock,
    config: Config,
    connections: Connections,
    prefixes: Prefixes,
    /// Weak: the server's workers own the cache.
    server: OnceLock<std::sync::Weak<net::Shared>>,
}

impl<C: RefCount + 'static, P: RegistryCount> Shared<C, P> {
    /// Whether lookups are counted by prefix or watched.
    fn observes_gets(&self) -> bool {
        self.prefixes.is_on() || self.store.watchers.want(watch::kind::FETCHERS)
    }

    fn server(&self) -> Option<std::sync::Arc<net::Shared>> {
        self.server.get()?.upgrade()
    }
}

/// A cache, of which each thread gets a handler.
pub struct Cache<C: RefCount + 'static, P: RegistryCount> {
    shared: Arc<Shared<C, P>>,
}

impl<C: RefCount + 'static, P: RegistryCount> Cache<C, P> {
    /// An empty cache. Its counts are those of the type; those of `config` are for [`with_cell`].
    #[must_use]
    pub fn new(config: &Config) -> Self {
        crate::process::map_large_pieces();
        // Half of the memory: one value must not evict all others.
        let half = usize::try_from(config.memory / 2).unwrap_or(usize::MAX);
        let largest = config.largest_item.min(1 << 30).min(half);
        let limits = Limits {
            connections: config.connections_per_peer,
            item: largest,
            line: config.longest_line,
            key: item::MOST_KEY,
        };
        let shared = Shared {
            store: Store::new(config, largest),
            peers: Peers::new(limits),
            workers: Workers::new(),
            clock: Clock::new(Instant::now(), SystemTime::now()),
            config: config.clone(),
            connections: Connections::default(),
            prefixes: Prefixes::new(config.prefix_delimiter),
            server: OnceLock::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The handler of a thread.
    #[must_use]
    pub fn handler(&self) -> Memcached<C, P> {
        Memcached::new(self.shared.clone())
    }

    /// Linked items, and all that exist: also those being written or sent, or waiting for a grace period.
    #[must_use]
    pub fn items(&self) -> (u64, u64) {
        (self.shared.store.len() as u64, self.shared.store.alive().0)
    }

    /// Bytes that count towards [`Config::memory`].
    #[must_use]
    pub fn used(&self) -> u64 {
        self.shared.store.used()
    }

    /// Addresses with connections.
    #[must_use]
    pub fn peers(&self) -> usize {
        self.shared.peers.len()
    }
}

impl<C: RefCount + 'static, P: RegistryCount> Clone for Cache<C, P> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

/// Work on a cache whose type is chosen at run time.
pub trait Visitor {
    /// What [`visit`](Self::visit) returns.
    type Result;
    /// Does the work.
    fn visit<C: RefCount + 'static, P: RegistryCount>(self, cache: Cache<C, P>) -> Self::Result;
}

/// Calls the visitor with the cache that `config` asks for.
pub fn with_cell<V: Visitor>(config: &Config, visitor: V) -> V::Result {
    fn on_line<C: RegistryCount, V: Visitor>(config: &Config, visitor: V) -> V::Result {
        match config.line {
            LineKind::Shared => visitor.visit(Cache::<C, C>::new(config)),
            LineKind::Isolated => visitor.visit(Cache::<C, Isolated<C>>::new(config)),
        }
    }
    match config.count {
        CountKind::IncNotZero => on_line::<IncNotZero, V>(config, visitor),
        CountKind::RcuRef => on_line::<RcuRef, V>(config, visitor),
        CountKind::Ticket => on_line::<TicketRef, V>(config, visitor),
    }
}

/// Starts a cache with the counts that `config` asks for.
///
/// # Errors
///
/// In one line: why the server does not [start](Server::start).
pub fn start(config: &Config, settings: Settings) -> Result<Running, String> {
    struct Start(Settings);

    impl Visitor for Start {
        type Result = Result<Running, String>;

        fn visit<C: RefCount + 'static, P: RegistryCount>(
            self,
            cache: Cache<C, P>,
        ) -> Result<Running, String> {
            let handlers = cache.clone();
            let address = self.0.listen.clone();
            let server = Server::start(self.0, move |_, _| handlers.handler())
                .map_err(|error| not_listening(&address, &error))?;
            // A cache's first server is its only one.
            let _ = cache.shared.server.set(std::sync::Arc::downgrade(server.shared()));
            let figures = move || {
                let (linked, alive) = cache.items();
                let (bytes, peers) = (cache.used(), cache.peers() as u64);
                vec![
                    ("curr_items", linked),
                    ("items_alive", alive),
                    ("bytes", bytes),
                    ("peers", peers),
                ]
            };
            Ok(Running::new(server, "memcached", figures))
        }
    }

    with_cell(config, Start(settings))
}

impl<C: RefCount + 'static, P: RegistryCount> fmt::Debug for Cache<C, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (current, alive) = self.items();
        f.debug_struct("Cache").field("items", &current).field("alive", &alive).finish()
    }
}
