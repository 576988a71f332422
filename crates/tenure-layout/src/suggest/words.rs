//! Sentences about layouts.

use std::cmp::Ordering;

use super::LEAST_SCORE;
use super::units::Stuck;
use crate::lines::Layouts;
use crate::sharing::in_type;
use tenure_model::{Alternative, Embedder, Means, Move, Suggestion};
use tenure_report::words::counted;
use tenure_types::model::TypeId;

pub(super) const MOST_NAMED: usize = 4;

pub(super) fn stuck(layouts: &Layouts<'_>, id: TypeId, stuck: Stuck) -> String {
    let name = layouts.spelled(id);
    match stuck {
        Stuck::NotAStruct => format!("{name} is no struct: its members lie over each other."),
        Stuck::TooMany => {
            format!("{name} has too many members: they are left where they are.")
        }
        Stuck::Packed => format!(
            "{name} is packed, has an empty base class, or is aligned in a way that the debugging information \
             does not tell: its members are left where they are."
        ),
    }
}

/// Why there is no layout at all.
pub(super) fn nothing(layouts: &Layouts<'_>, id: TypeId) -> String {
    let name = layouts.spelled(id);
    let found = in_type(layouts, id);
    if found.is_empty() {
        return format!("{name} has nothing beside a contended word.");
    }
    if found.iter().all(|one| one.score < LEAST_SCORE) {
        return format!(
            "There is nothing to gain: what {name} has beside its contended words hardly suffers (score 0)."
        );
    }
    format!("No small set of moves, and no line of its own, makes {name} clearly better.")
}

/// Why no order is proposed. `together` says that there would be one if functions did not use its members together.
pub(super) fn no_order(layouts: &Layouts<'_>, id: TypeId, together: bool) -> String {
    let name = layouts.spelled(id);
    if layouts.size_of(id) <= layouts.line_bytes {
        return format!("No order helps: {name} is no larger than a line.");
    }
    if together {
        return format!(
            "No order helps: it would tear apart what functions of {name} use together."
        );
    }
    format!("No small set of moves makes {name} clearly better without enlarging a type.")
}

/// One of those that are not recommended.
pub(super) fn alternative(other: Suggestion) -> Alternative {
    let Suggestion { means, summary, price, score_after, after, .. } = other;
    Alternative { means, summary, size: after.size, price, score_after }
}

/// What one line holds.
pub(super) struct Words {
    /// Contended words.
    pub(super) words: Vec<String>,
    /// What the locks among them guard.
    pub(super) guarded: Vec<String>,
}

impl Words {
    fn listed(&self) -> String {
        match self.guarded.is_empty() {
            true => listed(&self.words),
            false => format!("{} with {}", listed(&self.words), listed(&self.guarded)),
        }
    }
}

/// What words get lines of their own, or are split off, and the price.
pub(super) fn apart(
    means: Means,
    name: &str,
    groups: &[Words],
    (before, after): (u64, u64),
    (line, held, price): (u64, u64, i64),
) -> String {
    let is_one =
        groups.iter().map(|group| group.words.len() + group.guarded.len()).sum::<usize>() == 1;
    let (its, them) = if is_one { ("its", "it") } else { ("their", "them") };
    let words: Vec<String> = groups.iter().map(Words::listed).collect();
    let words = if words.len() == 1 { words.concat() } else { words.join("; ") };
    let size = match after.cmp(&before) {
        Ordering::Equal => format!("{name} stays at {before} bytes"),
        _ => format!("{name} goes from {before} to {after} bytes"),
    };
    match means {
        Means::Split => format!(
            "Split {words} off to lines of {its} own, and leave a pointer to {them}: {size}, what is split off takes \
             {held}, together {price:+} an object, and each use follows the pointer."
        ),
        _ => format!(
            "Give {words} lines of {its} own, aligned to {line} bytes: {size}, {price:+} an object."
        ),
    }
}

/// What moves, and what it costs.
pub(super) fn order(
    name: &str,
    (before, after): (u64, u64),
    moves: &[Move],
    embedders: &[Embedder],
) -> String {
    let names = |moves: &[Move]| moves.iter().map(|one| one.member.clone()).collect::<Vec<_>>();
    let mut clauses = Vec::new();
    if !moves.is_empty() {
        clauses.push(format!("move {} within {name}", listed(&names(moves))));
    }
    let moving: Vec<&Embedder> = embedders.iter().filter(|one| !one.moves.is_empty()).collect();
    for one in moving.iter().take(MOST_NAMED) {
        clauses.push(format!("move {} within {}", listed(&names(&one.moves)), one.type_name));
    }
    if moving.len() > MOST_NAMED {
        let more = counted(moving.len() - MOST_NAMED, "more type");
        clauses.push(format!("move members of {more}"));
    }
    let cost = match after.cmp(&before) {
        Ordering::Equal => format!("no type grows: {name} stays at {before} bytes"),
        Ordering::Less => format!("no type grows: {name} shrinks from {before} to {after} bytes"),
        Ordering::Greater => {
            format!("no type that embeds it grows: {name} goes from {before} to {after} bytes")
        }
    };
    let mut sentence = format!("{}; {cost}.", clauses.join(", "));
    if let Some(first) = sentence.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    sentence
}

/// `` `a`, `b` and 3 more ``.
pub(super) fn listed(names: &[String]) -> String {
    let shown = if names.len() > MOST_NAMED + 1 { MOST_NAMED } else { names.len() };
    let quoted: Vec<_> = names[..shown].iter().map(|name| format!("`{name}`")).collect();
    match (quoted.as_slice(), names.len() - shown) {
        ([], _) => String::new(),
        ([only], 0) => only.clone(),
        ([init @ .., last], 0) => format!("{} and {last}", init.join(", ")),
        (all, more) => format!("{} and {more} more", all.join(", ")),
    }
}
