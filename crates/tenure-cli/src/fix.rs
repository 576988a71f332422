//! `tenure fix`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use tenure_analyze::diff;
use tenure_edit::Padding;
use tenure_fix::apply::apply;
use tenure_fix::session::FixRequest;
use tenure_measure::command::{MeasuredCommand, RunError, shell_line};
use tenure_measure::git::{self, git};
use tenure_model::{FixReport, Report};
use tenure_render::fix;

use crate::compare::{MetricArgs, here};
use crate::failure::EarlyEnd;
use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::ProgressDisplay;
use crate::values::{change, duration, rounds};

/// Make the changes of a report in a copy of the source, test and measure them, and write a patch of those that pay
///
/// Each change is edited, built, tested, compared with the tree without it, and recorded again. Your files stay as they are, unless
/// --apply is given. Rust, C and C++: members, elements and variables on lines of their own, counts per thread, a test before a store, a borrow
/// in place of a clone. Of other changes the report has words and code.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
                        tenure fix -- cargo bench\n  \
                        tenure fix 1 --from report.json -- cargo bench --bench router\n  \
                        tenure fix --build 'make -j2' --test 'make check' -- ./bench\n\n\
                        Exit status: 0, also if no change pays; 2 on wrong usage, or if nothing can be tried; 130 if Ctrl-C ended it \
                        early, after it wrote what was done.")]
pub(crate) struct FixArgs {
    /// Try these changes of the report, by their numbers [default: the first three]
    #[arg(value_name = "N", value_parser = change)]
    numbers: Vec<u64>,

    /// The benchmark: a command, or one line in quotes
    #[arg(required = true, last = true, value_name = "BENCH")]
    command: Vec<String>,

    /// Take changes from this report, written by `tenure run --json` or `tenure watch --json` [default: record BENCH first]
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,

    /// Build by this command [default: what BENCH of cargo builds; else by the Makefile, or by CMake's or meson's file]
    #[arg(long, value_name = "COMMAND")]
    build: Option<String>,

    /// Test by this command [default: `cargo test`, if BENCH is cargo; else no tests, and the result says so]
    #[arg(long, value_name = "COMMAND")]
    test: Option<String>,

    /// Pad Rust types by this dependency, which the crate has to have; `none` writes a type
    #[arg(long, value_name = "CRATE", default_value = "none")]
    dependency: DependencyArg,

    #[command(flatten)]
    metric: MetricArgs,

    /// Compare in at most N rounds
    #[arg(long, value_name = "N", default_value = "20", value_parser = rounds)]
    rounds: usize,

    /// Compare each change for at most this time [default: 5m, but not before intervals have their probability]
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    time: Option<Duration>,

    /// Keep changes that are not faster here, but are predicted to be on more CPUs
    #[arg(long)]
    keep_predicted: bool,

    /// Apply the patch to your files, unless they have uncommitted changes
    #[arg(long)]
    apply: bool,

    /// Write the patch to FILE
    #[arg(long, value_name = "FILE", default_value = "fix.patch")]
    patch: PathBuf,

    /// Write what became of each change as JSON to FILE, or to standard output in place of text with `-`
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DependencyArg {
    None,
    CrossbeamUtils,
    Tenure,
}

pub(crate) fn run(arguments: &FixArgs) -> Result<(), EarlyEnd> {
    let metric = arguments.metric.metric()?;
    if output::is_stdout(&arguments.patch) {
        return Err(EarlyEnd::Input("--patch takes a file, such as fix.patch".to_owned()));
    }
    output::check_all([("json", arguments.json.as_deref()), ("patch", Some(&*arguments.patch))])?;
    let old = std::fs::read(&arguments.patch).unwrap_or_default();
    if !old.is_empty() && !old.starts_with(b"diff ") {
        let line =
            format!("{} is there, and no patch: name another file", arguments.patch.display());
        return Err(EarlyEnd::Input(line));
    }
    let report = arguments.from.as_deref().map(diff::read).transpose().map_err(EarlyEnd::input)?;
    let here = here()?;
    if arguments.apply {
        warn_of_uncommitted(&here);
    }
    let interrupt = Interrupt::catch()?;
    let came = interrupt.handle();
    let stop = || came.get();
    let record = |folder: &Path, build: Option<&str>, words: &[String]| {
        recorded(folder, build, words, &stop)
    };
    let request = FixRequest {
        here: here.clone(),
        command: arguments.command.clone(),
        build: arguments.build.clone(),
        test: arguments.test.clone(),
        numbers: arguments.numbers.clone(),
        padding: match arguments.dependency {
            DependencyArg::None => Padding::Own,
            DependencyArg::CrossbeamUtils => Padding::Crossbeam,
            DependencyArg::Tenure => Padding::Tenure,
        },
        metric,
        rounds: arguments.rounds,
        time: arguments.time,
        keep_predicted: arguments.keep_predicted,
    };
    let fixed = request.fix(report, &record, &stop, &ProgressDisplay::new())?;
    // What was found out is said whatever becomes of files.
    let written = arguments.write(&fixed);
    arguments.tell(&fixed, written.is_ok(), &here)?;
    written?;
    match arguments.apply && !fixed.patch.is_empty() {
        true if stop() => output::print("Not applied: it was interrupted.\n")?,
        true => {
            apply(&here, &arguments.patch).map_err(EarlyEnd::Input)?;
            output::print("Applied.\n")?;
        }
        false => {}
    }
    if stop() { Err(EarlyEnd::Interrupted) } else { Ok(()) }
}

impl FixArgs {
    /// Writes patches and JSON.
    fn write(&self, fixed: &FixReport) -> Result<(), EarlyEnd> {
        if !fixed.patch.is_empty() {
            output::write(&self.patch, &fixed.patch)?;
        }
        for it in &fixed.dependencies {
            output::write(&self.patch_of(&it.name), &it.patch)?;
        }
        let json = self.json.as_deref();
        json.map_or(Ok(()), |path| output::write(path, &tenure_report::json::render(fixed)))
    }

