//! Shared by all instruments: statistics, words, terminals, pages, the machine, and files.
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
