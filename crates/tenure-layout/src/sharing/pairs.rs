use super::score::{Embedding, ScoreSignals};
use super::{GuardedBy, Guards, RawFinding, Site, Sufferer, together, weight, worst_first};
use crate::lines::{Flat, LayoutModel, Leaf, ROOT, share};
use tenure_debuginfo::model::TypeId;

/// Leaves that are compared around the words of one type. The largest of Linux take a few thousand.
const MAX_COMPARED: usize = 1 << 18;

/// One finding for each line, of all its contended words.
pub(crate) fn in_type(layouts: &LayoutModel<'_>, id: TypeId) -> Vec<RawFinding> {
    let flat = layouts.flat(id);
    let guards = layouts.evidence.and_then(|_| Guards::of(layouts, &flat));
    let spread = SpreadType { layouts, id, flat: &flat, guards: guards.as_ref() };
    let mut found: Vec<(u64, Vec<RawFinding>)> = Vec::new();
    let mut compared = 0;
    for word in &flat.leaves {
        let is_shared = word.role.is_contended() || flat.is_written(layouts, word);
        let guard = guards.as_ref().map(|all| all.guard(&flat, word));
        if !is_shared && !guard.is_some_and(GuardedBy::is_written_under_lock) {
            continue;
        }
        let around: Vec<&Leaf> = flat.around(word, layouts.line_bytes).collect();
        compared += around.len();
        if compared > MAX_COMPARED {
            break;
        }
        let Some(one) = spread.finding(word, &around, !is_shared) else { continue };
        let line = layouts.line_of(word.offset);
        match found.iter_mut().find(|(at, _)| *at == line) {
            Some((_, others)) => others.push(one),
            None => found.push((line, vec![one])),
        }
    }
    found.into_iter().map(|(_, of_line)| together(of_line)).collect()
}

/// A type whose leaves are compared.
struct SpreadType<'a, 'm> {
    layouts: &'a LayoutModel<'m>,
    id: TypeId,
    flat: &'a Flat,
    guards: Option<&'a Guards>,
}

impl SpreadType<'_, '_> {
    /// What a word does to its neighbours, or only to those that another lock guards, through the embedding that brings most of
    /// them together.
    fn finding(&self, word: &Leaf, around: &[&Leaf], only_other_locks: bool) -> Option<RawFinding> {
        let Self { layouts, id, flat, .. } = *self;
        let mut victims: Vec<Sufferer> = Vec::new();
        // How much each embedding brings together.
        let mut embeddings: Vec<(Option<usize>, f64)> = Vec::new();
        // Not alternatives of a union, which are never there at the same time, nor the word itself.
        let beside = |leaf: &&&Leaf| leaf.end() <= word.offset || word.end() <= leaf.offset;
        let uses = flat.uses(layouts, word);
        for &leaf in around.iter().filter(beside) {
            let Some(through) = self.apart(word, leaf) else { continue };
            let is_of_other_lock = self.is_of_other_lock(word, leaf);
            let said = match is_of_other_lock {
                true => Some(weight::of_other_lock(layouts, leaf)),
                false if only_other_locks => None,
                false => weight::of(layouts, word.role, leaf),
            };
            let Some(said) = said else { continue };
            let own = flat.uses(layouts, leaf);
            let seen = (uses.as_ref(), own.as_ref());
            let mut one = Sufferer::new(layouts, word.role, leaf, said, seen);
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
        let mut victims = one_for_each_byte(victims);
        worst_first(&mut victims);
        let step = layouts.starts(id);
        let met = victims.iter().map(|victim| {
            let leaf = victim.leaf.range();
            victim.weight * placements(layouts.line_bytes, step, word.range(), leaf)
        });
        let start = through.map(|step| flat.embedded(step)).filter(|(_, offset)| *offset == 0);
        let inner = start.map(|(ty, _)| ty);
        let signals = ScoreSignals::new(word.role, &victims).in_object(layouts, id, inner);
        let signals = ScoreSignals {
            embedding: self.embedding(through),
            placements: met.sum::<f64>() / signals.weights,
            code: uses.as_ref().map(|uses| uses.heat(layouts.evidence)),
            other_lock: only_other_locks,
            ..signals
        };
        let (site, score) = (Site::Type { id, through }, signals.score());
        Some(RawFinding { site, word: *word, victims, signals, score })
    }

    fn is_of_other_lock(&self, word: &Leaf, leaf: &Leaf) -> bool {
        let Some(guards) = self.guards else { return false };
        let (word, leaf) = (guards.guard(self.flat, word), guards.guard(self.flat, leaf));
        leaf.lock == 0 && leaf.differs(word)
    }

    /// The embedding through which two leaves meet: `Some(None)` if in the type itself, `None` if another type's finding
    /// reports it.
    fn apart(&self, word: &Leaf, leaf: &Leaf) -> Option<Option<usize>> {
        let Self { layouts, flat, .. } = self;
        let common = flat.common(layouts, word, leaf)?;
        if common == ROOT {
            return Some(flat.embedding(word).or_else(|| flat.embedding(leaf)));
        }
        // Reported for the embedded type, unless only this type brings the two onto one line.
        let (_, start) = flat.embedded(common);
        let inner = |leaf: &Leaf| (leaf.offset - start, leaf.size);
        match layouts.share(inner(word), inner(leaf)) {
            true => None,
            false => flat.embedding(word).map(Some),
        }
    }

    fn embedding(&self, through: Option<usize>) -> Embedding {
        let Self { layouts, id, flat, .. } = *self;
        let starts = |&outer: &TypeId| {
            let members = layouts.model[outer].kind.members().iter();
            let mut first = members.take_while(|member| member.offset == 0);
            first.any(|member| layouts.model.resolved(member.ty) == id)
        };
        match (through, layouts.embedders(id)) {
            (Some(step), _) if flat.embedded(step).1 == 0 => Embedding::Starts,
            (Some(_), _) => Embedding::Inside,
            (None, []) => Embedding::Alone,
            (None, embedders) if embedders.iter().any(starts) => Embedding::Starts,
            (None, _) => Embedding::Inside,
        }
    }
}

/// The heaviest of victims that overlap: alternatives of a union, bit fields of one byte. Of equal ones the first in the source:
/// later alternatives are mostly for objects that are made or freed.
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
    fn the_further_apart_the_fewer_placements() {
        let of = |step, distance: u64| placements(64, step, (64, 4), (64 + distance, 4));
        assert_eq!([16, 48, 4].map(|distance| of(16, distance)), [0.75, 0.25, 1.0]);
        assert_eq!(of(64, 16), 1.0, "an object that is aligned to a line has one placement");
    }
}
