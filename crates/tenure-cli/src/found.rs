//! Where the findings of `tenure run` and `tenure watch` go: text, JSON, a page, patterns.

use std::fs;
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};

use clap::Args;
use tenure_analyze::{
    Analysis, Budget, FindingFilter, Machine, Programs, Unpredicted, diff, leave_unpredicted,
};
use tenure_model::{Report, Source};
use tenure_render::Exporter;
use tenure_render::terminal::{self, TerminalExporter};
use tenure_report::terminal::Style;
use tenure_sim::machine;

use crate::exports::Exports;
use crate::failure::EarlyEnd;
use crate::interrupt::Interrupt;
use crate::output;
use crate::predict::{Predicting, predict};

/// The options that both have.
#[derive(Debug, Args)]
pub(crate) struct ReportOptions {
    /// Write the access patterns to DIR, for `tenure sim`: of each finding, and of the program
    #[arg(long, value_name = "DIR")]
    patterns: Option<PathBuf>,

    /// Predict the gains on this machine: a built-in one (see `tenure sim --list`), or a file that describes one
    #[arg(long, value_name = "NAME | FILE.toml", default_value = tenure_analyze::MACHINE)]
    machine: String,

    /// Show what differs from an older report that --json wrote; exit with 1 if a finding is new or worse
    #[arg(long, value_name = "OLD.json")]
    diff: Option<PathBuf>,

    /// Pass over this function to those who call it, as over wrappers of locks and allocators; `*` stands for anything
    #[arg(long, value_name = "FUNCTION")]
    pub(crate) through: Vec<String>,

    /// Show only findings in this module, function, file or folder, such as `server::session` or `src/session.rs`
    #[arg(long = "in", value_name = "WHERE")]
    within: Option<String>,

    /// Show only findings of this type; `*` stands for anything
    #[arg(long = "type", value_name = "NAME")]
    type_name: Option<String>,

    /// Show only findings in your own code, not in dependencies and standard libraries
    #[arg(long)]
    yours: bool,

    /// Check the findings against a budget, and exit with 1 if a line is not allowed; leave out those that it suppresses
    #[arg(long, value_name = "BUDGET.toml")]
    check: Option<PathBuf>,

    /// Show every word, use and curve of each finding
    #[arg(long)]
    full: bool,

    /// Skip predicting what each change would give, which takes some seconds of processor time
    #[arg(long)]
    no_predict: bool,

    #[command(flatten)]
    exports: Exports,
}

/// Where the text goes, unless JSON takes its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextStream {
    None,
    Stdout,
    Stderr,
}

/// The options, when all that they name could be read, and may be written.
pub(crate) struct ReportSinks<'a> {
    options: &'a ReportOptions,
    old: Option<Report>,
    budget: Option<Budget>,
    machine: Machine,
}

impl ReportOptions {
    /// The programs of the report.
    pub(crate) fn programs(&self) -> Programs {
        Programs::through(self.through.clone())
    }

    /// Refuses before the program runs what would fail after it.
    pub(crate) fn check(&self) -> Result<ReportSinks<'_>, EarlyEnd> {
        self.exports.check()?;
        self.patterns.as_deref().map(check_folder).transpose()?;
        let old = self.diff.as_deref().map(diff::read).transpose().map_err(EarlyEnd::input)?;
        let budget =
            self.check.as_deref().map(Budget::read).transpose().map_err(EarlyEnd::input)?;
        let machine = machine::open(&self.machine).map_err(EarlyEnd::input)?;
        Ok(ReportSinks { options: self, old, budget, machine })
    }
}

