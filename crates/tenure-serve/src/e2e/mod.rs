//! Whole servers: what each repair is worth in real work, beside other programs.
//!
//! A [`run()`] starts each server of a scenario as a process, and drives one after the other in short rounds, in random
//! order. Ratios are of two servers in the same round.
//!
//! | figure | what it has in it |
//! |---|---|
//! | requests/s | server, kernel **and load generator**, on the same CPUs |
//! | CPU per request | CPU time of the server's threads, in the kernel too: the figure that resolves on a small machine |
//! | latencies | as the clients saw them, waits for a CPU included |
//! | CPU per request, `e2e/memory` | **no kernel, no load generator**. Elapsed time times threads: too high on a busy machine |
//! | acquire | the one call that a free list is for, timed inside the server |
//!
//! A server is one process for all rounds: intervals show how rounds differ, not processes. Repeat a run before you
//! trust a few per cent.
//!
//! Through sockets the memcached server has four cells: the compare-exchange loop or `TicketRef`, on the line that
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

/// Whether `name` asks for this group of benchmarks.
#[must_use]
pub fn is_meant(name: &str) -> bool {
    name == scenario::GROUP || name.starts_with(&format!("{}/", scenario::GROUP))
}
