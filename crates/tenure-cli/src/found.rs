//! Where the findings of `tenure run` and `tenure watch` go: text, JSON, a page, patterns.

use std::fs;
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};

use clap::Args;
use tenure_find::{Report, Source, diff, html, json, terminal};

use crate::failure::Failure;
use crate::output::{self, Json};

/// The options that both have.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Write the access patterns to DIR, for `tenure sim`: of each finding, and of the program
    #[arg(long, value_name = "DIR")]
    patterns: Option<PathBuf>,

    /// Machine to predict the gains on: a built-in one (see `tenure sim --list`), or a file that describes one
    #[arg(long, value_name = "NAME | FILE.toml", default_value = tenure_run::find::MACHINE)]
    pub(crate) machine: String,

    /// Show what differs from an older report, written by --json. Exits with 1 if a finding is new or worse
    #[arg(long, value_name = "OLD.json")]
    diff: Option<PathBuf>,

    /// Write everything as JSON to FILE, or to standard output in place of text with `-`
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write an HTML page with a map of each line
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Where the text goes, unless JSON takes its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Text {
    None,
    Stdout,
    Stderr,
}

/// The options, when all that they name could be read, and may be written.
pub(crate) struct Output<'a> {
    options: &'a Options,
    json: Json<'a>,
    old: Option<Report>,
}

impl Options {
    /// Refuses before the program runs what would fail after it.
    pub(crate) fn check(&self) -> Result<Output<'_>, Failure> {
        if self.html.is_some() && self.html == self.json {
            return Err(Failure::input("--json and --html cannot write the same file"));
        }
        let json = Json::of(self.json.as_ref());
        output::check_all(json, self.html.as_deref())?;
        self.patterns.as_deref().map(check_folder).transpose()?;
        let old = self.diff.as_deref().map(json::read).transpose().map_err(Failure::input)?;
        Ok(Output { options: self, json, old })
    }
}

impl Output<'_> {
    /// Compares a report with the older one, and writes its first `top` findings.
    pub(crate) fn deliver(
        &self,
        report: &mut Report,
        top: usize,
        text: Text,
    ) -> Result<(), Failure> {
        if let Some(old) = &self.old {
            report.changes = Some(diff::changes(old, report).map_err(Failure::input)?);
        }
        report.findings.truncate(top);
        report.scope.top = top as u64;
        if let Some(path) = self.json.file() {
            output::write(path, &json::render(report))?;
        }
        if let Some(path) = &self.options.html {
            output::write(path, &html::render(report))?;
        }
        let folder = self.options.patterns.as_deref();
        let written = folder.map(|folder| write_patterns(folder, report)).transpose()?.flatten();
        if self.json == Json::Stdout {
            return output::print(&json::render(report));
        }
        match text {
            Text::None => {}
            Text::Stdout => output::print(&terminal::render(report, output::style()))?,
            Text::Stderr => {
                let style = output::style_of(&console::Term::stderr());
                // A reader that has gone is no failure.
                let _ = stderr().lock().write_all(terminal::render(report, style).as_bytes());
            }
        }
        if let Some(example) = written {
            eprintln!(
                "\ntenure: to simulate other machines: tenure sim {} --cpus 1..128",
                example.display()
            );
        }
        Ok(())
    }
}

/// Makes a directory for patterns, and refuses one that has others: they would seem to be of this run.
fn check_folder(folder: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::unwritable(folder, &error);
    fs::create_dir_all(folder).map_err(failed)?;
    let is_pattern = |entry: fs::DirEntry| entry.path().extension().is_some_and(|it| it == "toml");
    if fs::read_dir(folder).map_err(failed)?.flatten().any(is_pattern) {
        return Err(Failure::Input(format!(
            "{} has the patterns of another run; name an empty directory with --patterns",
            folder.display()
        )));
    }
    output::check(&folder.join("1.toml"))
}

/// Writes the pattern of each finding, and that of the whole program; returns the worst finding's file.
fn write_patterns(folder: &Path, report: &Report) -> Result<Option<PathBuf>, Failure> {
    let Source::Run(run) = &report.source else { return Ok(None) };
    let findings = report.findings.iter().map(|it| (it.rank.to_string(), &it.pattern));
    let mut first = None;
    for (name, pattern) in findings.chain([("program".to_owned(), &run.pattern)]) {
        let Some(pattern) = pattern else { continue };
        let path = folder.join(name + ".toml");
        output::write(&path, pattern)?;
        first.get_or_insert(path);
    }
    Ok(first)
}
