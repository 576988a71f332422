//! `tenure sim`: the scenarios on simulated machines.

pub mod html;
pub mod result;

#[cfg(test)]
mod fixtures;
