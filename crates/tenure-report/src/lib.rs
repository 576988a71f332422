//! What the reports of all instruments share: how figures read, what a terminal and a page look
//! like, and how files are written.
//!
//! | module | what it does |
//! |---|---|
//! | [`words`] | figures in words |
//! | [`terminal`] | text for what a terminal can show |
//! | [`grid`] | tables for a terminal, as full as fits |
//! | [`json`] | reports as JSON, and their schemas |
//! | [`html`] | one HTML file that needs nothing else |
//! | [`file`](mod@file) | files that are there in full or not at all |
//! | [`Progress`] | how far long work is |
//!
//! What an instrument found is its own: nothing here knows a result type.

pub mod file;
pub mod grid;
pub mod html;
pub mod json;
mod progress;
pub mod terminal;
pub mod words;

pub use progress::Progress;
