//! Neighbouring elements of an array.
//!
//! In `struct { atomic_long done; … } workers[64]` each thread writes only its own element, and two elements lie on one line.
//!
//! In `pending[id] = 0`, in a function that each thread runs with its own `id`, no word is atomic, no two threads write the same,
//! and all write the same line. So elements of plain words count where the code chooses one by a variable, unless that is a loop
//! that steps through the array. Arrays that a pointer leads to are found by what their elements are.

use super::score::{Chosen, Embedding, Lifetime, ScoreSignals};
use super::weight::{self, Why};
use super::{Array, RawFinding, Site, Sufferer, together, worst_first};
use crate::evidence::{CodeEvidence, Uses};
use crate::lines::{Flat, LayoutModel, Leaf};
use tenure_debuginfo::model::{Scalar, TypeId, TypeKind};
use tenure_model::Role;

/// Elements after which their places on lines are taken to repeat.
const MAX_PERIOD: u64 = 64;

/// Pairs of leaves that are compared for one array: judgement, a second of work.
const MAX_PAIRS: usize = 1 << 18;

/// Elements of one line that count: writers take turns.
const MAX_BESIDE: u32 = 3;

/// An array of more elements is data, and does not have one for each thread.
const MAX_THREADS: u64 = 1024;

/// Bytes of a number that may be a thread's own: smaller ones are letters.
const MIN_NUMBER_BYTES: u64 = 4;

/// Words of one element that are reported.
const MAX_WORDS: usize = 64;

/// Elements that follow each other.
#[derive(Clone, Copy)]
struct ElementRow<'a, 'm> {
    layouts: &'a LayoutModel<'m>,
    array: Array,
    /// The offset or address of the first element.
    start: u64,
    element: TypeId,
    stride: u64,
    /// 0 for any number.
    count: u64,
}

/// A word of each element.
struct ElementWord {
    leaf: Leaf,
    uses: Option<Uses>,
    chosen: Option<Chosen>,
}

/// Arrays whose neighbouring elements share a line.
pub(super) fn find(layouts: &LayoutModel<'_>) -> Vec<RawFinding> {
    let model = layouts.model;
    let named = model.composites().filter(|(_, ty, _)| !ty.name.is_empty());
    let members = named.flat_map(|(owner, _, members)| {
        let array = move |member| Array::Member { owner, member };
        members.iter().enumerate().map(move |(at, one)| (array(at), one.offset, one.ty))
    });
    let statics = model.statics().iter().enumerate();
    let statics = statics.map(|(index, one)| (Array::Static(index), one.address, one.ty));
    let mut found = Vec::new();
    for (array, start, ty) in members.chain(statics) {
        let row = |(element, count)| {
            let stride = layouts.size_of(element);
            ElementRow { layouts, array, start, element, stride, count }
        };
        found.extend(contended_elements(layouts, ty).map(row).and_then(ElementRow::of_contended));
        if may_be_chosen(layouts, array) {
            let elements = innermost(layouts, ty, |_| false);
            found.extend(elements.map(row).and_then(ElementRow::of_chosen));
        }
    }
    for element in layouts.evidence.map_or_else(Vec::new, CodeEvidence::chosen_types) {
        let is_composite = model[element].kind.is_composite();
        let may_be = layouts.roles.of_type(element).is_none_or(Role::is_contended);
        if is_composite && !model[element].name.is_empty() && may_be {
            let (array, stride) = (Array::Pointed, layouts.size_of(element));
            let row = ElementRow { layouts, array, start: 0, element, stride, count: 0 };
            found.extend(row.of_chosen());
        }
    }
    found
}

