//! Progress on standard error.

use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tenure_model::Progress;

/// A bar on a terminal, a line for each subject elsewhere.
pub(crate) struct ProgressDisplay {
    bar: ProgressBar,
    watched: bool,
    /// The work (`measuring`) and its last subject (`refs/get-put`).
    now: Mutex<(String, String)>,
}

impl ProgressDisplay {
    pub(crate) fn new() -> Self {
        Self {
            bar: ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()),
            watched: std::io::stderr().is_terminal(),
            now: Mutex::default(),
        }
    }

    fn line(&self, subject: &str) -> Option<String> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = now.1 != subject;
        subject.clone_into(&mut now.1);
        (is_new && !self.watched).then(|| format!("{} {subject}", now.0))
    }

    /// Hides the bar while it prints.
    pub(crate) fn suspend<R>(&self, print: impl FnOnce() -> R) -> R {
        self.bar.suspend(print)
    }
}

impl Progress for ProgressDisplay {
    fn begin(&self, what: &str, total: u64) {
        let style =
            ProgressStyle::with_template("{bar:30} {pos:>4}/{len}  {eta:>4} left  {wide_msg}")
                .expect("the template is sound, as the bar's test shows");
        self.bar.reset();
        self.bar.set_style(style);
        self.bar.set_length(total);
        self.bar.set_message(what.to_owned());
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = (what.to_owned(), String::new());
    }

    fn at(&self, subject: &str, condition: &str) {
        if let Some(line) = self.line(subject) {
            eprintln!("{line}");
        }
        self.bar.set_message(format!("{subject}, {condition}"));
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
    use super::*;

    #[test]
    fn a_bar_goes_through_several_steps() {
        let bar =
            ProgressDisplay { bar: ProgressBar::hidden(), watched: true, now: Mutex::default() };
        for total in [3, 5] {
            bar.begin("reading types", total);
            assert_eq!((bar.bar.position(), bar.bar.length()), (0, Some(total)));
            assert_eq!(bar.bar.message(), "reading types");
            bar.at("refs/get-put", "2 threads");
            assert_eq!(bar.bar.message(), "refs/get-put, 2 threads");
            bar.advance(2);
            assert_eq!(bar.bar.position(), 2);
            bar.end();
            assert!(bar.bar.is_finished());
        }
    }

    #[test]
    fn without_a_terminal_each_subject_has_one_line() {
        let bar =
            ProgressDisplay { bar: ProgressBar::hidden(), watched: false, now: Mutex::default() };
        bar.begin("measuring", 3);
        assert_eq!(bar.line("refs/get"), Some("measuring refs/get".to_owned()));
        assert_eq!(bar.line("refs/get"), None, "another condition of the same subject");
        assert_eq!(bar.line("refs/put"), Some("measuring refs/put".to_owned()));
        bar.begin("simulating", 1);
        assert_eq!(bar.line("refs/put"), Some("simulating refs/put".to_owned()));
        let watched = ProgressDisplay { watched: true, ..bar };
        assert_eq!(watched.line("refs/up"), None, "the bar shows it");
    }
}
