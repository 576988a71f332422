//! A cache that speaks memcached's text protocol, in which each item and each peer is a counted object.
//!
//! Answers are those of memcached 1.6.45, byte for byte, where they do not tell of its insides
//! (`tests/memcached/transcripts.rs` compares them).
//!
//! Where they differ on purpose:
//!
//! - A key that is too long in a retrieval makes memcached throw the unsent answers to earlier requests away. Not here.
//! - The value of a refused line is always thrown away. Where its length is not certain, the connection ends after the error:
//!   a key with spaces in it, for example, moves the length to another place. memcached reads such a value as commands.
//! - A storage command has no words behind its last one but `noreply`; expiries and flags that do not fit into 32 bits are
//!   refused.
//! - The number of a value starts at 1 and grows only when something is stored. A line may begin with spaces.
//! - An item that `mg`, `ma` or `md` makes under a key in base64 goes to clients with its key in base64.
//! - `incr` and `decr` leave a number that becomes shorter its length and fill it up with spaces. memcached does so too,
//!   unless an unsent answer holds the item.
//! - A value of spaces alone is no number. memcached looks for one behind its end.
//! - The classes of `stats items`, `stats slabs`, `me` and `lru_crawler metadump` are by size, with the bounds that memcached
//!   has by default. Memory is not kept by class: `stats slabs` has no pages and no free chunks. Commands that tune slabs
//!   are refused. `lru_crawler crawl` looks for what is over in all classes, whichever are named.
//! - `stats detail` counts meta commands, too.
//! - Evicted is by SIEVE, not by a segmented LRU. A cache with fewer than about 16,000 items evicts as if it had one
//!   queue. With more, each of 256 shards evicts from its own: of 100 items that one queue would keep, about 95 are kept.
//! - A connection too many is closed at once, without a line, and so is one whose client speaks the binary protocol.
//! - `stats conns` tells of addresses, and then of connections, which have numbers of their own; it has no states and no
//!   ports. `watch` numbers connections alike, and has no raw commands, system events and proxies to tell of.
//! - A build with debug assertions has `debugtime SECONDS`, which moves the clock on, as memcached's debug build has.
//!
//! | room | what it is for |
//! |---|---|
//! | `connection` | the state of a connection, retrievals, the [`Handler`](crate::handler::Handler) |
//! | `text`, `flags`, `meta`, `stats` | what the other commands do |
//! | `passwords` | who may use the cache |
//! | `watch`, `connections` | who is told what others do, and who these are |
//! | `prefixes`, `classes`, `counters` | what is counted: by the beginnings of keys, by the sizes of items, of all |
//! | `store` | items by their keys: a map that is read without a lock, shards with a lock for what changes, eviction |
//! | `item` | cells of memory with a count; who owns it when |
//! | `arena` | the memory of items: equal blocks, cut into cells |
//! | `queue` | who is evicted next: SIEVE |
//! | `peer` | what all connections of an address share |
//! | `script` | requests from memory, without sockets |
//!
//! # A get
//!
//! ```text
//!  line ─▶ get Peer ─▶ guard ─▶ map ─▶ Item ─▶ over? flushed? ─▶ get Item ─▶ put Peer ─▶ output ─▶ put Item
//! ```
//!
//! Two counts are taken and released, and their lines are the only shared ones that are written, but for the
//! mark of a hit, once between two passes of the eviction's hand and once a second. Nothing is allocated or copied,
//! and the answer to one key is one piece, its end included.
//!
//! # Memory
//!
//! Items lie in blocks of 64 KiB, which are cut into cells of one size. However the sizes of values shift, the process
//! takes at most about 1.3 times its limit, and some MiB for its buffers and code. `stats` says what it is made of:
//!
//! | line | bytes |
//! |---|---|
//! | `limit_maxbytes` | that items may take, with what they cost in the map |
//! | `bytes` | that items which can be found take, so counted |
//! | `arena_bytes` | of blocks that have items in them |
//! | `arena_overhead_bytes` | of these, in free cells: a sixteenth of the limit, or else items are moved together; they count towards it |
//! | `arena_free_bytes` | of free blocks; more than a sixteenth of the limit goes back to the system within seconds |
//! | `resident_bytes` | of the whole process in memory |
//!
//! Where the system has less memory than the limit allows, the cache makes do with what there was (`malloc_fails` counts
//! the values that were refused), and tries again to have more, a 256th of the limit each second.
//!
//! # What is counted how
//!
//! A server has one of six cells: [`CountKind`] chooses the count of items and peers, [`LineKind`] whether the count of
//! a peer has a line of its own. Each is compiled for itself; [`with_cell`] chooses at run time.

