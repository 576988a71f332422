//! What all instruments share: how figures are summed up and read, what a terminal and a page look like, what is
//! known of the machine, and how files are written.
//!
//! | module | what it does |
//! |---|---|
//! | [`stats`] | medians and intervals |
//! | [`verdict`] | what figures say about a claim |
//! | [`machine`], [`affinity`] | the machine, and which of its CPUs a thread is on |
//! | [`words`] | figures in words |
//! | [`terminal`] | text for what a terminal can show |
//! | [`grid`] | tables for a terminal, as full as fits |
//! | [`json`] | reports as JSON, and their schemas |
//! | [`html`] | one HTML file that needs nothing else |
//! | [`chart`] | bars and lines, as SVG |
//! | [`curves`] | measured curves: one model, and its renderers |
//! | [`file`](mod@file) | files that are there in full or not at all |
//! | [`Progress`] | how far long work is |
//!
//! All but [`Progress`] is behind the feature `reports`, which is on by default.
//!
//! What an instrument found is its own: nothing here knows its result type. Instruments that measure curves convert
//! theirs into the model of [`curves`].

#[cfg(feature = "reports")]
pub mod affinity;
#[cfg(feature = "reports")]
pub mod chart;
#[cfg(feature = "reports")]
pub mod curves;
#[cfg(feature = "reports")]
pub mod file;
#[cfg(feature = "reports")]
pub mod grid;
#[cfg(feature = "reports")]
pub mod html;
#[cfg(feature = "reports")]
pub mod json;
#[cfg(feature = "reports")]
pub mod machine;
pub mod progress;
#[cfg(feature = "reports")]
pub mod stats;
#[cfg(feature = "reports")]
pub mod terminal;
#[cfg(feature = "reports")]
pub mod verdict;
#[cfg(feature = "reports")]
pub mod words;

pub use progress::Progress;
