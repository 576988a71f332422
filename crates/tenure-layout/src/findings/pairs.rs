//! Pairs on one line, within a type and through embedding.

use super::score::{Embedding, Signals, placements};
use super::{Found, Site, Sufferer, weight, worst_first};
use crate::lines::{Flat, Layouts, Leaf, ROOT};
use tenure_types::model::{Kind, TypeId};

/// The most leaves that are looked at around the words of one type. The largest of Linux take a few
/// thousand; a fabrication may have them all on one line.
const MOST_AROUND: usize = 1 << 18;

/// All findings of one type, at most one for each line and embedding: the worst.
pub(crate) fn in_type(layouts: &Layouts<'_>, id: TypeId) -> Vec<Found> {
    let flat = layouts.flat(id);
    let mut found: Vec<(u64, Found)> = Vec::new();
    let mut looked = 0;
    for word in flat.leaves.iter().filter(|leaf| leaf.role.is_contended()) {
        let around: Vec<&Leaf> = flat.around(word, layouts.line_bytes).collect();
        looked += around.len();
        if looked > MOST_AROUND {
            break;
        }
        for one in of_word(layouts, id, &flat, word, &around) {
            let line = layouts.line_of(word.offset);
            let Site::Type { through, .. } = one.site else { continue };
            let same = |(at, other): &&mut (u64, Found)| {
                *at == line && matches!(other.site, Site::Type { through: t, .. } if t == through)
            };
            match found.iter_mut().find(same) {
                Some((_, other)) if other.score >= one.score => {}
                Some((_, other)) => *other = one,
                None => found.push((line, one)),
            }
        }
    }
    found.into_iter().map(|(_, found)| found).collect()
}

/// The findings of one word among the leaves on its lines: of its neighbours in the type itself, and of
/// those through each embedding.
fn of_word(
    layouts: &Layouts<'_>,
    id: TypeId,
    flat: &Flat,
    word: &Leaf,
    around: &[&Leaf],
) -> Vec<Found> {
    let mut groups: Vec<(Option<usize>, Vec<Sufferer>)> = Vec::new();
    // Alternatives of a union are never there at the same time; nor is the word its own neighbour.
    let beside = |leaf: &&&Leaf| leaf.end() <= word.offset || word.end() <= leaf.offset;
    for &leaf in around.iter().filter(beside) {
        let Some(through) = apart(layouts, flat, word, leaf) else { continue };
        let Some((weight, why)) = weight::of(layouts, word.role, leaf) else { continue };
        let one = Sufferer { leaf: *leaf, weight, why, variable: 0 };
        match groups.iter_mut().find(|(group, _)| *group == through) {
            Some((_, victims)) => victims.push(one),
            None => groups.push((through, vec![one])),
        }
    }
    groups
        .into_iter()
        .map(|(through, victims)| {
            let site = Site::Type { id, through };
            let embedding = embedding(layouts, id, flat, through);
            let start = through.map(|step| flat.embedded(step)).filter(|(_, offset)| *offset == 0);
            let inner = start.map(|(ty, _)| ty);
            rate(layouts, site, (id, inner), *word, victims, embedding)
        })
        .collect()
}

/// Puts a finding together: of a type and, if through what it starts with, of that.
fn rate(
    layouts: &Layouts<'_>,
    site: Site,
    (id, inner): (TypeId, Option<TypeId>),
    word: Leaf,
    victims: Vec<Sufferer>,
    embedding: Embedding,
) -> Found {
    let mut victims = one_for_each_byte(victims);
    worst_first(&mut victims);
    let (align, size) = (layouts.model[id].align, layouts.size_of(id));
    // The average over the victims, as they weigh.
    let weights: f64 = victims.iter().map(|victim| victim.weight).sum();
    let placements = victims
        .iter()
        .map(|victim| {
            let at = placements(layouts.line_bytes, align, size, word.range(), victim.leaf.range());
            victim.weight * at
        })
        .sum::<f64>()
        / weights;
    let signals =
        Signals::of_type(layouts, (id, inner), word.role, &victims, embedding, placements);
    Found { site, word, victims, signals, placements, score: signals.score() }
}

/// Through which embedding two leaves come together: `Some(None)` if in the type itself, `None` if
/// that is told elsewhere.
fn apart(layouts: &Layouts<'_>, flat: &Flat, word: &Leaf, leaf: &Leaf) -> Option<Option<usize>> {
    let relation = flat.relation(layouts, word, leaf);
    if relation.elements || relation.exclusive {
        return None;
    }
    if relation.common != ROOT {
        // Told of the embedded type, unless it takes this type to bring the two onto one line.
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

fn embedding(layouts: &Layouts<'_>, id: TypeId, flat: &Flat, through: Option<usize>) -> Embedding {
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

/// Of victims that lie over each other (alternatives of a union, bit fields of one byte), the one
/// that weighs most.
fn one_for_each_byte(mut victims: Vec<Sufferer>) -> Vec<Sufferer> {
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
