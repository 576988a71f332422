//! [`Settings`]: what a server is told when it starts.

use std::time::Duration;

use super::Address;
use crate::buffers::{DEFAULT_BYTES, PoolKind};

/// What a server is told when it starts.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where to listen.
    pub listen: Address,
    /// The permissions of the file of a socket that listens at a path.
    pub socket_mode: u32,
    /// Worker threads; at least one.
    pub threads: usize,
    /// Open connections, of all workers together; those beyond are closed when they come.
    pub connections: usize,
    /// A connection on which nothing moves for so long is closed. `None` closes none.
    pub idle: Option<Duration>,
    /// When the server stops: how long connections may take to end what they are at.
    pub grace: Duration,
    /// The free list of the pool of buffers.
    pub pool: PoolKind,
    /// Bytes of a buffer; a power of two. A protocol may allow less for a line, and more for a retrieval.
    pub buffer: usize,
    /// Hands connections over to the worker that has the fewest: for long ones, of which the system's
    /// own choice gives one worker more than another. Short ones stay where they come.
    pub spread: bool,
    /// Times each acquire of a connection's buffers. Costs two looks at the clock for each.
    pub time_acquires: bool,
    /// Tells on standard error of each connection: when it comes, when it ends and why, or why it is refused.
    pub verbose: bool,
}

impl Settings {
    /// The usual ones, for a server at that address.
    #[must_use]
    pub fn at(listen: impl Into<Address>) -> Self {
        Self {
            listen: listen.into(),
            socket_mode: 0o700,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            connections: 16_384,
            idle: Some(Duration::from_secs(60)),
            grace: Duration::from_secs(5),
            pool: PoolKind::default(),
            buffer: DEFAULT_BYTES,
            spread: true,
            time_acquires: false,
            verbose: false,
        }
    }
}
