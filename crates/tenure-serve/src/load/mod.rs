//! Load generators, for where memtier_benchmark and wrk are not at hand.
//!
//! In a *closed loop* each answer triggers the client's next request. That finds a server's capacity; latencies are
//! those of a fully busy server, and a stop of a second delays one request of each client. In an *open loop* requests
//! are due at fixed times, and latencies count from then, sent or not: those of users who do not wait for each other.
//!
//! Generator and server share a machine, so every result has the generator's CPU time ([`Outcome::client_cpu`]). An
//! unpipelined request costs it a `send`, a `recv` and a share of an `epoll_wait`.

use std::fmt::{self, Display};

use rustix::io::Errno;

mod cpu;
mod engine;
pub mod http;
pub mod memcached;
pub mod outcome;
mod run;
pub mod settings;
pub mod table;
mod tool;
mod workload;

pub use outcome::Outcome;
pub use run::{Plan, run};
pub use tenure_report::Progress;

/// Why there was no run: what failed, on what, and what to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    pub(crate) fn new(line: impl Into<String>) -> Self {
        Self(line.into())
    }

    /// The system refuses something that every run needs.
    pub(crate) fn system(error: Errno) -> Self {
        let hint = match error {
            Errno::MFILE | Errno::NFILE => "; use fewer clients, or raise the limit (`ulimit -n`)",
            Errno::NOBUFS | Errno::NOMEM => "; use fewer clients",
            _ => "",
        };
        Self(format!("cannot make connections: {}{hint}", std::io::Error::from(error)))
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
