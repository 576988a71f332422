//! The answer in short, at the head of a report.

use super::text::{Styled, TerminalText, cut, measured, padded};
use crate::prose::answer as prose;
use crate::prose::observed::lived;
use tenure_model::{Answer, Report, Run, Source};
use tenure_report::terminal::Style;

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
    changes(text, answer, run);
    if let Some(time) = &run.time {
        text.blank();
        text.quiet_after("     ", &prose::used(time));
        rows(text, prose::time(time));
    }
}

/// The table of changes.
pub(super) fn changes(text: &mut TerminalText, answer: &Answer, run: &Run) {
    let mut all = prose::changes(answer);
    if all.is_empty() {
        return;
    }
    let count = answer.changes.len();
    let left_out = count.saturating_sub(MAX_CHANGES);
    all.drain(count - left_out..count);
    let style = text.style();
    let widest = |of: &dyn Fn(&prose::ChangeRow) -> usize| all.iter().map(of).max().unwrap_or(0);
    let columns = prose::on_cpus(answer);
    let gain_rooms: Vec<usize> = (columns.iter().enumerate())
        .map(|(at, heading)| widest(&|row| measured(&row.gains[at])).max(measured(heading)))
        .collect();
    let gains_room: usize = gain_rooms.iter().map(|room| room + 2).sum();
    let room = text.width().saturating_sub(5 + gains_room + 2);
    let place_room = widest(&|row| measured(&row.place)).min(room / 2);
    let least = measured(HEADING).saturating_sub(place_room + 2);
    let what_room = widest(&|row| measured(&row.what)).max(least).min(room - place_room);
    text.blank();
    let headings = columns.iter().zip(&gain_rooms).map(|(it, room)| padded(it, *room));
    let headings: String = headings.map(|heading| format!("  {heading}")).collect();
    let heading = padded(HEADING, place_room + 2 + what_room);
    text.line(&style.quiet(format!("     {heading}{headings}").trim_end()));
    for row in &all {
        let place = padded(&cut(&row.place, place_room), place_room);
        let gains = row.gains.iter().zip(&gain_rooms);
        let gains: String =
            gains.map(|(gain, room)| format!("  {}", padded(gain, *room))).collect();
        let whole = Style { width: what_room, ..style }.wrapped(&row.what, "");
        let mut what = whole.lines();
        let first = padded(what.next().unwrap_or_default(), what_room);
        let number = row.number.map_or_else(String::new, |number| number.to_string());
        let line = Styled::plain(&format!("{number:>3}  {place}  "))
            .and(&Styled::new(&first, |what| style.text(console::Style::new().green(), what)))
            .and(&Styled::new(gains.trim_end(), |gains| style.strong(gains)));
        text.line(&line.text);
        for more in what {
            let more = style.text(console::Style::new().green(), more);
            text.line(&format!("{}{more}", " ".repeat(5 + place_room + 2)));
        }
    }
    if left_out > 0 {
        text.quiet(&format!("     {left_out} more below"));
    }
    for sentence in prose::read_so(answer, run).into_iter().chain(prose::try_it(answer, run)) {
        text.quiet_after("     ", &sentence);
    }
}

fn rows(text: &mut TerminalText, rows: Vec<(String, String)>) {
    for (share, what) in rows {
        let room = text.width().saturating_sub(SHARE + 4);
        let whole = Style { width: room, ..text.style() }.wrapped(&what, "");
        let mut what = whole.lines();
        text.line(&format!("  {share:>SHARE$}  {}", what.next().unwrap_or_default()));
        what.for_each(|more| text.line(&format!("{}{more}", " ".repeat(SHARE + 4))));
    }
}
