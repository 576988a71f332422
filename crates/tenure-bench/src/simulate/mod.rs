//! Scenarios on simulated machines.

pub mod calibrate;
pub mod result;
