//! Reports to tell: a small one that was simulated, and one that no run should make.

use super::machine::{self, DEFAULT};
use super::result::Report;
use super::run::{self, Request};
use crate::run::Progress;
use std::sync::OnceLock;

/// Nobody watches.
pub(super) struct Unseen;

impl Progress for Unseen {
    fn begin(&mut self, _total_steps: u64) {}
    fn step(&mut self, _scenario: &str, _threads: usize, _done_steps: u64) {}
    fn end(&mut self) {}
}

/// A short time of some scenarios on the default machine.
pub(super) fn request(names: &[&str], cpus: &str) -> Request {
    Request {
        names: names.iter().map(|&name| name.to_owned()).collect(),
        cpus: Some(cpus.parse().unwrap()),
        machine: machine::find(DEFAULT).unwrap(),
        measured_us: 20,
        seed: 1,
    }
}

/// Everything, for a short time.
pub(super) fn simulated() -> Report {
    static REPORT: OnceLock<Report> = OnceLock::new();
    let simulate = || run::run(&request(&[], "1..192"), &mut Unseen).unwrap();
    REPORT.get_or_init(simulate).clone()
}

/// Figures that are none, and text that a terminal or a page may take for its own.
pub(super) fn degenerate() -> Report {
    let mut report = simulated();
    report.machine.name = "<script>alert(1)</script> & \u{1f600}".into();
    let points = report.groups.iter_mut().flat_map(|group| &mut group.scenarios);
    for row in points.flat_map(|it| &mut it.points).flat_map(|point| &mut point.rows) {
        row.operations = 0;
        (row.ns_per_op, row.to_baseline, row.to_limit) = (None, None, None);
        (row.mops, row.retries_per_op, row.fairness) = (0.0, 0.0, 1.0);
        for line in &mut row.lines {
            line.members.clear();
        }
    }
    report
}
