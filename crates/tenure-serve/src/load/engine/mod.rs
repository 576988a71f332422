//! The engine: threads with connections, each with requests under way.
//!
//! ```text
//!  Protocol::ask ──▶ one write ──▶ server ──▶ one read ──▶ Protocol::scan ──▶ Tally
//!       ▲                                                        │
//!       └──── closed loop: as many as were answered ◀────────────┘
//!       └──── open loop: as many as are due (Schedule)
//! ```
//!
//! A thread has one epoll instance and one buffer for each direction; a request allocates nothing. Requests answered in
//! one read have the same latency.

mod client;
pub(super) mod protocol;
pub(super) mod schedule;
pub(super) mod tally;
pub(super) mod worker;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::settings::{Length, Settings};
use schedule::Schedule;

/// While the keys are set.
const FILL_DEPTH: usize = 64;

pub(crate) struct Job {
    pub(crate) target: SocketAddr,
    pub(crate) clients: usize,
    /// Requests under way on each connection.
    pub(crate) depth: usize,
    pub(crate) close: bool,
    /// When requests are due. Without it, each answer triggers the next.
    pub(crate) schedule: Option<Schedule>,
    pub(crate) timeout: Duration,
    pub(crate) base: Instant,
    /// When measuring begins, from the start of the run.
    pub(crate) from_ns: u64,
    pub(crate) until_ns: u64,
    /// Requests that end it sooner.
    pub(crate) quota: Option<u64>,
    /// The first error ends it.
    pub(crate) is_strict: bool,
}

impl Job {
    /// Sets the keys, as fast as possible.
    pub(crate) fn filling(settings: &Settings) -> Self {
        Self {
            target: settings.target,
            clients: 1,
            depth: FILL_DEPTH,
            close: false,
            schedule: None,
            timeout: settings.timeout,
            base: Instant::now(),
            from_ns: 0,
            until_ns: u64::MAX,
            quota: None,
            is_strict: true,
        }
    }

    /// Measures in thread `index`, after a warm-up from `base` on.
    pub(crate) fn measuring(settings: &Settings, close: bool, base: Instant, index: usize) -> Self {
        let Settings { threads, clients, pipeline, warmup, .. } = *settings;
        let bound = |count: u64, index: usize| u128::from(count) * index as u128 / threads as u128;
        let (until_ns, quota) = match settings.length {
            Length::Time(time) => ((warmup + time).as_nanos() as u64, None),
            Length::Requests(count) => {
                (u64::MAX, Some((bound(count, index + 1) - bound(count, index)) as u64))
            }
        };
        Self {
            clients,
            depth: pipeline,
            close,
            schedule: settings.rate.map(|rate| Schedule::new(rate, index, threads)),
            base,
            from_ns: warmup.as_nanos() as u64,
            until_ns,
            quota,
            is_strict: false,
            ..Self::filling(settings)
        }
    }
}
