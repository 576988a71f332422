//! From addresses to source: programs compiled here, with and without optimisation and debugging information.
#![cfg(target_os = "linux")]

#[path = "../read/dwarf/assembler.rs"]
#[expect(dead_code, reason = "the readers' tests use all of it")]
mod assembler;
#[allow(dead_code, reason = "the tests of code use all of it")]
mod compile;
mod frames;
mod hostile;
mod variables;
