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
//! Each server is one process for all rounds, so that intervals tell how rounds differ, and not how processes do: differences
//! of a few per cent between cells should be seen in several runs.
//!
//! Through sockets the memcached server has four cells: the compare-exchange loop or `TicketRef`, on the line of what
//! requests read or on its own ([`memcached`](crate::memcached)). `e2e/memory` adds `RcuRef`: six.

#[cfg(test)]
mod fixtures;
mod html;
mod memory;
mod program;
pub mod result;
mod run;
mod scenario;
mod table;
mod verdicts;

pub use html::render as page;
pub use run::{Request, run};
pub use scenario::{GROUP, listed};
pub use table::render as text;

/// Whether `name` asks for this, and not for another group of benchmarks.
#[must_use]
pub fn is_meant(name: &str) -> bool {
    name == scenario::GROUP || name.starts_with(&format!("{}/", scenario::GROUP))
}

/// The report as JSON: `docs/e2e.schema.json` says what is in it.
#[must_use]
pub fn json(report: &result::Report) -> String {
    tenure_report::json::render(report)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_schema_is_the_one_that_the_types_have() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/e2e.schema.json");
        let schema = tenure_report::json::schema::<super::result::Report>();
        tenure_report::json::check_committed(path.as_ref(), &schema);
    }
}
