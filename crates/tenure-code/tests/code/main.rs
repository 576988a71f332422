//! What code does to objects: programs compiled here, with and without optimisation and debugging information.
// Programs that are compiled here have other code elsewhere, of which less is read.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use compile::Sample;
use tenure_code::MachineCode;

mod allocations;
#[path = "../../../tenure-debuginfo/tests/read/dwarf/assembler.rs"]
#[expect(dead_code, reason = "the readers' tests use all of it")]
mod assembler;
#[path = "../../../tenure-debuginfo/tests/program/compile.rs"]
#[expect(dead_code, reason = "the readers' tests use all of it")]
mod compile;
mod declared;
#[path = "../../../tenure-debuginfo/tests/read/btf/encoder.rs"]
#[expect(dead_code, reason = "the readers' tests use all of it")]
mod encoder;
mod pointed;
mod results;
mod rows;
mod sweep;

fn code_of(sample: &Sample) -> MachineCode {
    sample.open().into()
}
