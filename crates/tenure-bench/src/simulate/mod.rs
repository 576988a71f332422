//! The simulated runner: the scenarios of `tenure bench` on a machine that is not at hand.

pub mod calibrate;
pub mod cpus;
mod heat;
mod parallel;
pub mod pattern;
mod prose;
mod report;
pub mod result;
mod row;
pub mod run;
pub mod validation;

#[cfg(test)]
mod fixtures;
