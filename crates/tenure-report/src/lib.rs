//! Shared by all instruments: statistics, numbers, terminals, pages, the machine, and files.
//!
//! Instruments own their result types. Those that measure curves convert theirs into the model of [`curves`].

pub mod affinity;
pub mod chart;
pub mod curves;
pub mod file;
pub mod grid;
pub mod html;
pub mod json;
pub mod machine;
pub mod numbers;
pub mod parts;
pub mod stats;
pub mod terminal;
pub mod verdict;
