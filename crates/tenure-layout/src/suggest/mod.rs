//! A better order of members, and its cost.
//!
//! [`suggest`] looks for an order of a type's members, and of the members of types that embed it, with fewer and less
//! important members on the line of a contended word. It follows what reviewers ask for:
//!
//! - No type grows. Cold and rarely read members take the places on the contended line: padding would cost memory in
//!   every object and in every type around it.
//! - Few members move: each has a price, at most eight move in one type, and a gain below 15 % of the score is not
//!   proposed.
//! - In a type that embeds the one to mend only pairs across the embedding count; no line of it may get worse.
//! - Bit fields move as runs, to where a compiler keeps their distances.
//! - The embedded struct that a type starts with stays at its start, because pointers are cast; base classes stay, and
//!   so does everything up to a pinned member.
//! - A link that lookups walk stays on its line, with what they read next.
//! - Members between two markers (`__cacheline_group_begin__…`) stay between them.
//!
//! The notes say what is left on the line, what aligning the word or splitting it off would cost an object, and what to check after a change of order:
//! initialisers without names, offsets in assembly or in a wire format, ABIs.

mod plan;
mod search;
mod tell;
mod units;

use std::collections::HashMap;

use crate::lines::{Arranged, Layouts};
use plan::{Part, Plan};
use tenure_find::Suggestion;
use tenure_types::model::{Kind, TypeId};
use units::{Stuck, Units};

const MOST_PARTS: usize = 12;

/// Rounding between sums of the same figures in another order.
const BEARABLE: f64 = 1e-9;

/// Members that must not move.
#[derive(Debug, Clone, Default)]
pub struct Pins(Vec<(Option<String>, String)>);

impl Pins {
    /// `MEMBER`, of any type, or `TYPE.MEMBER`. The member and all before it stay.
    pub fn new(words: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let split = |word: &str| match word.rsplit_once('.') {
            Some((ty, member)) => (Some(ty.to_owned()), member.to_owned()),
            None => (None, word.to_owned()),
        };
        Self(words.into_iter().map(|word| split(word.as_ref())).collect())
    }

    /// Pins that name no member in the model.
    #[must_use]
    pub fn unknown(&self, layouts: &Layouts<'_>) -> Vec<String> {
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

/// Looks for a better order of a type's members.
///
/// # Errors
///
/// The reason why there is none, as a sentence.
pub fn suggest(layouts: &Layouts<'_>, id: TypeId, pins: &Pins) -> Result<Suggestion, String> {
    let mut plan = plan(layouts, id, pins).map_err(|stuck| tell::stuck(layouts, id, stuck))?;
    search::improve(&mut plan);
    tell::suggestion(layouts, &plan).ok_or_else(|| tell::no_order(layouts, id))
}

fn plan(layouts: &Layouts<'_>, id: TypeId, pins: &Pins) -> Result<Plan, Stuck> {
    let units = |id: TypeId| {
        let name = &layouts.model[id].name;
        Units::of(layouts, id, &|member| pins.hold(name, member))
    };
    let part = |id: TypeId, units: Units, embeds: Vec<usize>| {
        let order = (0..units.units.len()).collect();
        Part { id, units, order, embeds, bearable: f64::INFINITY }
    };
    let mut parts = vec![part(id, units(id)?, Vec::new())];
    let embedders = layouts.embedders(id);
    let mut resizable = embedders.len() <= MOST_PARTS;
    for &outer in embedders.iter().take(MOST_PARTS) {
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
    let mut plan = Plan { parts, line_bytes: layouts.line_bytes, resizable };
    for part in 0..plan.parts.len() {
        plan.parts[part].bearable = plan.lines_now(part) + BEARABLE;
    }
    Ok(plan)
}

fn direct(layouts: &Layouts<'_>, outer: TypeId, inner: TypeId, units: &Units) -> Vec<usize> {
    let Kind::Composite { members, .. } = &layouts.model[outer].kind else { return Vec::new() };
    let is_inner = |member: usize| {
        layouts.model.resolved(members[member].ty) == inner && !members[member].name.is_empty()
    };
    let mut found = Vec::new();
    for (index, unit) in units.units.iter().enumerate() {
        if is_inner(unit.members.start) {
            found.push(index);
        }
    }
    found
}

fn arranged(layouts: &Layouts<'_>, plan: &Plan) -> HashMap<TypeId, Arranged> {
    let mut types = HashMap::new();
    let first = plan.parts[0].place(None).size;
    for (index, part) in plan.parts.iter().enumerate() {
        let placed = part.place((index > 0).then_some(first));
        let Kind::Composite { members, .. } = &layouts.model[part.id].kind else { continue };
        let mut offsets = vec![0; members.len()];
        for (unit, at) in part.units.units.iter().zip(&placed.offsets) {
            for member in unit.members.clone() {
                offsets[member] = at + (members[member].offset - unit.offset);
            }
        }
        types.insert(part.id, Arranged { offsets, size: placed.size });
    }
    types
}
