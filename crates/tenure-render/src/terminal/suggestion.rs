//! A better layout, before and after.

use super::map::{self, Canvas};
use super::text::{Styled, TerminalText, cut, measured, padded};
use crate::picture::{LinePicture, Marks, differing, is_marked};
use crate::{maps, prose};
use tenure_model::{Move, Report, Suggestion, TypeMap};

/// The most lines that a map shows in full; of more, those that differ.
const MAX_LINES: usize = 6;

pub(super) fn render_others(text: &mut TerminalText, report: &Report) {
    let is_told = |found: &&Suggestion| {
        let of_finding = report.findings.iter().any(|finding| finding.type_name == found.type_name);
        of_finding || report.scope.types.contains(&found.type_name)
    };
    for suggestion in report.suggestions.iter().filter(|found| !is_told(found)) {
        text.blank();
        text.strong(&cut(&suggestion.type_name, text.width()));
        render(text, report, suggestion);
    }
    // A ranking says what there is, not what there is not.
    if !report.unfixed.is_empty() && !report.scope.types.is_empty() {
        text.blank();
        text.strong("Without a better layout");
        for one in &report.unfixed {
            text.bullet(&one.why);
        }
    }
}

pub(super) fn render(text: &mut TerminalText, report: &Report, suggestion: &Suggestion) {
    let style = text.style();
    text.blank();
    let heading = Styled::new(prose::means(suggestion.means), |heading| style.strong(heading));
    let scores = format!(
        "score of all that it touches: {} → {}",
        prose::score(suggestion.score_before),
        prose::score(suggestion.score_after)
    );
    text.line_with(&heading, &scores, 2);
    text.wrapped(&suggestion.summary, "  ");
    let marks = Marks::of_suggestion(report, suggestion);
    moves(text, "", &suggestion.moves);
    for embedder in &suggestion.embedders {
        moves(text, &format!(" of {}", embedder.type_name), &embedder.moves);
    }
    let mut pictures = pair(text, report, (&suggestion.before, &suggestion.after), &marks);
    for (embedder, before, after) in maps::drawn(suggestion).0 {
        let marks = Marks::of_embedder(report, suggestion, embedder);
        pictures.extend(pair(text, report, (before, after), &marks));
    }
    map::legend(text, &pictures.iter().collect::<Vec<_>>());
    sizes(text, suggestion);
    for note in suggestion.notes.iter().cloned().chain(prose::alternatives(suggestion)) {
        text.bullet(&note);
    }
}

fn moves(text: &mut TerminalText, of: &str, moves: &[Move]) {
    let style = text.style();
    let room = text.width().saturating_sub(30);
    for one in moves {
        let name = Styled::new(&cut(&format!("→{}{of}", one.member), room), |name| {
            style.text(map::moved(), name)
        });
        let from = format!("  from {} to {}", one.from, one.to);
        text.line(&format!("    {}{}", name.text, cut(&from, text.width() - 4 - name.width)));
    }
}

/// Both maps, side by side where there is room, and one under the other where names need it.
fn pair(
    text: &mut TerminalText,
    report: &Report,
    (before, after): (&TypeMap, &TypeMap),
    marks: &Marks<'_>,
) -> Vec<LinePicture> {
    const GAP: usize = 3;
    let lines = differing(before, after);
    let picture = |map: &TypeMap, marks: &Marks<'_>| {
        LinePicture::of(map, report.line_bytes, marks, MAX_LINES, |index, blocks| {
            lines.contains(&index) && blocks.iter().any(is_marked)
        })
    };
    let pictures = vec![picture(before, marks), picture(after, &marks.after())];
    let title = |word: &str, map: &TypeMap| format!("{}, {word}: {}", map.name, prose::extent(map));
    let titles = [title("before", before), title("after", after)];
    let half = (text.width() - GAP) / 2;
    let canvases = |width: usize| pictures.iter().map(move |picture| Canvas::new(picture, width));
    text.blank();
    if canvases(half).all(|canvas| canvas.is_roomy()) {
        let style = text.style();
        let title = |title: &str| Styled::new(&cut(title, half), |title| style.quiet(title));
        let drawn: Vec<Vec<Styled>> = canvases(half)
            .zip(&titles)
            .map(|(canvas, words)| [vec![title(words)], canvas.draw(style)].concat())
            .collect();
        let empty = Styled::plain("");
        for row in 0..drawn.iter().map(Vec::len).max().unwrap_or(0) {
            let at = |side: usize| drawn[side].get(row).unwrap_or(&empty);
            let space = " ".repeat(half + GAP - at(0).width);
            text.line(&format!("{}{space}{}", at(0).text, at(1).text));
        }
    } else {
        for (picture, title) in pictures.iter().zip(&titles) {
            text.blank();
            text.quiet(&cut(title, text.width()));
            map::render(text, picture);
        }
    }
    pictures
}

fn sizes(text: &mut TerminalText, suggestion: &Suggestion) {
    /// More rows say nothing new if nothing grows.
    const MAX_ROWS: usize = 12;
    let rows: Vec<_> = prose::sizes(suggestion).collect();
    let same = rows.iter().all(|row| row.change.is_empty());
    let shown = if same { rows.len().min(MAX_ROWS) } else { rows.len() };
    let room = rows.iter().map(|row| measured(row.type_name)).max().unwrap_or(0);
    let room = room.clamp(5, text.width().saturating_sub(34).max(5));
    let style = text.style();
    text.blank();
    let heading = format!("  {:room$}  {:>10}  {:>10}", "bytes", "before", "after");
    text.line(&style.quiet(&heading));
    for prose::TypeSizes { type_name, before, after, change } in &rows[..shown] {
        let name = padded(type_name, room);
        text.line(&format!("  {name}  {before:>10}  {after:>10}  {change}"));
    }
    if shown < rows.len() {
        text.quiet_after("  ", &format!("and {} more, of which none grows", rows.len() - shown));
    }
    text.blank();
}
