//! The simulated runner: the scenarios of `tenure bench` on a machine that is not at hand.
//!
//! | module | what it does |
//! |---|---|
//! | [`run`] | from a request to a report |
//! | [`cpus`] | on how many CPUs |
//! | [`pattern`] | accesses that a file describes, and their repairs |
//! | [`machine`] | the machine |
//! | [`calibrate`] | this machine as a simulated one |
//! | `parallel` | several simulations at a time |
//! | [`validation`] | the simulator against published measurements |
//! | [`result`] | the report's shape, which is the JSON schema |
//! | `report`, `heat`, `words` | the result as curves, pictures and words |

pub mod calibrate;
pub mod cpus;
mod heat;
pub mod machine;
mod parallel;
pub mod pattern;
mod report;
pub mod result;
mod row;
pub mod run;
pub mod validation;
mod words;

#[cfg(test)]
mod fixtures;
