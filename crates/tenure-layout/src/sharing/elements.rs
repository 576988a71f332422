//! Neighbouring elements of an array.
//!
//! In `struct { atomic_long done; … } workers[64]` each thread writes only its own element, and two elements lie on one
//! line.

use super::score::{Embedding, Lifetime, ScoreSignals};
use super::{Array, RawFinding, Site, Sufferer, signals, together, weight, worst_first};
use crate::evidence::Uses;
use crate::lines::{Flat, LayoutModel, Leaf};
use tenure_types::model::{Kind, TypeId};

/// Elements, after which the places where they meet lines are taken to repeat.
const PERIOD: u64 = 64;

const MOST_LOOKS: usize = 1 << 18;

/// Elements of one line that count: writers take turns.
const MOST_BESIDE: u32 = 3;

/// Arrays whose neighbouring elements share a line.
pub(super) fn find(layouts: &LayoutModel<'_>) -> Vec<RawFinding> {
    let model = layouts.model;
    let mut found = Vec::new();
    for (owner, ty, members) in model.composites() {
        if ty.name.is_empty() {
            continue;
        }
        for (member, array) in members.iter().enumerate() {
            if let Some((element, stride, count)) = array_of(layouts, array.ty) {
                let array = (Array::Member { owner, member }, array.offset);
                found.extend(in_array(layouts, array, element, stride, count));
            }
        }
    }
    for (index, variable) in model.statics().iter().enumerate() {
        if let Some((element, stride, count)) = array_of(layouts, variable.ty) {
            let array = (Array::Static(index), variable.address);
            found.extend(in_array(layouts, array, element, stride, count));
        }
    }
    found
}

/// Of nested arrays the innermost elements, if they hold contended words.
fn array_of(layouts: &LayoutModel<'_>, id: TypeId) -> Option<(TypeId, u64, u64)> {
    let model = layouts.model;
    let (mut at, mut all) = (model.resolved(id), 1_u64);
    while let Kind::Array { element, count } = model[at].kind {
        all = if count == 0 { 0 } else { all.saturating_mul(count) };
        // A known typedef, and not its target.
        let known = layouts.whole(layouts.roles.of_type(element), element).is_some();
        at = if known { element } else { model.resolved(element) };
        if known {
            break;
        }
    }
    (all != 1 && at != model.resolved(id) && layouts.is_contended(at))
        .then(|| (at, layouts.size_of(at), all))
        .filter(|&(_, stride, _)| stride > 0)
}

fn in_array(
    layouts: &LayoutModel<'_>,
    (array, start): (Array, u64),
    element: TypeId,
    stride: u64,
    count: u64,
) -> Option<RawFinding> {
    let leaves = layouts.value(element);
    let flat = layouts.flat(element);
    let mut found = Vec::new();
    let most = MOST_LOOKS / leaves.len().max(1) + 1;
    for word in leaves.iter().filter(|leaf| leaf.role.is_contended()).take(most) {
        let mut victims = Vec::new();
        let uses = any_uses(layouts, &flat, (array, element), word);
        for leaf in &leaves {
            let Some(said) = weight::of_stranger(layouts, leaf) else { continue };
            let share = meetings(layouts, start, stride, count, word, leaf);
            if share > 0.0 {
                let seen = uses.as_ref().zip(any_uses(layouts, &flat, (array, element), leaf));
                let seen = seen.as_ref().map(|(word, leaf)| (*word, leaf));
                victims.push((share, Sufferer::new(layouts, word.role, leaf, said, seen, 0)));
            }
        }
        let Some(most) = victims.iter().map(|(share, _)| *share).reduce(f64::max) else { continue };
        let victims = victims.into_iter().map(|(_, victim)| victim).collect();
        let code = uses.as_ref().map(|uses| uses.heat(layouts.evidence));
        let with_code = |signals| ScoreSignals { code, ..signals };
        let array = (array, element, stride, count);
        found.push(finding(layouts, array, word, victims, most, with_code));
    }
    (!found.is_empty()).then(|| together(found))
}

/// A word of each element, those that suffer from it, and the largest share of elements in which one does.
pub(super) fn finding(
    layouts: &LayoutModel<'_>,
    (array, element, stride, count): (Array, TypeId, u64, u64),
    word: &Leaf,
    mut victims: Vec<Sufferer>,
    most: f64,
    seen: impl FnOnce(ScoreSignals) -> ScoreSignals,
) -> RawFinding {
    worst_first(&mut victims);
    let alone = signals(layouts, (element, None), word.role, &victims, Embedding::Inside, most);
    let beside = beside(layouts, stride);
    let is_static = matches!(array, Array::Static(_));
    let signals = seen(ScoreSignals {
        strangers: true,
        beside,
        weights: alone.weights * f64::from(beside),
        lifetime: if is_static { Lifetime::Static } else { alone.lifetime },
        is_global: is_static,
        ..alone
    });
    let site = Site::Elements { array, element, stride, count };
    RawFinding { site, word: *word, victims, signals, score: signals.score() }
}

/// What the code does to a leaf of an array's elements.
pub(super) fn uses(
    layouts: &LayoutModel<'_>,
    (array, element): (Array, TypeId),
    leaf: &Leaf,
) -> Option<Uses> {
    let evidence = layouts.evidence?;
    Some(match array {
        Array::Member { owner, member } => {
            let Kind::Composite { members, .. } = &layouts.model[owner].kind else { return None };
            let start = members.get(member)?.offset;
            evidence.of_type(owner, start.saturating_add(leaf.offset), leaf.size)
        }
        Array::Static(index) => evidence.of_static(index, leaf.offset, leaf.size),
        Array::Pointed => evidence.of_direct(element, leaf.offset, leaf.size),
    })
}

/// The same, wherever such an element lies; of a number, only in this array.
pub(super) fn any_uses(
    layouts: &LayoutModel<'_>,
    flat: &Flat,
    array: (Array, TypeId),
    leaf: &Leaf,
) -> Option<Uses> {
    flat.uses(layouts, leaf).filter(|all| !all.is_empty()).or_else(|| uses(layouts, array, leaf))
}

/// How many elements of a line count.
fn beside(layouts: &LayoutModel<'_>, stride: u64) -> u32 {
    let room = (layouts.line_bytes / stride).saturating_sub(1);
    u32::try_from(room).unwrap_or(u32::MAX).clamp(1, MOST_BESIDE)
}

/// The share of elements whose word is on a line with this leaf of the next or previous element.
pub(super) fn meetings(
    layouts: &LayoutModel<'_>,
    start: u64,
    stride: u64,
    count: u64,
    word: &Leaf,
    leaf: &Leaf,
) -> f64 {
    // A flexible array has any number.
    let pairs = count.checked_sub(1).unwrap_or(PERIOD).min(PERIOD);
    // Places on lines repeat after this many elements: one period is enough.
    let lowest = |value: u64| 1 << value.trailing_zeros();
    let period = layouts.line_bytes / layouts.line_bytes.min(lowest(stride));
    let pairs = if pairs.is_multiple_of(period) { period } else { pairs };
    let at = |element: u64, leaf: &Leaf| {
        let base = start.saturating_add(stride.saturating_mul(element));
        (base.saturating_add(leaf.offset), leaf.size)
    };
    let meet = |element: u64| {
        layouts.share(at(element, word), at(element + 1, leaf))
            || layouts.share(at(element + 1, word), at(element, leaf))
    };
    let met = (0..pairs).filter(|&element| meet(element)).count();
    #[allow(clippy::cast_precision_loss)] // There are at most 64.
    let share = met as f64 / pairs as f64;
    share
}
