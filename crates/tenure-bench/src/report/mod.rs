//! What a run found, told three ways: tables for a terminal, JSON for machines, and one HTML file
//! for people who were not there.
//!
//! All three read a [`Report`] and nothing else, so that a file of JSON from
//! another machine can be told the same ways.

pub mod html;
pub mod json;
pub mod table;
pub(crate) mod words;

#[cfg(test)]
pub(crate) mod fixtures;

use std::io;
use std::path::{Path, PathBuf};

use tenure_report::file;

use crate::result::Report;

/// The name of the HTML file in a folder of reports.
pub const FILE_NAME: &str = "bench.html";

/// Writes the HTML report into `dir`, which is created if need be, and returns its path. A report
/// that is there already is replaced, at once and in full.
///
/// # Errors
///
/// The folder cannot be created or written.
pub fn write_report(report: &Report, dir: &Path) -> io::Result<PathBuf> {
    let path = dir.join(FILE_NAME);
    file::write(&path, &html::render(report))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_written_into_a_folder_that_did_not_exist_and_replaces_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("a/b");
        let first = write_report(&fixtures::one_cpu(), &dir).unwrap();
        let second = write_report(&fixtures::xeon(), &dir).unwrap();
        assert_eq!(first, second);
        let text = std::fs::read_to_string(&first).unwrap();
        assert!(text.contains("Xeon"));
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1, "no temporary file is left");
    }
}
