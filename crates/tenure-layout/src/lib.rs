//! Finds fields that share a cache line with a contended word, and says how to mend it.
pub mod error;
pub mod findings;
pub mod knowledge;
pub mod lines;
pub mod model;
pub mod progress;
pub mod read;
pub mod result;
pub mod suggest;

pub use error::Error;
