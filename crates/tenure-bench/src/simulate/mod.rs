//! The simulated runner: the scenarios of `tenure bench` on a machine that is not at hand.
//!
//! The data flows in one line, as on the real machine:
//!
//! ```text
//! scenario ─> rows, each a simulation of its own ─> result ─> table, JSON, HTML
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | [`run`] | from a request to a report |
//! | [`cpus`] | on how many CPUs |
//! | [`pattern`] | the same for accesses that a file describes, and for their repairs |
//! | [`machine`] | on which machine |
//! | [`calibrate`] | this machine as one of them |
//! | `parallel` | several simulations at a time |
//! | [`validation`] | how far the simulator is from what was measured elsewhere |
//! | [`result`] | the report's shape, which is the JSON schema |
//! | `report`, `heat`, `words` | the result as curves, which tables and pages show |

pub mod calibrate;
pub mod cpus;
mod heat;
pub mod machine;
mod parallel;
pub mod pattern;
mod report;
pub mod result;
mod row;
pub mod run;
pub mod validation;
mod words;

#[cfg(test)]
mod fixtures;