/// The elements of nested arrays down to those of which the whole is known, and how many they are.
fn innermost(
    layouts: &LayoutModel<'_>,
    id: TypeId,
    is_known: impl Fn(TypeId) -> bool,
) -> Option<(TypeId, u64)> {
    let model = layouts.model;
    let (mut at, mut all) = (model.resolved(id), 1_u64);
    while let TypeKind::Array { element, count } = model[at].kind {
        all = all.saturating_mul(count);
        if is_known(element) {
            at = element;
            break;
        }
        at = model.resolved(element);
    }
    (at != model.resolved(id) && all != 1).then_some((at, all))
}

fn contended_elements(layouts: &LayoutModel<'_>, id: TypeId) -> Option<(TypeId, u64)> {
    // A known typedef, and not its target.
    let is_known = |element| layouts.whole(layouts.roles.of_type(element), element).is_some();
    let is_word =
        |(element, _): &_| layouts.is_contended(*element) && layouts.size_of(*element) > 0;
    innermost(layouts, id, is_known).filter(is_word)
}

/// Whether it has no role, and code is known to use it.
fn may_be_chosen(layouts: &LayoutModel<'_>, array: Array) -> bool {
    layouts.evidence.is_some_and(|evidence| match array {
        Array::Member { owner, member } => {
            evidence.knows(owner) && layouts.roles.of_member(owner, member).is_none()
        }
        Array::Static(index) => layouts.roles.of_static(index).is_none(),
        Array::Pointed => true,
    })
}

impl ElementRow<'_, '_> {
    /// Elements with contended words.
    fn of_contended(self) -> Option<RawFinding> {
        let leaves = self.layouts.value(self.element);
        let flat = self.layouts.flat(self.element);
        let uses = |leaf: &Leaf| any_uses(self.layouts, &flat, (self.array, self.element), leaf);
        let words = leaves.iter().filter(|leaf| leaf.role.is_contended());
        let words = words.take(MAX_PAIRS / leaves.len().max(1) + 1);
        let words: Vec<ElementWord> =
            words.map(|leaf| ElementWord { leaf: *leaf, uses: uses(leaf), chosen: None }).collect();
        self.finding(&words, &leaves, uses)
    }

    /// Elements without a contended word, or that a pointer leads to, which the code chooses by a variable and writes.
    fn of_chosen(self) -> Option<RawFinding> {
        let Self { layouts, element, stride, .. } = self;
        // Of contended words every array is judged, but for those that a pointer leads to.
        let is_known = layouts.is_contended(element) && self.array != Array::Pointed;
        if stride == 0 || stride >= layouts.line_bytes || is_known {
            return None;
        }
        let leaves = match layouts.model[element].kind {
            TypeKind::Composite { .. } => layouts.value(element),
            _ => vec![Leaf::whole(element, 0, stride, Role::Plain)],
        };
        let word = |leaf: &Leaf| {
            let uses = uses(layouts, (self.array, element), leaf)?.chosen();
            let chosen = Some(self.how(leaf, &uses)?);
            Some(ElementWord { leaf: *leaf, uses: Some(uses), chosen })
        };
        let words: Vec<ElementWord> = leaves.iter().filter_map(word).take(MAX_WORDS).collect();
        self.finding(&words, &leaves, |_| None)
    }

    /// How a leaf of an element that a variable chooses is written, if that may be one for each thread.
    fn how(&self, leaf: &Leaf, uses: &Uses) -> Option<Chosen> {
        let model = self.layouts.model;
        let is_number = match model[model.resolved(leaf.ty)].kind {
            _ if leaf.role.is_contended() => true,
            // Known to be something else.
            _ if leaf.role != Role::Plain => return None,
            TypeKind::Scalar(Scalar::Integer | Scalar::Float) if leaf.size >= MIN_NUMBER_BYTES => {
                true
            }
            TypeKind::Pointer(_) => false,
            _ => return None,
        };
        let is_updated = || uses.updaters(false).next().is_some() || uses.atomics() > 0;
        if uses.is_empty() {
            None
        } else if uses.counts.own > 0 {
            Some(Chosen::Own)
        } else if !is_number || self.count > MAX_THREADS {
            // The slots of a table are chosen as well.
            None
        } else if leaf.role.is_contended() || is_updated() {
            Some(Chosen::Updated)
        } else {
            (self.array != Array::Pointed).then_some(Chosen::Stored)
        }
    }

