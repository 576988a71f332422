//! The options that write findings to files, one for each format: `--json FILE`, `--html FILE`.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};
use tenure_model::Report;
use tenure_render::{FILE_FORMATS, FileFormat};
use tenure_report::file;

use crate::failure::EarlyEnd;
use crate::output;

/// The formats that were asked for, and where each goes: to files first, which survive a reader of standard output that
/// goes away.
#[derive(Debug, Clone)]
pub(crate) struct Exports(Vec<(&'static FileFormat, PathBuf)>);

impl Args for Exports {
    fn augment_args(command: Command) -> Command {
        command.args(FILE_FORMATS.iter().map(|format| {
            let help =
                format!("{} to FILE, or to standard output in place of text with `-`", format.help);
            let option = Arg::new(format.option).long(format.option).value_name("FILE").help(help);
            option.value_parser(value_parser!(PathBuf))
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Exports {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let path = |format: &FileFormat| matches.get_one::<PathBuf>(format.option).cloned();
        let mut all: Vec<_> = FILE_FORMATS.iter().filter_map(|it| Some((it, path(it)?))).collect();
        all.sort_by_key(|(_, path)| output::is_stdout(path));
        Ok(Self(all))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        Self::from_arg_matches(matches).map(|all| *self = all)
    }
}

impl Exports {
    /// Refuses two formats in one file, and files that cannot be written.
    pub(crate) fn check(&self) -> Result<(), EarlyEnd> {
        output::check_all(self.0.iter().map(|(format, path)| (format.option, Some(path.as_path()))))
    }

    /// The files that are pages.
    pub(crate) fn pages(&self) -> impl Iterator<Item = &Path> {
        let pages = self.0.iter().filter(|(format, _)| format.is_page);
        pages.map(|(_, path)| path.as_path()).filter(|path| !output::is_stdout(path))
    }

    /// Whether no format takes the place of the text.
    pub(crate) fn leave_text(&self) -> bool {
        !self.0.iter().any(|(_, path)| output::is_stdout(path))
    }

    /// Writes each format. Where a fuller report follows, only files that it can replace.
    pub(crate) fn write(&self, report: &Report, another_follows: bool) -> Result<(), EarlyEnd> {
        let is_due = |path: &Path| !output::is_stdout(path) && file::is_replaced(path);
        let mut due = self.0.iter().filter(|(_, path)| !another_follows || is_due(path));
        due.try_for_each(|(format, path)| {
            // Programs make edits from what is no page.
            let edited = (!format.is_page).then(|| {
                let mut report = report.clone();
                tenure_fix::edits::add(&mut report, Path::new("."));
                report
            });
            output::write(path, &format.exporter.export(edited.as_ref().unwrap_or(report)))
        })
    }
}
