//! The engine: threads with connections, each of which has requests under way.
//!
//! ```text
//!  Protocol::ask ──▶ one write ──▶ server ──▶ one read ──▶ Protocol::scan ──▶ Tally
//!       ▲                                                        │
//!       └──── closed loop: as many as were answered ◀────────────┘
//!       └──── open loop: as many as are due (Schedule)
//! ```
//!
//! A thread has one epoll instance, one buffer to read into and one to write from; a request allocates nothing. It
//! reads the clock once for each read from a socket: requests that are answered in one piece have the same latency.

mod client;
pub(super) mod protocol;
pub(super) mod schedule;
pub(super) mod tally;
pub(super) mod worker;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use schedule::Schedule;

/// The work of a thread.
pub(crate) struct Job<P> {
    pub(crate) protocol: P,
    pub(crate) target: SocketAddr,
    pub(crate) clients: usize,
    /// Requests under way on each connection.
    pub(crate) depth: usize,
    /// Whether a connection serves only one request.
    pub(crate) close: bool,
    /// When requests are due. Without it, each answer triggers the next.
    pub(crate) schedule: Option<Schedule>,
    /// How long a client waits for an answer.
    pub(crate) timeout: Duration,
    pub(crate) base: Instant,
    /// When measuring begins, in nanoseconds from the start.
    pub(crate) from_ns: u64,
    pub(crate) until_ns: u64,
    /// Requests after which it ends, if that is sooner.
    pub(crate) quota: Option<u64>,
    /// Whether the first error ends it.
    pub(crate) is_strict: bool,
}
