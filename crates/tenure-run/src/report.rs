//! The report of a recording.

use tenure_analyze::{Analysis, Programs};
use tenure_model::recording::Recording;

use crate::head;

/// What was found in a run of this command, the worst first. What the repairs of the first `predicted` findings would give is
/// left to predict.
#[must_use]
pub fn report(
    recording: Recording,
    command: &str,
    programs: &Programs,
    line_bytes: u32,
    predicted: usize,
) -> Analysis {
    let run = head::run(&recording, command, programs);
    tenure_analyze::report(recording, programs, run, line_bytes, predicted)
}
