//! Finds fields that share a cache line with a contended word, and says how to mend it.
pub mod check;
pub mod error;
pub mod knowledge;
pub mod model;
pub mod progress;
pub mod read;
pub mod result;
pub mod rules;

pub use error::Error;
