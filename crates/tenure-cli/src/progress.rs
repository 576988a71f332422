//! How far a run has come, on standard error.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tenure_bench::report::table;
use tenure_bench::result::Report;
use tenure_report::terminal::Style;
use tenure_report::words::counted;

use crate::failure::Failure;
use crate::output;

/// A bar on a terminal, and elsewhere one line for each scenario. Prints tables as they are finished, if asked to.
pub(crate) struct Reporter {
    bar: ProgressBar,
    watched: bool,
    /// What is done to a scenario: `measuring`.
    verb: &'static str,
    /// What it is done on: `thread`.
    unit: &'static str,
    scenario: String,
    /// How tables are printed; `None` for none.
    tables: Option<Style>,
    /// The first failure to print.
    failure: Option<Failure>,
}

impl Reporter {
    /// For standard error as it is, for a run that is `verb`ing scenarios on so many `unit`s.
    pub(crate) fn new(verb: &'static str, unit: &'static str) -> Self {
        Self {
            bar: ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()),
            watched: std::io::stderr().is_terminal(),
            verb,
            unit,
            scenario: String::new(),
            tables: None,
            failure: None,
        }
    }

    /// Prints the tables of a benchmark as they are finished.
    pub(crate) fn with_tables(self, tables: Option<Style>) -> Self {
        Self { tables, ..self }
    }

    /// Fails if a table could not be printed.
    pub(crate) fn printed(self) -> Result<(), Failure> {
        self.failure.map_or(Ok(()), Err)
    }

    fn print(&mut self, text: impl FnOnce(Style) -> String) {
        if let (Some(style), None) = (self.tables, &self.failure) {
            let printed = self.bar.suspend(|| output::print(&text(style)));
            // The run goes on for the files it was asked to write.
            self.failure = printed.err();
        }
    }
}

impl tenure_bench::progress::Progress for Reporter {
    fn begin(&mut self, total_steps: u64) {
        let style =
            ProgressStyle::with_template("{bar:30} {pos:>4}/{len}  {eta:>4} left  {wide_msg}")
                .expect("the template is sound, as the bar's test shows");
        self.bar.set_style(style);
        self.bar.set_length(total_steps);
    }

    fn opened(&mut self, report: &Report) {
        self.print(|style| table::opening(report, style));
    }

    fn measured(&mut self, report: &Report) {
        let Some(group) = report.groups.last() else { return };
        let last = group.scenarios.len() - 1;
        self.print(|style| table::scenario(group, last, style));
    }

    fn step(&mut self, scenario: &str, threads: usize, done_steps: u64) {
        if self.watched {
            self.bar.set_message(format!("{scenario}, {}", counted(threads, self.unit)));
            self.bar.set_position(done_steps);
        } else if self.scenario != scenario {
            eprintln!("{} {scenario}", self.verb);
            scenario.clone_into(&mut self.scenario);
        }
    }

    fn end(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A bar for the steps of a long read, where somebody watches.
pub(crate) struct Steps {
    bar: ProgressBar,
}

impl Steps {
    /// For standard error as it is.
    pub(crate) fn new() -> Self {
        Self { bar: ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()) }
    }
}

impl tenure_report::Progress for Steps {
    fn begin(&self, what: &str, total: u64) {
        let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {wide_msg}")
            .expect("the template is sound, as the bar's test shows");
        self.bar.reset();
        self.bar.set_style(style);
        self.bar.set_length(total);
        self.bar.set_message(what.to_owned());
    }

    fn advance(&self, done: u64) {
        self.bar.inc(done);
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use tenure_bench::progress::Progress as _;
    use tenure_report::Progress as _;

    use super::*;

    #[test]
    fn a_bar_goes_through_the_steps_of_a_read() {
        let steps = Steps { bar: ProgressBar::hidden() };
        for total in [3, 5] {
            steps.begin("reading types", total);
            assert_eq!((steps.bar.position(), steps.bar.length()), (0, Some(total)));
            steps.advance(2);
            assert_eq!(steps.bar.position(), 2);
            steps.end();
            assert!(steps.bar.is_finished());
        }
    }

    #[test]
    fn a_bar_goes_through_a_whole_run() {
        let reporter = Reporter::new("measuring", "thread");
        let mut reporter = Reporter { bar: ProgressBar::hidden(), watched: true, ..reporter };
        reporter.begin(2);
        reporter.step("refs/get-put", 1, 1);
        reporter.step("refs/get-put", 2, 2);
        assert_eq!((reporter.bar.position(), reporter.bar.length()), (2, Some(2)));
        reporter.end();
        assert!(reporter.bar.is_finished());
    }
}
