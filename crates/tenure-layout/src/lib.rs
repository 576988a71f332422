//! Finds fields that share a cache line with a contended word, and says how to mend it.
pub mod error;
pub mod model;
pub mod progress;
pub mod read;
pub mod report;
pub mod result;

pub use error::Error;
