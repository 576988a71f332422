//! The simulated runner: the scenarios of [`bench`](crate::scenario) on a machine that is not at hand.
//!
//! The data flows in one line, as on the real machine:
//!
//! ```text
//! scenario ─> rows, each a simulation of its own ─> result ─> table, JSON, HTML
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | [`run`] | from a request to a report |
//! | [`cpus`] | on how many CPUs |
//! | [`machine`] | on which machine |
//! | [`calibrate`] | this host as a machine |
//! | [`parallel`] | several simulations at a time |
//! | [`validation`] | how far the simulator is from what was measured elsewhere |
//! | [`result`] | the report's shape, which is the JSON schema |
//! | [`table`], [`json`], [`html`](mod@html) | the report told three ways |

pub mod calibrate;
pub mod cpus;
pub mod html;
pub mod json;
pub mod machine;
pub mod parallel;
pub mod result;
mod row;
pub mod run;
pub mod table;
pub mod validation;
mod words;

#[cfg(test)]
mod fixtures;

use std::io;
use std::path::{Path, PathBuf};
use tenure_report::file;

/// The name of the HTML file in a folder of reports.
pub const FILE_NAME: &str = "sim.html";

/// Writes the HTML report into `dir`, which is created if need be, and returns its path. A report
/// that is there already is replaced, at once and in full.
///
/// # Errors
///
/// The folder cannot be created or written.
pub fn write_report(report: &result::Report, dir: &Path) -> io::Result<PathBuf> {
    let path = dir.join(FILE_NAME);
    file::write(&path, &html::render(report))?;
    Ok(path)
}
