//! Standard output, and files beside it.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tenure_report::curves::{AsCurves, page};
use tenure_report::file;
use tenure_report::terminal::Style;

use crate::failure::EarlyEnd;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Json<'a> {
    Unasked,
    Stdout,
    File(&'a Path),
}

impl<'a> Json<'a> {
    pub(crate) fn of(argument: Option<&'a PathBuf>) -> Self {
        match argument {
            None => Self::Unasked,
            Some(path) if path.as_path() == Path::new("-") => Self::Stdout,
            Some(path) => Self::File(path),
        }
    }

    pub(crate) fn file(self) -> Option<&'a Path> {
        match self {
            Self::File(path) => Some(path),
            _ => None,
        }
    }
}

const REPORTS: &str = "tenure-report";

impl Json<'_> {
    /// The path of the HTML report about `names`, in the folder of `--report` or the default one, which it creates;
    /// `None` if JSON goes to standard output and no folder was given.
    pub(crate) fn page(
        self,
        argument: Option<&PathBuf>,
        instrument: &str,
        names: &[String],
    ) -> Result<Option<PathBuf>, EarlyEnd> {
        let unasked = (self != Self::Stdout).then(|| PathBuf::from(REPORTS));
        let Some(folder) = argument.cloned().or(unasked) else { return Ok(None) };
        fs::create_dir_all(&folder).map_err(|error| EarlyEnd::unwritable(&folder, &error))?;
        Ok(Some(folder.join(file::page_name(instrument, names))))
    }
}

pub(crate) fn tell<M: AsCurves>(
    json: Json<'_>,
    report: &M,
    page: Option<&Path>,
    text: impl FnOnce(&M, Style) -> String,
) -> Result<(), EarlyEnd> {
    let as_json = tenure_report::json::render(report);
    deliver(json, &as_json, page, || page::render(report), |style| text(report, style))
}

pub(crate) fn deliver(
    json: Json<'_>,
    as_json: &str,
    page: Option<&Path>,
    html: impl FnOnce() -> String,
    text: impl FnOnce(Style) -> String,
) -> Result<(), EarlyEnd> {
    // Files first: they survive a reader of the text that goes away.
    if let Some(path) = json.file() {
        write(path, as_json)?;
    }
    if let Some(path) = page {
        write(path, &html())?;
    }
    if json == Json::Stdout {
        print(as_json)?;
        if let Some(path) = page {
            eprintln!("Report: {}", path.display());
        }
        return Ok(());
    }
    print(&text(style()))?;
    match page {
        Some(path) => print(&format!("\nReport: {}\n", path.display())),
        None => Ok(()),
    }
}

pub(crate) fn style() -> Style {
    style_of(&console::Term::stdout())
}

pub(crate) fn style_of(terminal: &console::Term) -> Style {
    if !terminal.is_term() {
        return Style::PLAIN;
    }
    let width = terminal.size_checked().map_or(Style::PLAIN.width, |(_, columns)| columns.into());
    // https://no-color.org: any value but the empty one.
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    Style { width, colour: !unwanted && !dumb }
}

pub(crate) fn print(text: &str) -> Result<(), EarlyEnd> {
    let mut output = io::stdout().lock();
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .map_err(|error| EarlyEnd::unprintable(&error))
}

pub(crate) fn check_all(json: Json<'_>, page: Option<&Path>) -> Result<(), EarlyEnd> {
    json.file().into_iter().chain(page).try_for_each(check)
}

/// Fails early if [`write`] would.
pub(crate) fn check(path: &Path) -> Result<(), EarlyEnd> {
    file::check(path).map_err(|error| EarlyEnd::unwritable(path, &error))
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), EarlyEnd> {
    file::write(path, text).map_err(|error| EarlyEnd::unwritable(path, &error))
}
