//! From a recording to a report.

use tenure_contend::find::{self, Programs};
use tenure_model::recording::Recording;

use crate::head;

pub use tenure_contend::find::{Forecasts, Found, MACHINE, Machine, Predicted};

/// What was found in a run of this command, the worst first. What mending the first `predicted` findings would give is left
/// to predict.
#[must_use]
pub fn report(recording: &Recording, command: &str, line_bytes: u32, predicted: usize) -> Found {
    let programs = Programs::default();
    let run = head::run(recording, command, &programs);
    find::report(recording, &programs, run, line_bytes, predicted)
}