    /// What the words of elements do to the leaves of those beside them. `seen` says what the code does to a neighbour.
    fn finding(
        self,
        words: &[ElementWord],
        leaves: &[Leaf],
        seen: impl Fn(&Leaf) -> Option<Uses>,
    ) -> Option<RawFinding> {
        let mut found = Vec::new();
        for word in words {
            let mut victims = Vec::new();
            let mut most = 0.0_f64;
            for leaf in leaves {
                let is_written = |other: &ElementWord| {
                    other.chosen.is_some() && other.leaf.range() == leaf.range()
                };
                let said = match words.iter().any(is_written) {
                    true => Some((0.8, Why::WRITTEN)),
                    false => weight::of_stranger(self.layouts, leaf),
                };
                let Some(said) = said else { continue };
                let share = self.meetings(&word.leaf, leaf);
                if share > 0.0 {
                    most = most.max(share);
                    let own = seen(leaf);
                    let seen = (word.uses.as_ref(), own.as_ref());
                    victims.push(Sufferer::new(self.layouts, word.leaf.role, leaf, said, seen));
                }
            }
            if !victims.is_empty() {
                found.push(self.rated(word, victims, most));
            }
        }
        (!found.is_empty()).then(|| together(found))
    }

    /// A word of each element and those that suffer from it, `placements` being the largest share of elements in which one does.
    fn rated(self, word: &ElementWord, mut victims: Vec<Sufferer>, placements: f64) -> RawFinding {
        let Self { layouts, array, element, stride, count, .. } = self;
        worst_first(&mut victims);
        let alone = ScoreSignals::new(word.leaf.role, &victims).in_object(layouts, element, None);
        let is_static = matches!(array, Array::Static(_));
        let room = (layouts.line_bytes / stride).saturating_sub(1);
        let beside = u32::try_from(room).unwrap_or(u32::MAX).clamp(1, MAX_BESIDE);
        let signals = ScoreSignals {
            chosen: word.chosen,
            strangers: true,
            beside,
            weights: alone.weights * f64::from(beside),
            lifetime: if is_static { Lifetime::Static } else { alone.lifetime },
            is_global: is_static,
            embedding: Embedding::Inside,
            placements,
            code: word.uses.as_ref().map(|uses| uses.heat(layouts.evidence)),
            ..alone
        };
        let site = Site::Elements { array, element, stride, count };
        RawFinding { site, word: word.leaf, victims, signals, score: signals.score() }
    }

    /// The share of elements whose word is on a line with this leaf of the next or previous element.
    fn meetings(&self, word: &Leaf, leaf: &Leaf) -> f64 {
        let Self { layouts, start, stride, count, .. } = *self;
        // A flexible array has any number.
        let pairs = count.checked_sub(1).unwrap_or(MAX_PERIOD).min(MAX_PERIOD);
        // Places on lines repeat after this many elements: one period is enough.
        let period = layouts.line_bytes / layouts.line_bytes.min(1 << stride.trailing_zeros());
        let pairs = if pairs.is_multiple_of(period) { period } else { pairs };
        let at = |element: u64, leaf: &Leaf| {
            let base = start.saturating_add(stride.saturating_mul(element));
            (base.saturating_add(leaf.offset), leaf.size)
        };
        let meet = |element: &u64| {
            layouts.share(at(*element, word), at(element + 1, leaf))
                || layouts.share(at(element + 1, word), at(*element, leaf))
        };
        #[allow(clippy::cast_precision_loss)] // There are at most 64.
        let share = (0..pairs).filter(meet).count() as f64 / pairs as f64;
        share
    }
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
            let start = layouts.model[owner].kind.members().get(member)?.offset;
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
