//! Shared by all instruments: statistics, words, terminals, pages, the machine, and files.
//!
//! | module | what it does |
//! |---|---|
//! | [`stats`] | medians and intervals |
//! | [`verdict`] | verdicts on claims |
//! | [`machine`], [`affinity`] | the machine, and threads on its CPUs |
//! | [`words`] | figures in words |
//! | [`terminal`] | text for a terminal |
//! | [`grid`] | tables for a terminal |
//! | [`json`] | reports as JSON, and their schemas |
//! | [`html`] | self-contained HTML files |
//! | [`chart`] | bars and lines, as SVG |
//! | [`curves`] | measured curves: one model, and its renderers |
//! | [`file`](mod@file) | atomic replacement of files |
//! | [`Progress`] | the progress of long work |
//!
//! All but [`Progress`] is behind the feature `reports`, which is on by default.
//!
//! Instruments own their result types. Those that measure curves convert theirs into the model of [`curves`].

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
