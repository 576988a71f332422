//! A suggestion: what moves, the maps before and after, what it costs.

use std::collections::HashSet;

use serde::Serialize;

use super::map::{MapView, folded};
use crate::report::picture::{Marks, differing, is_marked};
use crate::report::words;
use crate::result::{Embedder, Report, Suggestion, TypeMap};

/// The most types around a repaired one that are drawn as well. All are in the table of sizes.
const MOST_EMBEDDERS: usize = 3;

#[derive(Serialize)]
pub(super) struct SuggestionView {
    anchor: String,
    type_name: String,
    summary: Vec<(String, bool)>,
    scores: String,
    moves: Vec<MoveView>,
    maps: Vec<MapView>,
    /// How many types take part that are not drawn.
    undrawn: Option<String>,
    sizes: Vec<SizeView>,
    notes: Vec<Vec<(String, bool)>>,
}

#[derive(Serialize)]
pub(super) struct MoveView {
    member: String,
    of: String,
    from: u64,
    to: u64,
}

#[derive(Serialize)]
pub(super) struct SizeView {
    type_name: String,
    before: String,
    after: String,
    change: String,
}

impl SuggestionView {
    /// A suggestion; with `before`, the map of its own type before as well.
    pub(super) fn of(report: &Report, suggestion: &Suggestion, anchor: &str, before: bool) -> Self {
        let own = Marks::of_suggestion(report, suggestion);
        let lines = differing(&suggestion.before, &suggestion.after);
        let mut maps = Vec::new();
        if before {
            maps.push(side(
                report,
                &suggestion.before,
                "before",
                &own,
                &lines,
                &format!("{anchor}-before"),
            ));
        }
        maps.push(side(
            report,
            &suggestion.after,
            "after",
            &own.after(),
            &lines,
            &format!("{anchor}-after"),
        ));
        let drawn = |it: &&Embedder| it.before.is_some() && it.after.is_some();
        let drawn: Vec<&Embedder> = suggestion.embedders.iter().filter(drawn).collect();
        for (index, embedder) in drawn.iter().take(MOST_EMBEDDERS).enumerate() {
            let (Some(before), Some(after)) = (&embedder.before, &embedder.after) else { continue };
            let marks = Marks::of_embedder(report, suggestion, embedder);
            let lines = differing(before, after);
            for (map, when, marks) in
                [(before, "before", marks.clone()), (after, "after", marks.after())]
            {
                let id = format!("{anchor}-{index}-{when}");
                let side = side(report, map, when, &marks, &lines, &id);
                // The members are the same before and after.
                maps.push(if when == "before" { side.without_members() } else { side });
            }
        }
        let undrawn = drawn.len().saturating_sub(MOST_EMBEDDERS) as u64;
        Self {
            undrawn: (undrawn > 0).then(|| words::count_of(undrawn, "more type")),
            anchor: anchor.to_owned(),
            type_name: suggestion.type_name.clone(),
            summary: quoted(&suggestion.summary),
            scores: format!(
                "Score of all that it touches: {} → {}",
                words::score(suggestion.score_before),
                words::score(suggestion.score_after)
            ),
            moves: moves(suggestion),
            maps,
            sizes: sizes(suggestion),
            notes: suggestion.notes.iter().map(|note| quoted(note)).collect(),
        }
    }
}

fn side(
    report: &Report,
    map: &TypeMap,
    when: &str,
    marks: &Marks<'_>,
    lines: &HashSet<u64>,
    id: &str,
) -> MapView {
    let picture = folded(report, map, marks, |index, blocks| {
        lines.contains(&index) && blocks.iter().any(is_marked)
    });
    MapView::of(map, &picture, when, id)
}

fn moves(suggestion: &Suggestion) -> Vec<MoveView> {
    let own = suggestion.moves.iter().map(|one| (one, suggestion.type_name.as_str()));
    let theirs = suggestion
        .embedders
        .iter()
        .flat_map(|embedder| embedder.moves.iter().map(|one| (one, embedder.type_name.as_str())));
    own.chain(theirs)
        .map(|(one, of)| MoveView {
            member: one.member.clone(),
            of: of.to_owned(),
            from: one.from,
            to: one.to,
        })
        .collect()
}

fn sizes(suggestion: &Suggestion) -> Vec<SizeView> {
    let size = |name: &str, before: u64, after: u64| SizeView {
        type_name: name.to_owned(),
        before: words::whole(before),
        after: words::whole(after),
        change: words::change(before, after),
    };
    let own = size(&suggestion.type_name, suggestion.before.size, suggestion.after.size);
    let of = |it: &Embedder| size(&it.type_name, it.size_before, it.size_after);
    std::iter::once(own).chain(suggestion.embedders.iter().map(of)).collect()
}

/// Text in pieces, with those between backticks marked as code.
pub(super) fn quoted(text: &str) -> Vec<(String, bool)> {
    let pieces = text.split('`').zip([false, true].into_iter().cycle());
    pieces
        .filter(|(piece, _)| !piece.is_empty())
        .map(|(piece, code)| (piece.to_owned(), code))
        .collect()
}
