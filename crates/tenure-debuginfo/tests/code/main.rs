//! From addresses to source: programs compiled here, with and without optimisation and debugging information.
#![cfg(target_os = "linux")]

mod allocations;
#[path = "../read/dwarf/assembler.rs"]
#[expect(dead_code, reason = "the readers' tests use all of it")]
mod assembler;
mod compile;
#[cfg(target_arch = "x86_64")]
mod declared;
#[cfg(target_arch = "x86_64")]
#[path = "../read/btf/encoder.rs"]
#[expect(dead_code, reason = "the readers' tests use all of it")]
mod encoder;
mod frames;
mod hostile;
// Elsewhere the code behind a call is not read.
#[cfg(target_arch = "x86_64")]
mod pointed;
#[cfg(target_arch = "x86_64")]
mod results;
#[cfg(target_arch = "x86_64")]
mod rows;
#[cfg(target_arch = "x86_64")]
mod sweep;
mod variables;
