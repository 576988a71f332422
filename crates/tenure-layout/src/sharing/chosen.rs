//! Neighbouring elements of an array of plain words, or behind a pointer, where the code chooses an element by a variable.
//!
//! `pending[id] = 0`, in a function that each thread runs with its own `id`: no word is atomic, no two threads write the same,
//! and all write the same line. A loop that steps through the array is no sign of that. Arrays behind a pointer are found by
//! what their elements are.

use super::elements::{finding, meetings, uses};
use super::score::{Chosen, ScoreSignals};
use super::weight::{self, Why};
use super::{Array, RawFinding, Sufferer, together};
use crate::evidence::{CodeEvidence, Uses};
use crate::lines::{LayoutModel, Leaf};
use tenure_model::Role;
use tenure_types::model::{Kind, Model, Scalar, TypeId};

/// More elements are data, and not one for each thread.
const MOST_THREADS: u64 = 1024;

/// Smaller numbers are letters.
const LEAST_NUMBER: u64 = 4;

const MOST_WORDS: usize = 64;

/// Arrays whose elements have no contended word or lie behind a pointer, and are written by index.
pub(super) fn find(layouts: &LayoutModel<'_>) -> Vec<RawFinding> {
    let Some(evidence) = layouts.evidence else { return Vec::new() };
    let model = layouts.model;
    let mut found = Vec::new();
    for (owner, ty, members) in model.composites() {
        if ty.name.is_empty() || !evidence.knows(owner) {
            continue;
        }
        for (member, array) in members.iter().enumerate() {
            if layouts.roles.of_member(owner, member).is_none() {
                let start = array.offset;
                found.extend(of(layouts, Array::Member { owner, member }, start, array.ty));
            }
        }
    }
    for (index, variable) in model.statics().iter().enumerate() {
        if layouts.roles.of_static(index).is_none() {
            found.extend(of(layouts, Array::Static(index), variable.address, variable.ty));
        }
    }
    for ty in evidence.chosen_types() {
        let is_composite = matches!(model[ty].kind, Kind::Composite { .. });
        let may_be = layouts.roles.of_type(ty).is_none_or(Role::is_contended);
        if is_composite && !model[ty].name.is_empty() && may_be {
            found.extend(in_array(layouts, evidence, Array::Pointed, 0, ty, 0));
        }
    }
    found
}

fn of(layouts: &LayoutModel<'_>, array: Array, start: u64, id: TypeId) -> Option<RawFinding> {
    let (element, count) = elements(layouts.model, id)?;
    in_array(layouts, layouts.evidence?, array, start, element, count)
}

/// Of nested arrays the innermost elements, and how many they are.
fn elements(model: &Model, id: TypeId) -> Option<(TypeId, u64)> {
    let (mut at, mut all) = (model.resolved(id), 1_u64);
    while let Kind::Array { element, count } = model[at].kind {
        all = all.saturating_mul(count);
        at = model.resolved(element);
    }
    (at != model.resolved(id) && all != 1).then_some((at, all))
}

fn in_array(
    layouts: &LayoutModel<'_>,
    evidence: &CodeEvidence,
    array: Array,
    start: u64,
    element: TypeId,
    count: u64,
) -> Option<RawFinding> {
    let stride = layouts.size_of(element);
    // Of contended words every array is looked at, but for those behind a pointer.
    let is_known = layouts.is_contended(element) && array != Array::Pointed;
    if stride == 0 || stride >= layouts.line_bytes || is_known {
        return None;
    }
    let leaves = match layouts.model[element].kind {
        Kind::Composite { .. } => layouts.value(element),
        _ => vec![Leaf::whole(element, 0, stride, Role::Plain)],
    };
    let written: Vec<(Leaf, Uses, Chosen)> = leaves
        .iter()
        .filter_map(|leaf| {
            let uses = uses(layouts, (array, element), leaf)?.chosen();
            let how = how(layouts.model, array, count, leaf, &uses)?;
            Some((*leaf, uses, how))
        })
        .take(MOST_WORDS)
        .collect();
    let mut found = Vec::new();
    for (word, uses, how) in &written {
        let mut victims = Vec::new();
        let mut most = 0.0_f64;
        for leaf in &leaves {
            let is_written = written.iter().any(|(other, ..)| other.range() == leaf.range());
            let said = match is_written {
                true => Some((0.8, Why::WRITTEN)),
                false => weight::of_stranger(layouts, leaf),
            };
            let Some(said) = said else { continue };
            let share = meetings(layouts, start, stride, count, word, leaf);
            if share > 0.0 {
                most = most.max(share);
                victims.push(Sufferer::new(layouts, word.role, leaf, said, None, 0));
            }
        }
        if victims.is_empty() {
            continue;
        }
        let seen = |signals| ScoreSignals {
            is_plain: word.role == Role::Plain,
            chosen: Some(*how),
            code: Some(uses.heat(Some(evidence))),
            ..signals
        };
        let array = (array, element, stride, count);
        found.push(finding(layouts, array, word, victims, most, seen));
    }
    (!found.is_empty()).then(|| together(found))
}

/// How a leaf of an element that a variable chooses is written, if that may be one for each thread.
fn how(model: &Model, array: Array, count: u64, leaf: &Leaf, uses: &Uses) -> Option<Chosen> {
    let is_number = match model[model.resolved(leaf.ty)].kind {
        _ if leaf.role.is_contended() => true,
        // Known to be something else.
        _ if leaf.role != Role::Plain => return None,
        Kind::Scalar(Scalar::Integer | Scalar::Float) if leaf.size >= LEAST_NUMBER => true,
        Kind::Pointer(_) => false,
        _ => return None,
    };
    if uses.is_empty() {
        return None;
    }
    let is_contended = leaf.role.is_contended();
    if uses.counts.own > 0 {
        return Some(Chosen::Own);
    }
    // The slots of a table are chosen as well.
    if !is_number || count > MOST_THREADS {
        return None;
    }
    if is_contended || uses.updaters(false).next().is_some() || uses.atomics() > 0 {
        return Some(Chosen::Updated);
    }
    (array != Array::Pointed).then_some(Chosen::Stored)
}