    fn tell(&self, fixed: &FixReport, is_written: bool, here: &Path) -> Result<(), EarlyEnd> {
        if self.json.as_deref().is_some_and(output::is_stdout) {
            return Ok(());
        }
        output::print(&fix::terminal(fixed, output::style()))?;
        if !is_written {
            return Ok(());
        }
        let mut text = String::new();
        if !fixed.patch.is_empty() {
            let path = self.patch.display();
            let how = match self.apply {
                true => String::new(),
                false => format!(
                    " ({})",
                    apply_line(
                        &self.patch,
                        here,
                        &git::top(here).unwrap_or_else(|_| here.to_owned())
                    )
                ),
            };
            text += &format!("\nPatch: {path}{how}\n");
        }
        for it in &fixed.dependencies {
            let path = self.patch_of(&it.name);
            let how = match &it.table {
                Some(table) => {
                    format!("apply it to a copy of {}, and name that in [patch.{table}]", it.folder)
                }
                // Where the folder is part of another repository, `git apply` would skip the whole patch.
                None => {
                    let patch = here.join(&path).display().to_string();
                    shell_line(&["patch", "-d", &it.folder, "-p1", "-i", &patch].map(str::to_owned))
                }
            };
            text += &format!("\nPatch of {}: {} ({how})\n", it.name, path.display());
        }
        if text.is_empty() {
            "\nNo patch: no change was kept.\n".clone_into(&mut text);
            if self.patch.exists() {
                text += &format!("{} is an older one.\n", self.patch.display());
            }
        }
        output::print(&text)
    }

    /// The patch of a dependency lies beside that of the program: `fix-dashmap-5.5.3.patch`.
    fn patch_of(&self, name: &str) -> PathBuf {
        let stem = self.patch.file_stem().unwrap_or_default().to_string_lossy();
        self.patch.with_file_name(format!("{stem}-{name}.patch"))
    }
}

/// What applies a patch whose paths are from `top`: `git apply` passes over those that lie outside of the folder.
fn apply_line(patch: &Path, here: &Path, top: &Path) -> String {
    let patch = |folder: &Path| folder.join(patch).display().to_string();
    let words = match top == here {
        true => vec!["git".to_owned(), "apply".to_owned(), patch(Path::new(""))],
        false => {
            let top = top.display().to_string();
            ["git", "-C", &top, "apply", &patch(here)].map(str::to_owned).into()
        }
    };
    shell_line(&words)
}

/// Says before anything is measured what `--apply` may refuse at the end.
fn warn_of_uncommitted(here: &Path) {
    let changed = git(here, &["diff", "--name-only", "HEAD"]).unwrap_or_default();
    if let Some(first) = changed.lines().next() {
        let count = changed.lines().count();
        eprintln!(
            "{count} {} uncommitted changes ({first}{}): --apply will refuse a patch that changes one of them.",
            if count == 1 { "file has" } else { "files have" },
            if count == 1 { "" } else { ", …" },
        );
    }
}

/// Records the benchmark by this same program, after an instrumented build if it is not cargo's.
fn recorded(
    folder: &Path,
    build: Option<&str>,
    words: &[String],
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Report, RunError> {
    let failed = |what: String| RunError::Failed(format!("cannot record the benchmark: {what}"));
    let this = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    // What a recording that is ended leaves goes with it. Its own folder may be named from here.
    let scratch = tempfile::tempdir().map_err(|error| failed(error.to_string()))?;
    let path = std::path::absolute(scratch.path()).map_err(|error| failed(error.to_string()))?;
    let (file, path) = (path.join("report.json"), path.to_string_lossy().into_owned());
    let run = |options: &[&str], words: Vec<String>| {
        let this = this.to_string_lossy();
        let start = [&*this, "run"].into_iter().chain(options.iter().copied());
        let start: Vec<String> = start.chain(["--"]).map(str::to_owned).collect();
        let line = shell_line(&[start, words].concat());
        let variables = vec![("TMPDIR".to_owned(), path.clone())];
        let directory = Some(folder.to_owned());
        MeasuredCommand { line, directory, variables, server: None }.outcome(None, stop)
    };
    if let Some(build) = build {
        let built = run(&["--cc"], ["sh", "-c", build].map(str::to_owned).to_vec())?;
        if let Some(failure) = built.failure {
            return Err(failed(failure));
        }
    }
    let ran = run(&["--json", &file.to_string_lossy()], words.to_vec())?;
    // What a program did before it failed is not the benchmark.
    if let Some(failure) = ran.failure {
        return Err(failed(failure));
    }
    diff::read(&file).map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_applied_at_the_top() {
        let top = Path::new("/program");
        let line = |patch: &str, here: &str| apply_line(Path::new(patch), Path::new(here), top);
        assert_eq!(line("my fix.patch", "/program"), "git apply 'my fix.patch'");
        assert_eq!(
            line("fix.patch", "/program/src"),
            "git -C /program apply /program/src/fix.patch"
        );
    }
}
