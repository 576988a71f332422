//! Why the command ends early: a failure in one line, a status, or a text to print.

use std::fmt::Display;
use std::io;
use std::path::Path;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
#[cfg(unix)]
use tenure_measure::command::RunError;

/// The exit status after Ctrl-C, as in shells.
pub(crate) const INTERRUPTED: u8 = 130;

#[derive(Debug)]
pub(crate) enum EarlyEnd {
    /// The line also says what to do instead.
    Input(String),
    /// All worked, but a check failed, or a finding is new or worse. The result is printed.
    Check,
    /// The program ended with this status. The report is printed.
    Program(u8),
    /// Ctrl-C ended the work early. What there is of it is printed.
    Interrupted,
    /// Ctrl-C ended the work before there was anything to print.
    #[cfg(unix)]
    InterruptedAtOnce,
    /// No failure: the text of `--help` or `--version`.
    Help(String),
    /// The reader of standard output has gone.
    Closed,
}

#[cfg(unix)]
impl From<RunError> for EarlyEnd {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Stopped => Self::InterruptedAtOnce,
            RunError::Failed(line) => Self::Input(line),
        }
    }
}

impl EarlyEnd {
    pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Self {
        Self::Input(format!("cannot write {}: {error}; name another path", path.display()))
    }

    /// A reader that has gone, such as `head`, ends the command silently.
    pub(crate) fn unprintable(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Input(format!("cannot write to standard output: {error}")),
        }
    }

    pub(crate) fn input(error: impl Display) -> Self {
        Self::Input(error.to_string())
    }

    /// Shortens clap's several lines.
    #[allow(clippy::needless_pass_by_value)]
    pub(crate) fn from_clap(error: clap::Error) -> Self {
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                Self::Help(error.render().to_string())
            }
            // `tenure` alone.
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                if std::env::args_os().len() < 2 =>
            {
                Self::Help(error.render().to_string())
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
                Self::Input(format!("no command given; `{}` lists them", help()))
            }
            _ => Self::Input(one_line(&error)),
        }
    }
}

/// What is wrong, and what was probably meant or where to look it up.
fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let first = text.lines().next().unwrap_or_default();
    let mut line = first.strip_prefix("error: ").unwrap_or(first).trim_end_matches(':').to_owned();
    if let Some(ContextValue::Strings(names)) = error.get(ContextKind::InvalidArg) {
        // clap lists these on lines of their own.
        line += &format!(": {}", names.join(" "));
    }
    let suggestion =
        [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue]
            .into_iter()
            .find_map(|kind| match error.get(kind)? {
                ContextValue::String(word) => Some(word),
                ContextValue::Strings(words) => words.first(),
                _ => None,
            });
    match suggestion {
        Some(word) => line += &format!("; did you mean `{word}`?"),
        None => line += &valid_values(error).unwrap_or_else(|| format!("; see `{}`", help())),
    }
    line
}

fn valid_values(error: &clap::Error) -> Option<String> {
    match error.get(ContextKind::ValidValue)? {
        ContextValue::Strings(words) if !words.is_empty() => {
            Some(format!("; there are {}", words.join(", ")))
        }
        _ => None,
    }
}

fn help() -> String {
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some(word) if crate::CommandLine::command().find_subcommand(word).is_some() => {
            format!("tenure {word} --help")
        }
        _ => "tenure --help".to_owned(),
    }
}