mod arena;
mod base64;
mod classes;
mod clock;
mod connection;
mod connections;
mod counters;
mod echo;
mod flags;
mod item;
mod meta;
mod number;
mod passwords;
mod peer;
mod prefixes;
mod queue;
mod reply;
mod request;
pub mod script;
mod start;
mod stats;
mod store;
mod text;
mod watch;
mod words;

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::{Instant, SystemTime};

use tenure::count::{IncNotZero, RcuRef, RefCount, TicketRef};
use tenure::line::Isolated;
use tenure::memory::{Memory, Native};
use tenure::registry::RegistryCount;
use tenure::sync::Arc;

use crate::net;
pub use connection::{Memcached, Session};
pub use item::Chunk;
pub use passwords::Passwords;
pub use start::start;
pub use stats::Lines;

use clock::Clock;
use connections::Connections;
use counters::Workers;
use peer::{Limits, Peers};
use prefixes::Prefixes;
use store::Store;

type AtomicU32 = <Native as Memory>::AtomicU32;
type AtomicU64 = <Native as Memory>::AtomicU64;

/// Which count items and peers have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CountKind {
    /// A compare-exchange loop: the baseline.
    IncNotZero,
    /// One add, and memory that stays readable.
    RcuRef,
    /// One add, and nothing else.
    #[default]
    Ticket,
}

impl CountKind {
    /// All of them, with their names on the command line.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::IncNotZero, "inc-not-zero"), (Self::RcuRef, "rcuref"), (Self::Ticket, "ticket")];
}

/// Where the count of a peer lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LineKind {
    /// Beside what every request reads: the baseline.
    Shared,
    /// On a line of its own.
    #[default]
    Isolated,
}

impl LineKind {
    /// Both, with their names on the command line.
    pub const ALL: [(Self, &'static str); 2] =
        [(Self::Shared, "shared"), (Self::Isolated, "isolated")];
}

/// What a cache is made with.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// The count of items and peers.
    pub count: CountKind,
    /// Where the count of a peer lies.
    pub line: LineKind,
    /// Bytes of all items that can be found, with what they cost beside their values. More are evicted. Not in it: values that
    /// are still coming in, items being sent or waiting for the end of a grace period, and buffers. Where all items together, these
    /// included, take twice as much, values over 16 KiB are refused; where they take four times as much, or 64 MiB more if
    /// that is more, all are.
    pub memory: u64,
    /// Bytes of an item, as memcached counts them: value, key, and about 60 more.
    pub largest_item: usize,
    /// Bytes of a request's line, but for that of a retrieval, which may be of any length. It is looked at when a line
    /// has not come in full; then the connection ends without an answer.
    pub longest_line: usize,
    /// Connections from one address at once.
    pub connections_per_peer: u64,
    /// Whether values make others go where the memory is full. Otherwise they are refused.
    pub evictions: bool,
    /// Whether `flush_all` is allowed.
    pub flush: bool,
    /// Whether clients may end the server with `shutdown`.
    pub shutdown: bool,
    /// Whether clients may list all keys, with `lru_crawler metadump`.
    pub dump: bool,
    /// Whether clients may be told what others do, with `watch`.
    pub watch: bool,
    /// Whether items that are over are looked for, so that their memory comes back before it is asked for. Clients may change
    /// that with `lru_crawler enable` and `disable`.
    pub crawl: bool,
    /// Requests that a connection makes before others have their turn.
    pub requests_per_turn: u64,
    /// Counts requests by the prefixes of their keys, up to this byte, for `stats detail`. Without it a `:` ends them,
    /// and nothing is counted before `stats detail on`.
    pub prefix_delimiter: Option<u8>,
    /// A connection has to send one of these before anything else.
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

/// Lines that the server adds to `stats`.
type Extra = Box<dyn Fn(&mut Lines) + Send + Sync>;

/// What the handlers of a cache share.
struct Shared<C: RefCount + 'static, P: RegistryCount> {
    store: Store<C>,
    peers: Peers<P>,
    workers: Workers,
    clock: Clock,
    line: LineKind,
    flush: bool,
    shutdown: bool,
    dump: bool,
    watch: bool,
    connections: Connections,
    requests_per_turn: u64,
    prefixes: Prefixes,
    passwords: Option<Passwords>,
    extra: OnceLock<Extra>,
    /// The server that the cache is served by. Weak: its workers have the cache.
    server: OnceLock<std::sync::Weak<net::Shared>>,
}

impl<C: RefCount + 'static, P: RegistryCount> Shared<C, P> {
    /// Whether somebody wants to know of each lookup.
    fn observes_gets(&self) -> bool {
        self.prefixes.is_on() || self.store.watchers().want(watch::kind::FETCHERS)
    }

    /// The server that the cache is served by, if it is.
    fn server(&self) -> Option<std::sync::Arc<net::Shared>> {
        self.server.get()?.upgrade()
    }
}

