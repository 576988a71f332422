use std::cmp::Ordering;

use super::arranged;
use super::plan::{Part, Placed, Plan};
use super::units::Stuck;
use crate::lines::Layouts;
use crate::sharing::{Found, in_type};
use tenure_find::{Embedder, Move, Suggestion};
use tenure_report::words::counted;
use tenure_types::model::{Format, Kind, Member, TypeId};

const MOST_NAMED: usize = 4;

/// Bytes, on 64-bit systems.
const POINTER: u64 = 8;

/// For orders that C and C++ take from the source.
const INITIALISERS: &str = "A new order also changes what initialises the members by place: look for \
    initialisers without names, `memcpy` and `memset` of parts, offsets in assembly, and in C++ constructors \
    that count on the order.";

/// For structs that the compiler lays out.
const REPR_C: &str = "Rust orders the fields of a struct by itself: write `#[repr(C)]` for this order, or \
    put the contended field into `tenure::line::Isolated`.";

/// Of the score: smaller gains are not worth a change.
const WORTHWHILE: f64 = 0.85;

/// None if nothing moves or the gain is too small.
pub(super) fn suggestion(layouts: &Layouts<'_>, plan: &Plan) -> Option<Suggestion> {
    if plan.parts.iter().all(|part| part.moved().is_empty()) {
        return None;
    }
    let after = layouts.arranged(arranged(layouts, plan));
    let id = plan.parts[0].id;
    let ids: Vec<TypeId> = plan.parts.iter().map(|part| part.id).collect();
    let (score_before, score_after) = (score(layouts, &ids), score(&after, &ids));
    if score_before <= 0.0 || score_after > WORTHWHILE * score_before {
        return None;
    }
    let (first, placed) = (&plan.parts[0], plan.parts[0].place(None));
    let moves = moves(layouts, first, &placed);
    let embedders: Vec<Embedder> = plan.parts[1..]
        .iter()
        .map(|part| embedder(layouts, &after, part, placed.size))
        .chain(unchanged(layouts, plan))
        .collect();
    Some(Suggestion {
        type_name: layouts.spelled(id),
        summary: summary(
            &layouts.model[id].name,
            (first.units.size, placed.size),
            &moves,
            &embedders,
        ),
        order: order(layouts, first, &placed),
        moves,
        before: layouts.map(id),
        after: after.map(id),
        embedders,
        score_before,
        score_after,
        notes: notes(layouts, &after, plan, &ids),
    })
}

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

pub(super) fn no_order(layouts: &Layouts<'_>, id: TypeId) -> String {
    let name = layouts.spelled(id);
    let Some(worst) = in_type(layouts, id).into_iter().max_by(|a, b| a.score.total_cmp(&b.score))
    else {
        return format!("{name} has nothing beside a contended word.");
    };
    format!(
        "No small set of moves makes {name} clearly better without enlarging a type. {}",
        apart(layouts, id, &worst)
    )
}

/// What it costs to keep a finding's word off the lines of its neighbours by other means than order.
fn apart(layouts: &Layouts<'_>, id: TypeId, found: &Found) -> String {
    let (line, size) = (layouts.line_bytes, layouts.size_of(id));
    let others = size.saturating_sub(found.word.size);
    let alone = others.next_multiple_of(line) + found.word.size.next_multiple_of(line);
    let pointer = (others + POINTER).next_multiple_of(layouts.model[id].align);
    let path = layouts.flat(id).path(layouts, &found.word);
    format!(
        "`{path}` aligned to a line at the end takes {} bytes more an object ({size} to {alone}); split off behind a \
         pointer, the object takes {pointer}, another line holds the word, and each use follows the pointer.",
        alone.saturating_sub(size)
    )
}

fn score(layouts: &Layouts<'_>, ids: &[TypeId]) -> f64 {
    ids.iter().flat_map(|&id| in_type(layouts, id)).map(|found| found.score).sum()
}

fn members<'a>(layouts: &Layouts<'a>, part: &Part) -> &'a [Member] {
    match &layouts.model[part.id].kind {
        Kind::Composite { members, .. } => members,
        _ => &[],
    }
}

