//! Whole servers: what each repair is worth to a program that does real work, beside programs that others use.
//!
//! A [`run`] starts every server of a scenario, as processes of their own, and drives one after the other in
//! short rounds, in random order. Ratios are of two servers in the same round.
//!
//! | figure | what it has in it |
//! |---|---|
//! | requests/s | server, kernel **and load generator**, on the same CPUs: what the load generator uses, the server does not get |
//! | CPU per request | what the server's threads were on a CPU for, the kernel's work for them included: the figure that resolves on a small machine |
//! | latencies | as the clients saw them, waiting for a CPU included |
//! | CPU per request, `e2e/memory` | the same handlers fed from memory: **no kernel, no load generator**. Elapsed time times threads: on a busy machine it is too high |
//! | acquire | the one call that a free list is there for, timed by itself inside of the server |
//!
//! Each server is one process for all rounds, so that intervals tell how rounds differ, and not how processes do:
//! differences of a few per cent between cells should be seen in several runs.
//!
//! Through sockets the memcached server has four cells: the compare-exchange loop or `TicketRef`, on the line of what
//! requests read or on its own ([`memcached`](crate::memcached)). `e2e/memory` adds `RcuRef`: six.

mod memory;
mod program;
mod report;
pub mod result;
mod run;
mod scenario;
mod verdicts;

pub use run::{Request, run};
pub use scenario::{GROUP, listed};

/// What is measured.
pub const ABOUT: &str =
    "Whole servers under load, as processes of their own; runs when it is named.";

/// Whether `name` asks for this, and not for another group of benchmarks.
#[must_use]
pub fn is_meant(name: &str) -> bool {
    name == scenario::GROUP || name.starts_with(&format!("{}/", scenario::GROUP))
}
