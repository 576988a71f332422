//! Standard output: what it can show, and writing to it. Files beside it.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use tenure_report::curves::{Measured, page};
use tenure_report::file;
use tenure_report::terminal::Style;

use crate::failure::Failure;

/// Where JSON goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Json<'a> {
    /// Nowhere.
    Unasked,
    /// To standard output, in place of what a person would read.
    Stdout,
    /// To a file.
    File(&'a Path),
}

impl<'a> Json<'a> {
    /// As `--json` says.
    pub(crate) fn of(argument: Option<&'a PathBuf>) -> Self {
        match argument {
            None => Self::Unasked,
            Some(path) if path.as_path() == Path::new("-") => Self::Stdout,
            Some(path) => Self::File(path),
        }
    }

    /// The file, if it goes to one.
    pub(crate) fn file(self) -> Option<&'a Path> {
        match self {
            Self::File(path) => Some(path),
            _ => None,
        }
    }
}

/// Where HTML reports go unless told.
const REPORTS: &str = "tenure-report";

impl Json<'_> {
    /// The file of the HTML report about `names`: in the folder that `--report` names, or else in the usual one, unless
    /// a program reads standard output. The folder is created.
    pub(crate) fn page(
        self,
        argument: Option<&PathBuf>,
        instrument: &str,
        names: &[String],
    ) -> Result<Option<PathBuf>, Failure> {
        let unasked = (self != Self::Stdout).then(|| PathBuf::from(REPORTS));
        let Some(folder) = argument.cloned().or(unasked) else { return Ok(None) };
        fs::create_dir_all(&folder).map_err(|error| Failure::unwritable(&folder, &error))?;
        Ok(Some(folder.join(file::page_name(instrument, names))))
    }
}

/// Delivers a report in every way that was asked for: as JSON, as the text that `text` makes of it, and as a page in the
/// file `page`.
pub(crate) fn tell<M: Measured>(
    json: Json<'_>,
    report: &M,
    page: Option<&Path>,
    text: impl FnOnce(&M, Style) -> String,
) -> Result<(), Failure> {
    let as_json = tenure_report::json::render(report);
    // Files first: a reader of the tables that goes away does not take them along.
    if let Some(path) = json.file() {
        write(path, &as_json)?;
    }
    if let Some(path) = page {
        write(path, &page::render(report))?;
    }
    if json == Json::Stdout {
        print(&as_json)?;
        if let Some(path) = page {
            eprintln!("Report: {}", path.display());
        }
        return Ok(());
    }
    print(&text(report, style()))?;
    match page {
        Some(path) => print(&format!("\nReport: {}\n", path.display())),
        None => Ok(()),
    }
}

/// What standard output can show.
pub(crate) fn style() -> Style {
    let terminal = console::Term::stdout();
    if !io::stdout().is_terminal() {
        return Style::PLAIN;
    }
    let width = terminal.size_checked().map_or(Style::PLAIN.width, |(_, columns)| columns.into());
    // https://no-color.org: any value but the empty one.
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    Style { width, colour: !unwanted && !dumb }
}

/// Writes to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .map_err(|error| Failure::unprintable(&error))
}

/// [`check`], for the file of JSON and for that of a page.
pub(crate) fn check_all(json: Json<'_>, page: Option<&Path>) -> Result<(), Failure> {
    json.file().into_iter().chain(page).try_for_each(check)
}

/// Fails if [`write`] would, before the work is done.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    file::check(path).map_err(|error| Failure::unwritable(path, &error))
}

/// Writes a file, in full or not at all.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    file::write(path, text).map_err(|error| Failure::unwritable(path, &error))
}
