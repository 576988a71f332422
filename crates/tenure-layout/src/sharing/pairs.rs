use super::score::Embedding;
use super::{Guards, RawFinding, Site, Sufferer, signals, together, weight, worst_first};
use crate::lines::{Flat, LayoutModel, Leaf, ROOT, share};
use tenure_types::model::{Kind, TypeId};

/// Around the words of one type. The largest of Linux take a few thousand.
const MOST_AROUND: usize = 1 << 18;

/// One finding for each line, of all its contended words.
pub(crate) fn in_type(layouts: &LayoutModel<'_>, id: TypeId) -> Vec<RawFinding> {
    let flat = layouts.flat(id);
    let mut found: Vec<(u64, Vec<RawFinding>)> = Vec::new();
    let mut looked = 0;
    let guards = layouts.evidence.and_then(|_| Guards::of(layouts, &flat));
    let is_under_lock = |leaf: &Leaf| {
        guards.as_ref().is_some_and(|all| all.guard(&flat, leaf).is_written_under_lock())
    };
    for word in &flat.leaves {
        let is_shared = word.role.is_contended() || flat.is_written(layouts, word);
        if !is_shared && !is_under_lock(word) {
            continue;
        }
        let around: Vec<&Leaf> = flat.around(word, layouts.line_bytes).collect();
        looked += around.len();
        if looked > MOST_AROUND {
            break;
        }
        let whose = Whose { guards: guards.as_ref(), only_other_locks: !is_shared };
        let Some(one) = of_word(layouts, id, &flat, word, (&around, whose)) else { continue };
        let line = layouts.line_of(word.offset);
        match found.iter_mut().find(|(at, _)| *at == line) {
            Some((_, others)) => others.push(one),
            None => found.push((line, vec![one])),
        }
    }
    found.into_iter().map(|(_, of_line)| together(of_line)).collect()
}

/// Which neighbours count.
#[derive(Clone, Copy)]
struct Whose<'g> {
    guards: Option<&'g Guards>,
    /// Only those that another lock guards than the word.
    only_other_locks: bool,
}

impl Whose<'_> {
    fn is_of_other_lock(self, flat: &Flat, word: &Leaf, leaf: &Leaf) -> bool {
        let Some(guards) = self.guards else { return false };
        let (word, leaf) = (guards.guard(flat, word), guards.guard(flat, leaf));
        leaf.lock == 0 && leaf.differs(word)
    }
}

