//! [`Job`]: what a thread of the generator is to do.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::schedule::Schedule;

/// What a thread is to do.
pub(crate) struct Job<P> {
    /// Requests and answers.
    pub(crate) protocol: P,
    /// Whom to ask.
    pub(crate) target: SocketAddr,
    /// Connections at once.
    pub(crate) clients: usize,
    /// Requests under way on each.
    pub(crate) depth: usize,
    /// A connection serves one request.
    pub(crate) close: bool,
    /// When requests are due; without it, the next is sent when one is answered.
    pub(crate) schedule: Option<Schedule>,
    /// How long a client waits for anything to come.
    pub(crate) timeout: Duration,
    /// The start of the run.
    pub(crate) base: Instant,
    /// When the measuring begins, in nanoseconds from the start.
    pub(crate) from_ns: u64,
    /// When it ends.
    pub(crate) until_ns: u64,
    /// It ends after so many requests, if that is sooner.
    pub(crate) quota: Option<u64>,
    /// The first error ends it.
    pub(crate) is_strict: bool,
}
