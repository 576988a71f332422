//! Shows findings of contended cache lines ([`tenure_model::Report`]): one exporter a format.
//!
//! Findings come from a program's types (`tenure layout`) or from a run of it (`tenure run`). Nothing here knows how they
//! were made: the renderers read a report and nothing else, so that JSON from another machine can be shown too. Names in
//! a report come from files that may be hostile: each renderer first removes what would steer a terminal or turn text around, and
//! HTML escapes the rest.
//!
//! A format is a module with an [`Exporter`], such as [`terminal`], [`html`](mod@html) and [`json`], and what files can be written in
//! has a line in [`FILE_FORMATS`].
//!
//! [`comparison`] shows which of two programs is faster, and [`fix`] what became of changes, in their own formats.
//!
//! A *line map* has one row for each cache line and cells as wide as members are long. Beside its colour each cell has
//! a sign:
//!
//! | sign | the member |
//! |---|---|
//! | `!` | is a contended word |
//! | `*` | suffers: it shares the line with one and is likely read meanwhile |
//! | `✓` | suffered, and no longer does in the suggested order |
//! | `→` | changes place in the suggested order |
//! | `=` | is read mostly |
//! | `~` | is cold |
//! | `░` | is none: a hole |

pub mod comparison;
pub mod fix;
pub mod html;
pub mod json;
pub mod terminal;

mod clean;
mod maps;
mod picture;
mod prose;

use std::fmt::Debug;

use tenure_model::Report;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod hostile;

/// Shows reports in one format.
pub trait Exporter: Debug + Sync {
    /// The whole report, as text that ends in a line break.
    fn export(&self, report: &Report) -> String;
}

/// A format that an option of the command writes to a file.
#[derive(Debug)]
pub struct FileFormat {
    /// The option's name: `html` for `--html FILE`.
    pub option: &'static str,
    /// What the option does, up to the file.
    pub help: &'static str,
    /// Whether it is a page for people, on which `tenure layout` shows better layouts as well.
    pub is_page: bool,
    /// What writes it.
    pub exporter: &'static dyn Exporter,
}

/// All formats for files, in the order of `--help`.
#[rustfmt::skip]
pub const FILE_FORMATS: &[FileFormat] = &[
    FileFormat { option: "json", help: "Write everything as JSON", is_page: false, exporter: &json::JsonExporter },
    FileFormat { option: "html", help: "Write an HTML page with a map of each line", is_page: true, exporter: &html::HtmlExporter },
];
