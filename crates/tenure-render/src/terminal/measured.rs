//! What `perf` has measured, by type and member.

use super::text::{TerminalText, measured, padded};
use crate::prose::measured::{COLUMNS, members, recorded};
use tenure_model::Report;

/// A page has all of them.
const MAX_ROWS: usize = 10;

pub(super) fn render(text: &mut TerminalText, report: &Report) {
    let Some(recorded) = recorded(report) else { return };
    let rows = members(recorded);
    let shown = &rows[..rows.len().min(MAX_ROWS)];
    let widths: Vec<usize> = (0..COLUMNS.len())
        .map(|at| {
            let of_rows = shown.iter().map(|(_, figures)| measured(&figures[at])).max();
            of_rows.unwrap_or(0).max(COLUMNS[at].len())
        })
        .collect();
    // As many columns as leave room for names.
    let mut columns = COLUMNS.len();
    let taken = |columns: usize| widths[..columns].iter().map(|width| width + 2).sum::<usize>() + 2;
    while columns > 1 && taken(columns) + 24 > text.width() {
        columns -= 1;
    }
    let room = text.width().saturating_sub(taken(columns));
    let longest = shown.iter().map(|(name, _)| measured(name)).max().unwrap_or(0);
    let room = room.min(longest.max(6));
    let row = |name: &str, figures: [&str; 5]| {
        let mut line = format!("  {}", padded(name, room));
        for (figure, width) in figures.iter().zip(&widths).take(columns) {
            let space = " ".repeat(2 + width - measured(figure));
            line += &format!("{space}{figure}");
        }
        line
    };
    text.blank();
    let style = text.style();
    text.line(&style.quiet(&row("member", COLUMNS)));
    for (name, figures) in shown {
        text.line(&row(name, figures.each_ref().map(|figure| &**figure)));
    }
    if rows.len() > shown.len() {
        text.quiet_after("  ", &format!("and {} more", rows.len() - shown.len()));
    }
    text.blank();
}
