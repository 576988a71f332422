//! The scenarios on simulated machines: `tenure sim`.

pub mod parallel;
pub mod result;
pub mod validation;
