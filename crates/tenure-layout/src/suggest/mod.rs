//! A better layout of a type, and its cost.
//!
//! [`suggest`] builds up to three layouts in which fewer and less important members lie on the line of a contended word, scores
//! them by the code that found the fault, and recommends one:
//!
//! 1. *Order*: members change places, and no type grows.
//! 2. *Align*: the contended word, or all of them, get lines of their own. Each object takes more. A lock takes along what it
//!    guards, or its line would be torn in two, and what several locks guard would meet.
//! 3. *Split*: they lie elsewhere, on a line of their own, and the object has a pointer to them.
//!
//! An order is recommended if there is one; else alignment, else splitting off. The others are said in a line each, with their
//! price.
//!
//! An order follows what reviewers ask for:
//!
//! - No type grows. Cold and rarely read members take the places on the contended line: padding would cost memory in
//!   every object and in every type around it.
//! - Few members move: each has a price, at most eight move in one type, and a gain below 15 % of the score is not
//!   proposed.
//! - What functions use together stays together, as the code shows it: a line more that a function touches has a price.
//! - In a type that embeds the one to fix only pairs across the embedding count; no line of it may get worse.
//! - Bit fields move as runs, to where a compiler keeps their distances.
//! - The embedded struct that a type starts with stays at its start, because pointers are cast; base classes stay, and
//!   so does everything up to a pinned member.
//! - A link that lookups walk stays on its line, and so does the key that they compare.
//! - Members between two markers (`__cacheline_group_begin__…`) stay between them.
//!
//! The notes say what is left on the line, and what to check after a change: initialisers without names, offsets in assembly
//! or in a wire format, ABIs.

mod alone;
mod apart;
mod plan;
mod proposal;
mod search;
mod together;
mod units;

use std::collections::HashMap;

use crate::lines::{Arranged, LayoutModel};
pub(crate) use alone::apart as apart_alone;
use plan::{LayoutPlan, PlannedType};
use tenure_debuginfo::model::TypeId;
use tenure_model::{Means, Suggestion};
use together::UsedTogether;
use units::LayoutUnits;

/// Types that embed the one to fix and are laid out with it: judgement, since the search tries all their orders too.
const MAX_EMBEDDERS: usize = 12;

/// Smaller scores show as 0: nothing is lost there.
const MIN_SCORE: f64 = 0.5;

/// The share of the score before by which a layout may be worse than the best and still win by its price: judgement.
const SIMILAR_SCORE: f64 = 0.1;

/// Rounding between sums of the same figures in another order.
const ROUNDING: f64 = 1e-9;

/// Members that must not move.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pins(Vec<(Option<String>, String)>);

impl Pins {
    /// `MEMBER`, of any type, or `TYPE.MEMBER`. The member and all before it stay.
    pub(crate) fn new(words: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let split = |word: &str| match word.rsplit_once('.') {
            Some((ty, member)) => (Some(ty.to_owned()), member.to_owned()),
            None => (None, word.to_owned()),
        };
        Self(words.into_iter().map(|word| split(word.as_ref())).collect())
    }

    /// Pins that name no member in the model.
    pub(crate) fn unknown(&self, layouts: &LayoutModel<'_>) -> Vec<String> {
        let known = |(ty, pin): &(Option<String>, String)| {
            layouts.model.composites().any(|(_, composite, members)| {
                ty.as_ref().is_none_or(|ty| **ty == *composite.name)
                    && members.iter().any(|member| *member.name == **pin)
            })
        };
        let spelled = |(ty, pin): &(Option<String>, String)| match ty {
            Some(ty) => format!("{ty}.{pin}"),
            None => pin.clone(),
        };
        self.0.iter().filter(|pin| !known(pin)).map(spelled).collect()
    }

    fn hold(&self, type_name: &str, member: &str) -> bool {
        self.0.iter().any(|(ty, pin)| pin == member && ty.as_ref().is_none_or(|ty| ty == type_name))
    }
}

/// Searches a better layout of a type's members, and recommends one. The error is a sentence: why there is none.
pub(crate) fn suggest(
    layouts: &LayoutModel<'_>,
    id: TypeId,
    pins: &Pins,
) -> Result<Suggestion, String> {
    let mut all = each(layouts, id, pins)?.into_iter();
    let Some(mut first) = all.next() else { return Err(proposal::nothing(layouts, id)) };
    first.alternatives = all.map(proposal::alternative).collect();
    Ok(first)
}

