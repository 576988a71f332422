//! The scenarios on simulated machines: `tenure sim`.

pub mod html;
pub mod parallel;
pub mod result;
pub mod validation;

#[cfg(test)]
mod fixtures;
