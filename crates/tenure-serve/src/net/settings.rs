use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::buffers::{DEFAULT_BYTES, PoolKind};

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// At an internet address. Port 0 lets the system choose one.
    Internet(SocketAddr),
    /// At a path, for clients of this machine.
    Unix(PathBuf),
}

impl Address {
    /// The internet address, if it is one.
    #[must_use]
    pub fn internet(&self) -> Option<SocketAddr> {
        match self {
            Self::Internet(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Internet(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Internet(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// How a server listens and what it allows.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where to listen.
    pub listen: Address,
    /// Permissions of the socket file at a path.
    pub socket_mode: u32,
    /// Worker threads; at least one.
    pub threads: usize,
    /// Open connections of all workers; more are closed as they arrive.
    pub connections: usize,
    /// Closes a connection that moves no byte for so long. `None` closes none.
    pub idle: Option<Duration>,
    /// Time for connections to finish when the server stops.
    pub grace: Duration,
    /// The free list of the buffer pool.
    pub pool: PoolKind,
    /// Bytes of a buffer; a power of two. A protocol may allow less for a line, more for a retrieval.
    pub buffer: usize,
    /// Hands connections to the worker that has the fewest. The system spreads long ones unevenly.
    pub spread: bool,
    /// Times each acquire of a connection's buffers, with two clock reads.
    pub time_acquires: bool,
    /// Logs each connection's beginning, end or refusal to standard error.
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