/// The best layout by each means, the one to recommend first. The error is a sentence: why the members are left where they are.
pub(crate) fn each(
    layouts: &LayoutModel<'_>,
    id: TypeId,
    pins: &Pins,
) -> Result<Vec<Suggestion>, String> {
    let plan = plan(layouts, id, pins).map_err(|why| format!("{} {why}", layouts.spelled(id)))?;
    let mut work = 0;
    let mut improved = |mut plan: LayoutPlan| {
        search::improve(&mut plan, &mut work);
        proposal::suggestion(layouts, &plan, Means::Order)
    };
    let best = |plans: Vec<LayoutPlan>, means: Means| {
        let all = plans.iter().filter_map(|plan| proposal::suggestion(layouts, plan, means));
        let all: Vec<Suggestion> = all.collect();
        let least = all.iter().map(|one| one.score_after).reduce(f64::min)?;
        // The cheapest of those that are about as good as the best.
        let is_good =
            |one: &Suggestion| one.score_after <= least + SIMILAR_SCORE * one.score_before;
        all.into_iter().filter(is_good).min_by(|a, b| {
            let cost = |one: &Suggestion| (one.price, one.moves.len());
            cost(a).cmp(&cost(b)).then_with(|| a.score_after.total_cmp(&b.score_after))
        })
    };
    let order = improved(plan.clone());
    let aligned = best(apart::aligned(&plan), Means::Align);
    let split = best(apart::split(&plan), Means::Split);
    let has_order = order.is_some();
    let mut all: Vec<Suggestion> = [order, aligned, split].into_iter().flatten().collect();
    if let Some(first) = all.first_mut().filter(|_| !has_order) {
        let mut torn = plan;
        torn.parts.iter_mut().for_each(|part| part.together.forget_functions());
        let together = improved(torn).is_some();
        first.notes.insert(0, proposal::no_order(layouts, id, together));
    }
    Ok(all)
}

fn plan(layouts: &LayoutModel<'_>, id: TypeId, pins: &Pins) -> Result<LayoutPlan, &'static str> {
    let units = |id: TypeId| {
        let name = &layouts.model[id].name;
        LayoutUnits::of(layouts, id, &|member| pins.hold(name, member))
    };
    let part = |id: TypeId, mut units: LayoutUnits, embeds: Vec<usize>| {
        let order = (0..units.units.len()).collect();
        let together = UsedTogether::of(layouts, id, &mut units.units);
        PlannedType { embeds, together, ..PlannedType::new(id, units, order, layouts.line_bytes) }
    };
    let mut parts = vec![part(id, units(id)?, Vec::new())];
    let embedders = layouts.embedders(id);
    let mut resizable = embedders.len() <= MAX_EMBEDDERS;
    for &outer in embedders.iter().take(MAX_EMBEDDERS) {
        let embeds = units(outer).map(|units| (direct(layouts, outer, id, &units), units));
        match embeds {
            Ok((embeds, units)) if !embeds.is_empty() => {
                // Types that embed `outer` would change their size too.
                resizable &= layouts.embedders(outer).is_empty();
                parts.push(part(outer, units, embeds));
            }
            _ => resizable = false,
        }
    }
    let mut plan = LayoutPlan { parts, resizable };
    for part in 0..plan.parts.len() {
        plan.parts[part].bearable = plan.lines_now(part) + ROUNDING;
    }
    Ok(plan)
}

/// The units of `outer` that are members of the type `inner`.
fn direct(
    layouts: &LayoutModel<'_>,
    outer: TypeId,
    inner: TypeId,
    units: &LayoutUnits,
) -> Vec<usize> {
    let members = layouts.model[outer].kind.members();
    let is_inner = |at: &usize| {
        let member = &members[units.units[*at].members.start];
        layouts.model.resolved(member.ty) == inner && !member.name.is_empty()
    };
    (0..units.units.len()).filter(is_inner).collect()
}

fn arranged(layouts: &LayoutModel<'_>, plan: &LayoutPlan) -> HashMap<TypeId, Arranged> {
    let mut types = HashMap::new();
    let first = plan.parts[0].place(None).size;
    for (index, part) in plan.parts.iter().enumerate() {
        let placed = part.place((index > 0).then_some(first));
        let members = layouts.model[part.id].kind.members();
        let mut offsets = vec![0; members.len()];
        for (unit, at) in part.units.units.iter().zip(&placed.offsets) {
            for member in unit.members.clone() {
                offsets[member] = at + (members[member].offset - unit.offset);
            }
        }
        let units = part.away.iter().map(|unit| part.units.units[*unit].members.start);
        let (size, align, away) = (placed.size, part.align(), units.collect());
        types.insert(part.id, Arranged { offsets, size, align, away });
    }
    types
}
