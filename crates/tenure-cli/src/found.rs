//! Where the findings of `tenure run` and `tenure watch` go: text, JSON, a page, patterns.

use std::fs;
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};

use tenure_find::{Report, Source, html, json, terminal};

use crate::failure::Failure;
use crate::output::{self, Json};

/// What is to be written.
pub(crate) struct Output<'a> {
    pub(crate) json: Json<'a>,
    pub(crate) html: Option<&'a Path>,
    pub(crate) patterns: Option<&'a Path>,
    pub(crate) text: Text,
}

/// Where the text goes, unless JSON takes its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Text {
    None,
    Stdout,
    Stderr,
}

impl Output<'_> {
    pub(crate) fn deliver(&self, report: &Report) -> Result<(), Failure> {
        if let Some(path) = self.json.file() {
            output::write(path, &json::render(report))?;
        }
        if let Some(path) = self.html {
            output::write(path, &html::render(report))?;
        }
        let written = self.patterns.map(|folder| write_patterns(folder, report));
        let written = written.transpose()?.flatten();
        if self.json == Json::Stdout {
            return output::print(&json::render(report));
        }
        match self.text {
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

/// Refuses one file for both.
pub(crate) fn check_apart(json: Option<&Path>, html: Option<&Path>) -> Result<(), Failure> {
    if html.is_some() && html == json {
        return Err(Failure::input("--json and --html cannot write the same file"));
    }
    Ok(())
}

/// Makes a directory for patterns, and refuses one that has others: they would seem to be of this run.
pub(crate) fn check_folder(folder: &Path) -> Result<(), Failure> {
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
