//! Benchmarks of Tenure: scenarios, the measuring method, and the report.
//!
//! ```text
//!                      ┌─> runner ─> samples ─> rows with ratios ─> claims ─┐
//! scenario ─> variants ┤                                                    ├─> table, JSON, HTML
//!                      └─> simulate ─> rows ────────────────────────────────┘
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | `scenario` | what is measured |
//! | `runner` | interleaved slices on pinned threads |
//! | [`simulate`] | the same on a simulated machine |
//! | `claims` | what the figures say |
//! | [`run`] | from a request to a report |
//! | `report` | the result as curves |
//! | [`result`] | the report's shape, which is the JSON schema |

mod claims;
#[cfg(test)]
mod fixtures;
mod report;
pub mod result;
pub mod run;
mod runner;
mod scenario;
pub mod simulate;

pub use scenario::{GroupInfo, Unknown};
