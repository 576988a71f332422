//! A layout before and after, with what it costs and what to check.

use super::plan::{LayoutPlan, Placed, PlannedType};
use super::{MIN_SCORE, arranged};
use crate::lines::LayoutModel;
use crate::sharing::{RawFinding, in_type};
use tenure_advise::language;
use tenure_advise::layout::{self, LineMembers, MAX_NAMES, Sizes};
use tenure_model::{Embedder, Language, Means, Move, Suggestion};
use tenure_report::words::counted;
use tenure_types::model::{Format, Kind, Member, TypeId};

/// Of the score: smaller gains are not worth a change.
const WORTHWHILE: f64 = 0.85;

/// None if nothing moves or the gain is too small.
pub(super) fn suggestion(
    layouts: &LayoutModel<'_>,
    plan: &LayoutPlan,
    means: Means,
) -> Option<Suggestion> {
    if means == Means::Order && plan.parts.iter().all(|part| part.moved().is_empty()) {
        return None;
    }
    let after = layouts.arranged(arranged(layouts, plan));
    let id = plan.parts[0].id;
    let ids: Vec<TypeId> = plan.parts.iter().map(|part| part.id).collect();
    let (score_before, score_after) = (score(layouts, &ids), score(&after, &ids));
    let hurts = ids.iter().flat_map(|id| in_type(layouts, *id)).any(|one| one.score >= MIN_SCORE);
    if !hurts || score_after > WORTHWHILE * score_before {
        return None;
    }
    let (first, placed) = (&plan.parts[0], plan.parts[0].place(None));
    let moves = moves(layouts, first, &placed);
    let is_resized = placed.size != first.units.size;
    let embedders: Vec<Embedder> = plan.parts[1..]
        .iter()
        .map(|part| embedder(layouts, &after, part, (placed.size, means)))
        .chain(unchanged(layouts, plan).filter(|_| !is_resized || means == Means::Order))
        .collect();
    let line = layouts.line_bytes;
    // What is split off, in lines of its own.
    let away = first.away.iter().flat_map(|unit| first.units.units[*unit].members.clone());
    let held = away.map(|at| layouts.bytes_of(&members(layouts, first)[at])).sum::<u64>();
    let held = held.next_multiple_of(line);
    let price = i64::try_from(placed.size.saturating_add(held)).ok()?
        - i64::try_from(first.units.size).ok()?;
    let model_name = &layouts.model[id].name;
    let sizes = Sizes { before: first.units.size, after: placed.size, split_off: held };
    let summary = match means {
        Means::Order => layout::order(model_name, sizes, &moves, &embedders),
        _ => layout::apart(means, model_name, &groups(layouts, first), line, sizes),
    };
    let mut notes = notes(layouts, &after, plan, &ids, means);
    let others = layouts.embedders(id).len() + 1 - plan.parts.len();
    if is_resized && means != Means::Order && others > 0 {
        let others = counted(others, "more type");
        notes.insert(
            0,
            format!("It changes the size of {others} too, which cannot be laid out here."),
        );
    }
    Some(Suggestion {
        type_name: layouts.spelled(id),
        means,
        price,
        summary,
        order: order(layouts, first, &placed),
        moves,
        before: layouts.map(id),
        after: after.map(id),
        embedders,
        score_before,
        score_after,
        notes,
        alternatives: Vec::new(),
    })
}

fn score(layouts: &LayoutModel<'_>, ids: &[TypeId]) -> f64 {
    let found = ids.iter().flat_map(|&id| in_type(layouts, id));
    // Not `sum`: of nothing that is -0.
    found.fold(0.0, |sum, found| sum + found.score)
}

fn members<'a>(layouts: &LayoutModel<'a>, part: &PlannedType) -> &'a [Member] {
    match &layouts.model[part.id].kind {
        Kind::Composite { members, .. } => members,
        _ => &[],
    }
}

