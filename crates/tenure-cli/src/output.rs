//! Standard output, and files beside it.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use tenure_report::curves::{AsCurves, page};
use tenure_report::file;
use tenure_report::terminal::Style;

use crate::failure::EarlyEnd;

const REPORTS: &str = "tenure-report";

/// Whether a path stands for standard output, in place of text.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Where the results of `tenure bench` and `tenure sim` go.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Write the results as JSON to FILE, or to standard output in place of the tables with `-`
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write the HTML report into DIR [default: tenure-report; none with `--json -`]
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
}

impl ReportArgs {
    pub(crate) fn has_text(&self) -> bool {
        !self.json.as_deref().is_some_and(is_stdout)
    }

    /// The path of the HTML report about `names`, in a folder that this creates; `None` if JSON goes to standard output and
    /// no folder was given. Fails early if [`tell`](Self::tell) would.
    pub(crate) fn page(
        &self,
        instrument: &str,
        names: &[String],
    ) -> Result<Option<PathBuf>, EarlyEnd> {
        let unasked = self.has_text().then(|| PathBuf::from(REPORTS));
        let page = match self.report.clone().or(unasked) {
            None => None,
            Some(folder) => {
                fs::create_dir_all(&folder)
                    .map_err(|error| EarlyEnd::unwritable(&folder, &error))?;
                Some(folder.join(file::page_name(instrument, names)))
            }
        };
        self.json.iter().chain(&page).try_for_each(|path| check(path))?;
        Ok(page)
    }

    /// Writes the files first: they survive a reader of the text that goes away.
    pub(crate) fn tell<M: AsCurves>(
        &self,
        report: &M,
        page: Option<&Path>,
        text: impl FnOnce(&M, Style) -> String,
    ) -> Result<(), EarlyEnd> {
        page.map_or(Ok(()), |path| write(path, &page::render(report)))?;
        let json = self.json.as_deref();
        json.map_or(Ok(()), |path| write(path, &tenure_report::json::render(report)))?;
        if self.has_text() {
            print(&text(report, style()))?;
        }
        page.map_or(Ok(()), |page| name_page(page, self.has_text()))
    }
}

/// Says where a page is: below the text, or on standard error where something else took its place.
pub(crate) fn name_page(page: &Path, is_text: bool) -> Result<(), EarlyEnd> {
    if is_text {
        return print(&format!("\nReport: {}\n", page.display()));
    }
    eprintln!("Report: {}", page.display());
    Ok(())
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

/// Refuses two options on one file, and files that cannot be written; options that name none are passed over.
pub(crate) fn check_all<'a>(
    files: impl IntoIterator<Item = (&'a str, Option<&'a Path>)>,
) -> Result<(), EarlyEnd> {
    let mut options = HashMap::new();
    for (option, path) in files {
        let Some(path) = path else { continue };
        if let Some(other) = options.insert(path, option) {
            let line = format!("--{other} and --{option} cannot write the same file");
            return Err(EarlyEnd::Input(line));
        }
        check(path)?;
    }
    Ok(())
}

/// Fails early if [`write`] would.
pub(crate) fn check(path: &Path) -> Result<(), EarlyEnd> {
    if is_stdout(path) {
        return Ok(());
    }
    file::check(path).map_err(|error| EarlyEnd::unwritable(path, &error))
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), EarlyEnd> {
    if is_stdout(path) {
        return print(text);
    }
    file::write(path, text).map_err(|error| EarlyEnd::unwritable(path, &error))
}
