//! A layout before and after, with what it costs and what to check; and sentences that say why there is none.

use super::plan::{LayoutPlan, Placed, PlannedType};
use super::{MIN_SCORE, arranged};
use crate::lines::LayoutModel;
use crate::sharing::in_type;
use tenure_advise::language;
use tenure_advise::layout::{self, LineMembers, MAX_NAMES, Sizes};
use tenure_debuginfo::model::{Format, Member, TypeId};
use tenure_model::{Alternative, Embedder, Language, Means, Move, Suggestion};
use tenure_report::numbers::counted;

/// The largest share of the score that a proposal leaves: a smaller gain is not worth a change.
const MAX_SCORE_LEFT: f64 = 0.85;

/// A plan as a proposal; none if nothing moves or the gain is too small.
pub(super) fn suggestion(
    layouts: &LayoutModel<'_>,
    plan: &LayoutPlan,
    means: Means,
) -> Option<Suggestion> {
    if means == Means::Order && plan.parts.iter().all(|part| part.moved().is_empty()) {
        return None;
    }
    let after = layouts.arranged(arranged(layouts, plan));
    let ids: Vec<TypeId> = plan.parts.iter().map(|part| part.id).collect();
    let (score_before, score_after) = (score(layouts, &ids), score(&after, &ids));
    let hurts = ids.iter().flat_map(|id| in_type(layouts, *id)).any(|one| one.score >= MIN_SCORE);
    if !hurts || score_after > MAX_SCORE_LEFT * score_before {
        return None;
    }
    let part = &plan.parts[0];
    let first = PlacedType { layouts, part, placed: part.place(None) };
    let (before, size) = (part.units.size, first.placed.size);
    let split_off = first.split_off();
    let price = i64::try_from(size.saturating_add(split_off)).ok()? - i64::try_from(before).ok()?;
    let (moves, embedders) = (first.moves(), embedders(layouts, &after, plan, size, means));
    let (id, name) = (part.id, &layouts.model[part.id].name);
    let sizes = Sizes { before, after: size, split_off };
    let summary = match means {
        Means::Order => layout::order(name, sizes, &moves, &embedders),
        _ => layout::apart(means, name, &first.groups(), layouts.line_bytes, sizes),
    };
    let mut notes = Vec::new();
    let others = layouts.embedders(id).len() + 1 - plan.parts.len();
    if size != before && means != Means::Order && others > 0 {
        let others = counted(others, "more type");
        notes.push(format!("It changes the size of {others} too, which cannot be laid out here."));
    }
    notes.extend(ids.iter().filter_map(|id| left(layouts, &after, *id)).take(MAX_NAMES));
    notes.push(layout::note(language(layouts, plan), means, layouts.line_bytes, &first.starts()));
    Some(Suggestion {
        type_name: layouts.spelled(id),
        means,
        price,
        summary,
        order: first.order(),
        edits: Vec::new(),
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

/// A type of a plan, in its layout there.
struct PlacedType<'a, 'm> {
    layouts: &'a LayoutModel<'m>,
    part: &'a PlannedType,
    placed: Placed,
}

impl PlacedType<'_, '_> {
    /// The members of a unit.
    fn members(&self, unit: usize) -> &[Member] {
        let members = self.part.units.units[unit].members.clone();
        &self.layouts.model[self.part.id].kind.members()[members]
    }

    fn name(&self, unit: usize) -> String {
        let name = |member: &Member| match &*member.name {
            "" => self.layouts.nameless(self.part.id, member),
            name => name.to_owned(),
        };
        self.members(unit).iter().map(name).collect::<Vec<_>>().join(", ")
    }

    /// Bytes of what is split off, in lines of its own.
    fn split_off(&self) -> u64 {
        let away = self.part.away.iter().flat_map(|unit| self.members(*unit));
        let bytes = away.map(|member| self.layouts.bytes_of(member)).sum::<u64>();
        bytes.next_multiple_of(self.layouts.line_bytes)
    }

    fn moves(&self) -> Vec<Move> {
        let of = |unit: usize| Move {
            member: self.name(unit),
            from: self.part.units.units[unit].offset,
            to: self.placed.offsets[unit],
        };
        // Others were put around those that did not move.
        self.part.moved().into_iter().map(of).filter(|one| one.from != one.to).collect()
    }

    /// The members in their order, with the padding between them; `*` marks what is split off.
    fn order(&self) -> Vec<String> {
        let mut order = Vec::new();
        let mut end = 0;
        let pad = |order: &mut Vec<String>, from: u64, to: u64| {
            if to > from {
                order.push(format!("({} bytes of padding)", to - from));
            }
        };
        for &unit in &self.part.order {
            let at = self.placed.offsets[unit];
            pad(&mut order, end, at);
            match self.part.away.iter().position(|away| *away == unit) {
                Some(0) => order.push(format!("*{}", self.name(unit))),
                Some(_) => continue,
                None => order.push(self.name(unit)),
            }
            end = at + self.part.units.units[unit].size;
        }
        pad(&mut order, end, self.placed.size);
        order
    }

    /// The names of what is apart, by line.
    fn groups(&self) -> Vec<LineMembers> {
        let is_word = |unit: &usize| self.part.units.units[*unit].is_contended();
        let names = |group: &[usize], are_words: bool| {
            let units = group.iter().filter(|unit| is_word(unit) == are_words);
            units.map(|unit| self.name(*unit)).collect()
        };
        let line = |group: &Vec<usize>| LineMembers {
            words: names(group, true),
            guarded: names(group, false),
        };
        self.part.apart.iter().map(line).collect()
    }

    /// The members that begin a line, in their order.
    fn starts(&self) -> Vec<String> {
        let starts = self.part.order.iter().filter(|unit| self.part.starts.contains(unit));
        starts.map(|unit| self.name(*unit)).collect()
    }
}

/// The types around the one of `size` bytes: those that are laid out with it and, where that does not change their sizes, all others.
fn embedders(
    layouts: &LayoutModel<'_>,
    after: &LayoutModel<'_>,
    plan: &LayoutPlan,
    size: u64,
    means: Means,
) -> Vec<Embedder> {
    let laid_out = plan.parts[1..].iter().map(|part| {
        let outer = PlacedType { layouts, part, placed: part.place(Some(size)) };
        let moves = outer.moves();
        let is_shown = !moves.is_empty() && means == Means::Order;
        Embedder {
            type_name: layouts.spelled(part.id),
            size_before: part.units.size,
            size_after: outer.placed.size,
            before: is_shown.then(|| layouts.map(part.id)),
            after: is_shown.then(|| after.map(part.id)),
            moves,
        }
    });
    // An order keeps their sizes, since a plan with such types is not resizable.
    let are_unchanged = size == plan.parts[0].units.size || means == Means::Order;
    let others = layouts
        .embedders(plan.parts[0].id)
        .iter()
        .filter(|outer| are_unchanged && plan.parts.iter().all(|part| part.id != **outer));
    let unchanged = others.map(|&outer| Embedder {
        type_name: layouts.spelled(outer),
        size_before: layouts.size_of(outer),
        size_after: layouts.size_of(outer),
        moves: Vec::new(),
        before: None,
        after: None,
    });
    laid_out.chain(unchanged).collect()
}

/// What is left beside a type's words.
fn left(layouts: &LayoutModel<'_>, after: &LayoutModel<'_>, id: TypeId) -> Option<String> {
    let left = in_type(after, id);
    let worst = left.iter().max_by(|a, b| a.score.total_cmp(&b.score))?;
    let flat = after.flat(id);
    let victims = worst.victims.iter().map(|victim| flat.path(after, &victim.leaf));
    let names = layout::listed(&victims.collect::<Vec<_>>());
    let (word, name) = (flat.path(after, &worst.word), layouts.spelled(id));
    (worst.score >= MIN_SCORE)
        .then(|| format!("Still beside `{word}` in {name}: {names} (score {:.0}).", worst.score))
}

/// Compilers of C and C++ note the declaration of all types, rustc of hardly any.
fn language(layouts: &LayoutModel<'_>, plan: &LayoutPlan) -> Language {
    let is_rust = |part: &PlannedType| match &layouts.model[part.id].declared {
        Some(declared) => language::of_file(&declared.file) == Some(Language::Rust),
        None => layouts.model.format() == Format::Dwarf,
    };
    if plan.parts.iter().any(is_rust) { Language::Rust } else { Language::C }
}

/// Why there is no layout at all.
pub(super) fn nothing(layouts: &LayoutModel<'_>, id: TypeId) -> String {
    let name = layouts.spelled(id);
    let found = in_type(layouts, id);
    if found.is_empty() {
        return format!("{name} has nothing beside a contended word.");
    }
    if found.iter().all(|one| one.score < MIN_SCORE) {
        return format!(
            "There is nothing to gain: what {name} has beside its contended words hardly suffers (score 0)."
        );
    }
    format!("No small set of moves, and no line of its own, makes {name} clearly better.")
}

/// Why no order is proposed. `together` says that there would be one if functions did not use its members together.
pub(super) fn no_order(layouts: &LayoutModel<'_>, id: TypeId, together: bool) -> String {
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
