//! The observer: reads the segments of a running program in even steps, and sums up what could have happened in each.

mod process;
mod reader;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use process::ObservedProcess;
use tenure_model::recording as record;

/// The time between two readings: longer than a scheduler's slice, so that threads that take turns on one CPU meet.
pub(crate) const BUCKET: Duration = Duration::from_millis(50);

/// All processes that have segments in a directory.
#[derive(Debug)]
pub(crate) struct Observer {
    folder: PathBuf,
    processes: BTreeMap<OsString, ObservedProcess>,
}

impl Observer {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), processes: BTreeMap::new() }
    }

    /// Finds processes that have begun.
    fn look_for_processes(&mut self) {
        // What cannot be read now is tried again.
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if is_segment(&name)
                && !self.processes.contains_key(&name)
                && let Ok(Some(process)) = ObservedProcess::open(&entry.path())
            {
                self.processes.insert(name, process);
            }
        }
    }

    /// Ends a bucket of time that took this long.
    pub(crate) fn end_bucket(&mut self, took: Duration) {
        self.look_for_processes();
        for process in self.processes.values_mut() {
            process.end_bucket(took);
        }
    }

    /// Contended lines so far, and the most changes of ownership of one.
    pub(crate) fn so_far(&self) -> (usize, u64) {
        self.processes
            .values()
            .map(ObservedProcess::so_far)
            .fold((0, 0), |(lines, worst), (more, other)| (lines + more, worst.max(other)))
    }

    /// What was recorded, after the last bucket.
    pub(crate) fn finish(self) -> Vec<record::Process> {
        self.processes.into_values().map(ObservedProcess::finish).collect()
    }
}

/// Whether a directory has segments.
pub(crate) fn has_segments(folder: &Path) -> bool {
    fs::read_dir(folder)
        .is_ok_and(|entries| entries.flatten().any(|entry| is_segment(&entry.file_name())))
}

fn is_segment(name: &OsStr) -> bool {
    name.as_encoded_bytes().ends_with(b".probe")
}