fn name(layouts: &LayoutModel<'_>, part: &PlannedType, unit: usize) -> String {
    let members = &members(layouts, part)[part.units.units[unit].members.clone()];
    let name = |member: &Member| match &*member.name {
        "" => layouts.nameless(part.id, member),
        name => name.to_owned(),
    };
    members.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn moves(layouts: &LayoutModel<'_>, part: &PlannedType, placed: &Placed) -> Vec<Move> {
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

fn order(layouts: &LayoutModel<'_>, part: &PlannedType, placed: &Placed) -> Vec<String> {
    let mut order = Vec::new();
    let mut end = 0;
    let pad = |order: &mut Vec<String>, from: u64, to: u64| {
        if to > from {
            order.push(format!("({} bytes of padding)", to - from));
        }
    };
    for &unit in &part.order {
        pad(&mut order, end, placed.offsets[unit]);
        let split = part.away.iter().position(|away| *away == unit);
        match split {
            Some(0) => order.push(format!("*{}", name(layouts, part, unit))),
            Some(_) => continue,
            None => order.push(name(layouts, part, unit)),
        }
        end = placed.offsets[unit] + part.units.units[unit].size;
    }
    pad(&mut order, end, placed.size);
    order
}

fn embedder(
    layouts: &LayoutModel<'_>,
    after: &LayoutModel<'_>,
    part: &PlannedType,
    (inner, means): (u64, Means),
) -> Embedder {
    let placed = part.place(Some(inner));
    let moves = moves(layouts, part, &placed);
    let shown = !moves.is_empty() && means == Means::Order;
    Embedder {
        type_name: layouts.spelled(part.id),
        size_before: part.units.size,
        size_after: placed.size,
        before: shown.then(|| layouts.map(part.id)),
        after: shown.then(|| after.map(part.id)),
        moves,
    }
}

/// The names of what is apart, by line.
fn groups(layouts: &LayoutModel<'_>, part: &PlannedType) -> Vec<LineMembers> {
    let words = |group: &Vec<usize>| {
        let is_word = |unit: &&usize| part.units.units[**unit].is_contended();
        let named = |unit: &usize| name(layouts, part, *unit);
        let (words, guarded): (Vec<&usize>, Vec<&usize>) = group.iter().partition(is_word);
        LineMembers {
            words: words.into_iter().map(named).collect(),
            guarded: guarded.into_iter().map(named).collect(),
        }
    };
    part.apart.iter().map(words).collect()
}

/// The members that begin a line, in their order.
fn starts(layouts: &LayoutModel<'_>, part: &PlannedType) -> Vec<String> {
    let mut starts = part.starts.clone();
    starts.sort_unstable_by_key(|unit| part.order.iter().position(|other| other == unit));
    starts.dedup();
    starts.iter().map(|unit| name(layouts, part, *unit)).collect()
}

/// Embedding types that are no parts: an order keeps their sizes, since the plan is not resizable.
fn unchanged<'p>(
    layouts: &'p LayoutModel<'_>,
    plan: &'p LayoutPlan,
) -> impl Iterator<Item = Embedder> + 'p {
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

fn notes(
    layouts: &LayoutModel<'_>,
    after: &LayoutModel<'_>,
    plan: &LayoutPlan,
    ids: &[TypeId],
    means: Means,
) -> Vec<String> {
    let mut notes = Vec::new();
    for &id in ids {
        let left: Vec<RawFinding> = in_type(after, id);
        let worst = left.iter().max_by(|a, b| a.score.total_cmp(&b.score));
        let Some(worst) = worst.filter(|worst| worst.score >= MIN_SCORE) else { continue };
        let flat = after.flat(id);
        let names: Vec<String> =
            worst.victims.iter().map(|victim| flat.path(after, &victim.leaf)).collect();
        let type_name = layouts.spelled(id);
        notes.push(format!(
            "Still beside `{}` in {type_name}: {} (score {:.0}).",
            flat.path(after, &worst.word),
            layout::listed(&names),
            worst.score
        ));
        if notes.len() >= MAX_NAMES {
            break;
        }
    }
    // Compilers of C and C++ note the declaration of all types, rustc of hardly any.
    let rust = |part: &PlannedType| match &layouts.model[part.id].declared {
        Some(declared) => language::of_file(&declared.file) == Some(Language::Rust),
        None => layouts.model.format() == Format::Dwarf,
    };
    let is_rust = plan.parts.iter().any(rust);
    let language = if is_rust { Language::Rust } else { Language::C };
    let starts = starts(layouts, &plan.parts[0]);
    notes.push(layout::note(language, means, layouts.line_bytes, &starts));
    notes
}