/// Of a word and its neighbours, through the embedding that brings most of them together.
fn of_word(
    layouts: &LayoutModel<'_>,
    id: TypeId,
    flat: &Flat,
    word: &Leaf,
    (around, whose): (&[&Leaf], Whose<'_>),
) -> Option<RawFinding> {
    let mut victims: Vec<Sufferer> = Vec::new();
    // How much each embedding brings together.
    let mut embeddings: Vec<(Option<usize>, f64)> = Vec::new();
    // Not alternatives of a union, which are never there at the same time, nor the word itself.
    let beside = |leaf: &&&Leaf| leaf.end() <= word.offset || word.end() <= leaf.offset;
    let uses = flat.uses(layouts, word);
    for &leaf in around.iter().filter(beside) {
        let Some(through) = apart(layouts, flat, word, leaf) else { continue };
        let is_of_other_lock = whose.is_of_other_lock(flat, word, leaf);
        let said = match is_of_other_lock {
            true => Some(weight::of_other_lock(layouts, leaf)),
            false if whose.only_other_locks => None,
            false => weight::of(layouts, word.role, leaf),
        };
        let Some(said) = said else { continue };
        let seen = uses.as_ref().zip(flat.uses(layouts, leaf));
        let seen = seen.as_ref().map(|(word, leaf)| (*word, leaf));
        let mut one = Sufferer::new(layouts, word.role, leaf, said, seen, 0);
        if is_of_other_lock {
            one.unguarded = 1.0;
        }
        match embeddings.iter_mut().find(|(other, _)| *other == through) {
            Some((_, weight)) => *weight += one.weight,
            None => embeddings.push((through, one.weight)),
        }
        victims.push(one);
    }
    let (through, _) = embeddings.into_iter().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    let site = Site::Type { id, through };
    let embedding = embedding(layouts, id, flat, through);
    let start = through.map(|step| flat.embedded(step)).filter(|(_, offset)| *offset == 0);
    let inner = start.map(|(ty, _)| ty);
    let mut one = rate(layouts, site, (id, inner), *word, victims, embedding);
    one.signals.code = uses.as_ref().map(|uses| uses.heat(layouts.evidence));
    one.signals.other_lock = whose.only_other_locks;
    one.score = one.signals.score();
    Some(one)
}

fn rate(
    layouts: &LayoutModel<'_>,
    site: Site,
    (id, inner): (TypeId, Option<TypeId>),
    word: Leaf,
    victims: Vec<Sufferer>,
    embedding: Embedding,
) -> RawFinding {
    let mut victims = one_for_each_byte(victims);
    worst_first(&mut victims);
    let step = layouts.starts(id);
    let weights: f64 = victims.iter().map(|victim| victim.weight).sum();
    let placements = victims
        .iter()
        .map(|victim| {
            let at = placements(layouts.line_bytes, step, word.range(), victim.leaf.range());
            victim.weight * at
        })
        .sum::<f64>()
        / weights;
    let signals = signals(layouts, (id, inner), word.role, &victims, embedding, placements);
    RawFinding { site, word, victims, signals, score: signals.score() }
}

/// The embedding through which two leaves meet: `Some(None)` if in the type itself, `None` if another type's finding
/// reports it.
fn apart(
    layouts: &LayoutModel<'_>,
    flat: &Flat,
    word: &Leaf,
    leaf: &Leaf,
) -> Option<Option<usize>> {
    let relation = flat.relation(layouts, word, leaf);
    if relation.elements || relation.exclusive {
        return None;
    }
    if relation.common != ROOT {
        // Reported for the embedded type, unless only this type brings the two onto one line.
        let (_, start) = flat.embedded(relation.common);
        let inner = |leaf: &Leaf| (leaf.offset - start, leaf.size);
        if layouts.share(inner(word), inner(leaf)) {
            return None;
        }
        return flat.embedding(word, ROOT).map(Some);
    }
    let through = flat.embedding(word, ROOT).or_else(|| flat.embedding(leaf, ROOT));
    Some(through)
}

fn embedding(
    layouts: &LayoutModel<'_>,
    id: TypeId,
    flat: &Flat,
    through: Option<usize>,
) -> Embedding {
    if let Some(step) = through {
        let (_, offset) = flat.embedded(step);
        return if offset == 0 { Embedding::Starts } else { Embedding::Inside };
    }
    let embedders = layouts.embedders(id);
    let starts = |&outer: &TypeId| match &layouts.model[outer].kind {
        Kind::Composite { members, .. } => members
            .iter()
            .take_while(|member| member.offset == 0)
            .any(|member| layouts.model.resolved(member.ty) == id),
        _ => false,
    };
    match embedders {
        [] => Embedding::Alone,
        _ if embedders.iter().any(starts) => Embedding::Starts,
        _ => Embedding::Inside,
    }
}

/// Of victims that overlap (alternatives of a union, bit fields of one byte), the heaviest. Of equal ones the first in
/// the source: later alternatives are mostly for objects that are made or freed.
fn one_for_each_byte(mut victims: Vec<Sufferer>) -> Vec<Sufferer> {
    victims.reverse();
    victims.sort_by(|a, b| {
        (a.leaf.offset.cmp(&b.leaf.offset)).then_with(|| b.weight.total_cmp(&a.weight))
    });
    let mut kept: Vec<Sufferer> = Vec::with_capacity(victims.len());
    for victim in victims {
        match kept.last_mut() {
            Some(last) if victim.leaf.offset < last.leaf.end() => {
                if victim.weight > last.weight {
                    *last = victim;
                }
            }
            _ => kept.push(victim),
        }
    }
    kept
}

/// The share of the addresses that are multiples of `step` at which two ranges share a line.
pub(crate) fn placements(line_bytes: u64, step: u64, a: (u64, u64), b: (u64, u64)) -> f64 {
    if step >= line_bytes {
        return 1.0;
    }
    let (mut shared, mut all) = (0_u32, 0_u32);
    let mut start = 0;
    while start < line_bytes {
        let at = |(offset, size): (u64, u64)| (offset.saturating_add(start), size);
        all += 1;
        shared += u32::from(share(line_bytes, at(a), at(b)));
        start += step;
    }
    f64::from(shared) / f64::from(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_aligned_to_a_line_has_one_placement() {
        assert_eq!(placements(64, 64, (64, 4), (80, 8)), 1.0);
    }

    #[test]
    fn the_further_apart_the_fewer_placements() {
        let of = |distance: u64| placements(64, 16, (64, 4), (64 + distance, 4));
        assert_eq!(of(16), 0.75);
        assert_eq!(of(48), 0.25);
        assert_eq!(of(4), 1.0);
    }
}