fn name(layouts: &Layouts<'_>, part: &Part, unit: usize) -> String {
    let members = &members(layouts, part)[part.units.units[unit].members.clone()];
    let name = |member: &Member| match &*member.name {
        "" => layouts.nameless(part.id, member),
        name => name.to_owned(),
    };
    members.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn moves(layouts: &Layouts<'_>, part: &Part, placed: &Placed) -> Vec<Move> {
    part.moved()
        .into_iter()
        .map(|unit| Move {
            member: name(layouts, part, unit),
            from: part.units.units[unit].offset,
            to: placed.offsets[unit],
        })
        // Others were put around these, which did not move.
        .filter(|one| one.from != one.to)
        .collect()
}

fn order(layouts: &Layouts<'_>, part: &Part, placed: &Placed) -> Vec<String> {
    let mut order = Vec::new();
    let mut end = 0;
    let pad = |order: &mut Vec<String>, from: u64, to: u64| {
        if to > from {
            order.push(format!("({} bytes of padding)", to - from));
        }
    };
    for &unit in &part.order {
        pad(&mut order, end, placed.offsets[unit]);
        order.push(name(layouts, part, unit));
        end = placed.offsets[unit] + part.units.units[unit].size;
    }
    pad(&mut order, end, placed.size);
    order
}

fn embedder(layouts: &Layouts<'_>, after: &Layouts<'_>, part: &Part, inner: u64) -> Embedder {
    let placed = part.place(Some(inner));
    let moves = moves(layouts, part, &placed);
    let shown = !moves.is_empty();
    Embedder {
        type_name: layouts.spelled(part.id),
        size_before: part.units.size,
        size_after: placed.size,
        before: shown.then(|| layouts.map(part.id)),
        after: shown.then(|| after.map(part.id)),
        moves,
    }
}

/// Embedding types that are no parts: the plan is not resizable, so their sizes stay.
fn unchanged<'p>(layouts: &'p Layouts<'_>, plan: &'p Plan) -> impl Iterator<Item = Embedder> + 'p {
    let others = layouts.embedders(plan.parts[0].id).iter();
    others.filter(|outer| plan.parts.iter().all(|part| part.id != **outer)).map(|&outer| Embedder {
        type_name: layouts.spelled(outer),
        size_before: layouts.size_of(outer),
        size_after: layouts.size_of(outer),
        moves: Vec::new(),
        before: None,
        after: None,
    })
}

fn notes(layouts: &Layouts<'_>, after: &Layouts<'_>, plan: &Plan, ids: &[TypeId]) -> Vec<String> {
    let mut notes = Vec::new();
    for &id in ids {
        let left: Vec<Found> = in_type(after, id);
        let Some(worst) = left.iter().max_by(|a, b| a.score.total_cmp(&b.score)) else { continue };
        let flat = after.flat(id);
        let names: Vec<String> =
            worst.victims.iter().map(|victim| flat.path(after, &victim.leaf)).collect();
        let type_name = layouts.spelled(id);
        notes.push(format!(
            "Still beside `{}` in {type_name}: {} (score {:.0}).",
            flat.path(after, &worst.word),
            listed(&names),
            worst.score
        ));
        if id == ids[0] {
            notes.push(apart(after, id, worst));
        }
        if notes.len() >= MOST_NAMED {
            break;
        }
    }
    // Compilers of C and C++ note the declaration of all types, rustc of hardly any.
    let rust = |part: &Part| match &layouts.model[part.id].declared {
        Some(declared) => declared.file.ends_with(".rs"),
        None => layouts.model.format() == Format::Dwarf,
    };
    let rust = plan.parts.iter().any(rust);
    notes.push(if rust { REPR_C } else { INITIALISERS }.to_owned());
    notes
}

fn summary(
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
fn listed(names: &[String]) -> String {
    let shown = if names.len() > MOST_NAMED + 1 { MOST_NAMED } else { names.len() };
    let quoted: Vec<_> = names[..shown].iter().map(|name| format!("`{name}`")).collect();
    match (quoted.as_slice(), names.len() - shown) {
        ([], _) => String::new(),
        ([only], 0) => only.clone(),
        ([init @ .., last], 0) => format!("{} and {last}", init.join(", ")),
        (all, more) => format!("{} and {more} more", all.join(", ")),
    }
}
