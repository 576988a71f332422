//! The answer in short, at the head of a report.

use super::text::{Styled, TerminalText, cut, measured, padded};
use crate::prose::answer as prose;
use crate::prose::observed::lived;
use tenure_model::{Answer, Report, Run, Source};

/// The most changes that the table shows. The findings have all.
const MAX_CHANGES: usize = 4;

/// The heading of the table.
const HEADING: &str = "What to change";

/// Columns of a share.
const SHARE: usize = 6;

/// The answer of a report, and the run that it is of.
pub(super) fn of(report: &Report) -> Option<(&Answer, &Run)> {
    let Source::Run(run) = &report.source else { return None };
    Some((report.answer.as_ref()?, run))
}

/// What holds the program back, what to change, and where the time went.
pub(super) fn render(text: &mut TerminalText, subject: &str, answer: &Answer, run: &Run) {
    text.strong(&format!("{subject}: {}", lived(run)));
    if run.processes == 0 {
        return;
    }
    text.strong(&answer.headline);
    changes(text, answer);
    if let Some(time) = &run.time {
        text.blank();
        let used = prose::used(time);
        text.quiet_after("     ", &format!("Where its processor time went. {used}"));
        rows(text, prose::running(time));
        let idle = prose::idle(time);
        if !idle.is_empty() {
            text.quiet("     Why CPUs were left, in parts of all its CPUs");
            rows(text, idle);
        }
    }
}

/// The table of changes, once what they give is known.
pub(super) fn changes(text: &mut TerminalText, answer: &Answer) {
    let mut all = prose::changes(answer);
    if all.is_empty() {
        return;
    }
    let count = answer.changes.len();
    let left_out = count.saturating_sub(MAX_CHANGES);
    all.drain(count - left_out..count);
    let style = text.style();
    let widest = |of: &dyn Fn(&prose::ChangeRow) -> usize| all.iter().map(of).max().unwrap_or(0);
    let gain_room = widest(&|row| measured(&row.gain)).max(measured(&prose::on_cpus(answer)));
    let room = text.width().saturating_sub(5 + gain_room + 4);
    let place_room = widest(&|row| measured(&row.place)).min(room / 2);
    let least = measured(HEADING).saturating_sub(place_room + 2);
    let what_room = widest(&|row| measured(&row.what)).max(least).min(room - place_room);
    text.blank();
    let heading = padded(HEADING, place_room + 2 + what_room);
    text.line(&style.quiet(&format!("     {heading}  {}", prose::on_cpus(answer))));
    for row in &all {
        let left =
            format!("{:>3}  {}  ", row.number, padded(&cut(&row.place, place_room), place_room));
        let what = padded(&cut(&row.what, what_room), what_room);
        let line = Styled::plain(&left)
            .and(&Styled::new(&what, |what| style.text(console::Style::new().green(), what)))
            .and(&Styled::plain("  "))
            .and(&Styled::new(&row.gain, |gain| style.strong(gain)));
        text.line(&line.text);
    }
    if left_out > 0 {
        text.quiet(&format!("     {left_out} more below"));
    }
}

fn rows(text: &mut TerminalText, rows: Vec<(String, String)>) {
    for (share, what) in rows {
        let what = cut(&what, text.width().saturating_sub(SHARE + 4));
        text.line(&format!("  {share:>SHARE$}  {what}"));
    }
}
