//! From addresses to source: programs compiled here, with and without optimisation and debugging information.
#![cfg(target_os = "linux")]

mod allocations;
mod compile;
mod frames;
mod hostile;
mod variables;
