//! From a recording to a report.

use tenure_contend::find::{self, Programs};
use tenure_contend::record::Recording;
use tenure_find::Report;
use tenure_sim::Machine;

use crate::head;

pub use tenure_contend::find::MACHINE;

/// What was found in a run of this command, the worst first. For as many findings as `predicted` says, the simulator
/// predicts what mending them would give on a machine; that takes a second or so for each.
#[must_use]
pub fn report(
    recording: &Recording,
    command: &str,
    line_bytes: u32,
    predicted: usize,
    machine: &Machine,
) -> Report {
    let programs = Programs::default();
    let run = head::run(recording, command, &programs);
    find::report(recording, &programs, run, line_bytes, predicted, machine)
}
