//! Benchmarks of Tenure: scenarios, the measuring method, and the report.
//!
//! ```text
//!                      ┌─> runner ─> samples ─> rows with ratios ─> claims ─┐
//! scenario ─> variants ┤                                                    ├─> table, JSON, HTML
//!                      └─> simulate ─> rows ────────────────────────────────┘
//! ```

mod claims;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod noted;
mod report;
pub mod result;
pub mod run;
mod runner;
mod scenario;
pub mod simulate;

pub use scenario::{GroupInfo, Unknown};
