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
//! | [`file`](mod@file) | files that are there in full or not at all |
//! | [`Progress`] | how far long work is |
//!
//! What an instrument found is its own: nothing here knows a result type.

pub mod affinity;
pub mod chart;
pub mod file;
pub mod grid;
pub mod html;
pub mod json;
pub mod machine;
pub mod progress;
pub mod stats;
pub mod terminal;
pub mod verdict;
pub mod words;

pub use progress::Progress;
