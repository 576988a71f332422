//! [`Progress`]: how whoever waits for a run sees it go on.

use crate::result::Report;

/// Shows how far a run is.
pub trait Progress {
    /// The run begins.
    fn begin(&mut self, total_steps: u64);
    /// A report was opened: settings and machine are known, and nothing is measured.
    fn opened(&mut self, report: &Report) {
        let _ = report;
    }
    /// The last scenario of the last group of the report is finished.
    fn measured(&mut self, report: &Report) {
        let _ = report;
    }
    /// A scenario at a number of threads is at work.
    fn step(&mut self, scenario: &str, threads: usize, done_steps: u64);
    /// The run is over.
    fn end(&mut self);
}
