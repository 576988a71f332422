//! Benchmarks of Tenure: scenarios, the measuring method, and the report.
//!
//! The data flows in one line:
//!
//! ```text
//!                      ┌─> runner ─> samples ─> rows with ratios ─> claims ─┐
//! scenario ─> variants ┤                                                    ├─> table, JSON, HTML
//!                      └─> simulate ─> rows ────────────────────────────────┘
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | [`scenario`] | what is measured |
//! | [`runner`] | how: interleaved slices on pinned threads |
//! | [`simulate`] | the same on a simulated machine, from a request to its report |
//! | [`stats`] | medians and intervals |
//! | [`claims`] | what the figures say |
//! | [`run`] | from a request to a report |
//! | [`progress`] | how far that is |
//! | [`machine`] | what it ran on |
//! | [`report`] | tables, JSON, HTML |
//! | [`result`] | the report's shape, which is the JSON schema |

mod chart;
pub mod claims;
#[cfg(target_os = "linux")]
pub mod e2e;
pub mod machine;
pub mod progress;
pub mod report;
pub mod result;
pub mod run;
pub mod runner;
pub mod scenario;
pub mod simulate;
pub mod stats;
