//! Finds fields that share a cache line with a contended word, and says how to mend it.

pub mod check;
pub mod error;
pub mod findings;
pub mod knowledge;
pub mod lines;
pub mod model;
pub mod progress;
pub mod read;
pub mod report;
pub mod result;
pub mod rules;
pub mod run;
pub mod suggest;

pub use error::Error;

/// The size of a cache line that is assumed unless told otherwise.
pub const LINE_BYTES: u64 = tenure::line::LINE_BYTES as u64;
