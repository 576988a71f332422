//! What tools print, line by line.
//!
//! Each module names the versions whose output it was written for.

mod databases;
mod divan;
mod google;
mod rust;
mod servers;
mod suites;

pub(super) use google::Repetitions;
pub(super) use suites::{add_jmh, jmh_name};

use super::figures::Figures;

/// A tool's output, read line by line.
pub(super) trait ToolFormat {
    /// Reads one line. True if the line is this tool's: then no other format reads it.
    fn read(&mut self, line: &str, figures: &mut Figures) -> bool;
}

/// All formats. A line is read by the first that knows it.
pub(super) fn all() -> Vec<Box<dyn ToolFormat>> {
    vec![
        Box::new(rust::Criterion::default()),
        Box::new(rust::Libtest),
        Box::new(divan::Divan::default()),
        Box::new(google::Google::default()),
        Box::new(suites::GoTest),
        Box::new(suites::Jmh::default()),
        Box::new(suites::Hyperfine::default()),
        Box::new(servers::Redis::default()),
        Box::new(servers::Memtier::default()),
        Box::new(servers::Wrk::default()),
        Box::new(databases::DbBench),
        Box::new(databases::Pgbench),
    ]
}