impl ReportSinks<'_> {
    /// Compares a report with the older one, and writes its first `top` findings with what each change would give. If that
    /// takes long it comes later, and a signal ends it: what there is has been written.
    pub(crate) fn deliver(
        &self,
        found: Analysis,
        top: usize,
        text: TextStream,
        interrupt: &Interrupt,
    ) -> Result<Report, EarlyEnd> {
        let Analysis { mut report, forecasts } = found;
        // Of all findings: what is left out below is not gone.
        if let Some(old) = &self.old {
            report.changes = Some(diff::changes(old, &report).map_err(EarlyEnd::input)?);
        }
        if let Some(budget) = &self.budget {
            budget.suppress(&mut report);
            report.checks = budget.check(&report);
        }
        let (within, type_name) = (self.options.within.clone(), self.options.type_name.clone());
        FindingFilter { within, type_name, yours: self.options.yours }.apply(&mut report);
        report.findings.truncate(top);
        report.scope.top = top as u64;
        let was_asked = !self.options.no_predict;
        let predicts = was_asked && forecasts.count() > 0;
        if !predicts {
            let why = if was_asked { Unpredicted::Impossible } else { Unpredicted::Unasked };
            leave_unpredicted(&mut report, why);
        }
        let folder = self.options.patterns.as_deref();
        let written = folder.map(|folder| write_patterns(folder, &report)).transpose()?.flatten();
        let exports = &self.options.exports;
        let text = if exports.leave_text() { text } else { TextStream::None };
        exports.write(&report, predicts)?;
        let full = self.options.full;
        let show =
            |report: &Report| text.print(|style| TerminalExporter { style, full }.export(report));
        if !predicts {
            show(&report)?;
        } else {
            let mut shown = None;
            let machine = self.machine.clone();
            let outcome = predict(forecasts, machine, interrupt, |progress| match progress {
                Predicting::Made(made) => made.enter(&mut report),
                Predicting::TakesLong => shown = Some(show(&report)),
            });
            if let Source::Run(run) = &mut report.source {
                run.predicting = Some(outcome.took.as_secs_f64());
                run.missing.extend(outcome.left_out.clone());
            }
            let is_whole = outcome.left_out.is_none();
            let why = if is_whole { Unpredicted::Impossible } else { Unpredicted::CutShort };
            leave_unpredicted(&mut report, why);
            exports.write(&report, false)?;
            match shown {
                None => show(&report)?,
                Some(shown) => {
                    shown?;
                    text.print(|style| {
                        let predicted = terminal::predictions(&report, style);
                        let left_out = outcome.left_out.map(|left_out| left_out + "\n");
                        let parts = [Some(predicted), left_out].into_iter().flatten();
                        let parts = parts.filter(|part| !part.is_empty());
                        parts.map(|part| format!("\n{part}")).collect()
                    })?;
                }
            }
        }
        if let Some(example) = written.filter(|_| exports.leave_text()) {
            eprintln!(
                "\ntenure: to simulate other machines: tenure sim {} --cpus 1..128",
                example.display()
            );
        }
        Ok(report)
    }
}

impl TextStream {
    fn print(self, text: impl FnOnce(Style) -> String) -> Result<(), EarlyEnd> {
        match self {
            Self::None => {}
            Self::Stdout => output::print(&text(output::style()))?,
            Self::Stderr => {
                let style = output::style_of(&console::Term::stderr());
                // A reader that has gone is no failure.
                let _ = stderr().lock().write_all(text(style).as_bytes());
            }
        }
        Ok(())
    }
}

/// Makes a directory for patterns, and refuses one that has others: they would seem to be of this run.
fn check_folder(folder: &Path) -> Result<(), EarlyEnd> {
    let failed = |error| EarlyEnd::unwritable(folder, &error);
    fs::create_dir_all(folder).map_err(failed)?;
    let is_pattern = |entry: fs::DirEntry| entry.path().extension().is_some_and(|it| it == "toml");
    if fs::read_dir(folder).map_err(failed)?.flatten().any(is_pattern) {
        return Err(EarlyEnd::Input(format!(
            "{} has the patterns of another run; name an empty directory with --patterns",
            folder.display()
        )));
    }
    output::check(&folder.join("1.toml"))
}

/// Writes the pattern of each finding, and that of the whole program; returns the worst finding's file.
fn write_patterns(folder: &Path, report: &Report) -> Result<Option<PathBuf>, EarlyEnd> {
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