/// A cache, of which each thread gets a handler.
pub struct Cache<C: RefCount + 'static, P: RegistryCount> {
    shared: Arc<Shared<C, P>>,
}

impl<C: RefCount + 'static, P: RegistryCount> Cache<C, P> {
    /// An empty cache. Its counts are those of the type; the ones of `config` are for [`with_cell`].
    #[must_use]
    pub fn new(config: &Config) -> Self {
        // Half of the memory, so that a value is not all that there is room for.
        let half = usize::try_from(config.memory / 2).unwrap_or(usize::MAX);
        let largest = config.largest_item.min(1 << 30).min(half);
        let limits = Limits {
            connections: config.connections_per_peer,
            item: largest,
            line: config.longest_line,
            key: item::MOST_KEY,
        };
        let mut store = Store::new(config.memory, largest);
        if !config.evictions {
            store = store.without_evictions();
        }
        if !config.crawl {
            store = store.without_crawl();
        }
        let shared = Shared {
            store,
            peers: Peers::new(limits),
            workers: Workers::new(),
            clock: Clock::new(Instant::now(), SystemTime::now()),
            line: config.line,
            flush: config.flush,
            shutdown: config.shutdown,
            dump: config.dump,
            watch: config.watch,
            connections: Connections::default(),
            requests_per_turn: config.requests_per_turn,
            prefixes: Prefixes::new(config.prefix_delimiter),
            passwords: config.passwords.clone(),
            extra: OnceLock::new(),
            server: OnceLock::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The handler of a thread.
    #[must_use]
    pub fn handler(&self) -> Memcached<C, P> {
        Memcached::new(self.shared.clone())
    }

    /// Lets the cache tell of the server that it is served by, and end it.
    fn serve_in(&self, server: &std::sync::Arc<net::Shared>) {
        let _ = self.shared.server.set(std::sync::Arc::downgrade(server)); // It is served by one.
    }

    /// Adds lines to each answer to `stats`. Only the first call does.
    pub fn add_to_stats(&self, extra: impl Fn(&mut Lines) + Send + Sync + 'static) {
        let _ = self.shared.extra.set(Box::new(extra)); // A second one is not wanted.
    }

    /// Items that can be found, and items that exist: also those being written or sent, and those that wait for
    /// the end of a grace period.
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

/// What is done with a cache whose type is chosen at run time.
pub trait Visitor {
    /// What comes of it.
    type Result;
    /// Does it.
    fn visit<C: RefCount + 'static, P: RegistryCount>(self, cache: Cache<C, P>) -> Self::Result;
}

/// Makes the cache that `config` asks for, and calls the visitor with it.
pub fn with_cell<V: Visitor>(config: &Config, visitor: V) -> V::Result {
    match (config.count, config.line) {
        (CountKind::IncNotZero, LineKind::Shared) => {
            visitor.visit(Cache::<IncNotZero, IncNotZero>::new(config))
        }
        (CountKind::IncNotZero, LineKind::Isolated) => {
            visitor.visit(Cache::<IncNotZero, Isolated<IncNotZero>>::new(config))
        }
        (CountKind::RcuRef, LineKind::Shared) => {
            visitor.visit(Cache::<RcuRef, RcuRef>::new(config))
        }
        (CountKind::RcuRef, LineKind::Isolated) => {
            visitor.visit(Cache::<RcuRef, Isolated<RcuRef>>::new(config))
        }
        (CountKind::Ticket, LineKind::Shared) => {
            visitor.visit(Cache::<TicketRef, TicketRef>::new(config))
        }
        (CountKind::Ticket, LineKind::Isolated) => {
            visitor.visit(Cache::<TicketRef, Isolated<TicketRef>>::new(config))
        }
    }
}

impl fmt::Display for CountKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Self::ALL.iter().find(|(kind, _)| kind == self).map_or("", |(_, name)| name))
    }
}

impl FromStr for CountKind {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.iter().find(|(_, name)| *name == text);
        let error = || "a count is inc-not-zero, rcuref or ticket".to_owned();
        known.map(|(kind, _)| *kind).ok_or_else(error)
    }
}

impl fmt::Display for LineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Self::ALL.iter().find(|(kind, _)| kind == self).map_or("", |(_, name)| name))
    }
}

impl FromStr for LineKind {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.iter().find(|(_, name)| *name == text);
        known.map(|(kind, _)| *kind).ok_or_else(|| "a line is shared or isolated".to_owned())
    }
}

impl<C: RefCount + 'static, P: RegistryCount> fmt::Debug for Cache<C, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (current, alive) = self.items();
        f.debug_struct("Cache").field("items", &current).field("alive", &alive).finish()
    }
}
