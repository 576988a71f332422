//! From what was seen to a score.

use super::Sufferer;
use crate::lines::{Layouts, share};
use crate::result::{Role, Signal};
use tenure_types::model::TypeId;

/// The alignment that allocators give at least, to what is at least that large: malloc's of the 64-bit
/// systems.
const ALLOCATED: u64 = 16;

/// The signals of one finding.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signals {
    word: Role,
    /// The sum of the victims' weights, and how many they are.
    weights: f64,
    victims: usize,
    lifetime: Lifetime,
    pointed: u32,
    embedders: usize,
    embedding: Embedding,
    placements: f64,
    /// Whether neighbours are strangers: other elements, other variables.
    strangers: bool,
    /// In how many elements of an array the victims are, all of which are in `weights`.
    beside: u32,
}

/// How long the object lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lifetime {
    GracePeriod,
    Counted,
    Unknown,
    Static,
}

/// How the type lies in others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Embedding {
    /// Other types start with it, or this finding is in one that starts with another.
    Starts,
    /// Somewhere in others.
    Inside,
    /// In none.
    Alone,
}

impl Signals {
    /// Of a finding in a type, in elements of that type, or through another one that it starts with: who
    /// points to that one points to both.
    pub(crate) fn of_type(
        layouts: &Layouts<'_>,
        (id, inner): (TypeId, Option<TypeId>),
        word: Role,
        victims: &[Sufferer],
        embedding: Embedding,
        placements: f64,
    ) -> Self {
        let lifetime = match word {
            _ if layouts.waits_for_readers(id) => Lifetime::GracePeriod,
            Role::Count => Lifetime::Counted,
            _ => Lifetime::Unknown,
        };
        Self {
            word,
            weights: victims.iter().map(|victim| victim.weight).sum(),
            victims: victims.len(),
            lifetime,
            pointed: layouts
                .pointed_from(id)
                .saturating_add(inner.map_or(0, |inner| layouts.pointed_from(inner))),
            embedders: layouts.embedders(id).len(),
            embedding,
            placements,
            strangers: false,
            beside: 1,
        }
    }

    /// Of a finding among elements of an array, which may be a variable, and of which each has this many
    /// beside it on a line.
    pub(crate) fn among_elements(self, is_static: bool, beside: u32) -> Self {
        let lifetime = if is_static { Lifetime::Static } else { self.lifetime };
        let weights = self.weights * f64::from(beside);
        Self { strangers: true, lifetime, weights, beside, ..self }
    }

    /// Of a finding among variables.
    pub(crate) fn of_statics(word: Role, victims: &[Sufferer]) -> Self {
        Self {
            word,
            weights: victims.iter().map(|victim| victim.weight).sum(),
            victims: victims.len(),
            lifetime: Lifetime::Static,
            pointed: 0,
            embedders: 0,
            embedding: Embedding::Inside,
            placements: 1.0,
            strangers: true,
            beside: 1,
        }
    }

    /// From 0 to 100.
    pub(crate) fn score(&self) -> f64 {
        100.0 * self.factors().iter().map(|(_, factor)| factor).product::<f64>()
    }

    fn factors(&self) -> [(&'static str, f64); 6] {
        let word = match self.word {
            // What a lock guards is in its own element: the neighbours suffer as from any atomic.
            Role::Lock | Role::Sequence if self.strangers => word_weight(Role::Atomic),
            role => word_weight(role),
        };
        let lifetime = match self.lifetime {
            Lifetime::GracePeriod | Lifetime::Static => 1.0,
            Lifetime::Counted => 0.85,
            Lifetime::Unknown => 0.7,
        };
        let reach = match self.lifetime {
            // Everybody can reach a variable; whether more than one thread does, nobody says.
            Lifetime::Static => 0.5,
            _ => (0.4 + 0.15 * f64::from(self.reach()).log2()).min(1.0),
        };
        let embedding = match self.embedding {
            Embedding::Starts => 1.0,
            Embedding::Inside => 0.9,
            Embedding::Alone => 0.8,
        };
        [
            ("word", word),
            ("neighbours", neighbours(self.weights)),
            ("lifetime", lifetime),
            ("reach", reach),
            ("embedding", embedding),
            ("placement", 0.5 + 0.5 * self.placements),
        ]
    }

    /// One more than the types that refer to it.
    fn reach(&self) -> u32 {
        let embedders = u32::try_from(self.embedders).unwrap_or(u32::MAX);
        self.pointed.saturating_add(embedders).saturating_add(1)
    }

    /// The signals in words, with their factors.
    pub(crate) fn words(&self) -> Vec<Signal> {
        self.factors()
            .into_iter()
            .map(|(name, factor)| Signal { name: name.to_owned(), factor, seen: self.seen(name) })
            .collect()
    }

    fn seen(&self, name: &str) -> String {
        match name {
            "word" => match self.word {
                Role::Count => "a reference count: all who use the object write it",
                Role::Lock if self.strangers => "a lock that does not guard these neighbours",
                Role::Lock => "a lock: who writes it is about to use its neighbours",
                Role::Sequence => "a sequence count: written by few",
                Role::Written => "written by many, says a rule",
                _ => "an atomic word",
            }
            .to_owned(),
            "neighbours" => {
                let (count, sum) = (self.victims, self.weights);
                let plural = if count == 1 { "" } else { "s" };
                let each = match self.beside {
                    1 => String::new(),
                    beside => format!(" in each of {beside} elements"),
                };
                format!("{count} neighbour{plural}{each}, weights {sum:.1} in all")
            }
            "lifetime" => match self.lifetime {
                Lifetime::GracePeriod => {
                    "freed after a grace period: readers need no lock to find it"
                }
                Lifetime::Counted => "counted: several hold it at once",
                Lifetime::Unknown => "nothing says how many use it at once",
                Lifetime::Static => "a variable: lives as long as the program",
            }
            .to_owned(),
            "reach" => match (self.lifetime, self.pointed, self.embedders) {
                (Lifetime::Static, ..) => "a variable: any thread can reach it".to_owned(),
                (_, 0, 0) => "no other type refers to it".to_owned(),
                (_, pointed, 0) => format!("{} to it", point(pointed)),
                (_, 0, embedders) => format!("{} it", embed(embedders)),
                (_, pointed, embedders) => {
                    format!("{} to it, {} it", point(pointed), embed(embedders))
                }
            },
            "embedding" => match self.embedding {
                Embedding::Starts => "at the start of an object: who uses the one uses the other",
                Embedding::Inside => "inside other types",
                Embedding::Alone => "in no other type",
            }
            .to_owned(),
            _ if self.lifetime == Lifetime::Static && self.placements >= 1.0 => {
                "on one line for as long as the program runs".to_owned()
            }
            _ if self.strangers => {
                format!("at {:.0} % of the elements next to each other", 100.0 * self.placements)
            }
            _ => format!("at {:.0} % of the addresses that it may have", 100.0 * self.placements),
        }
    }
}

fn point(count: u32) -> String {
    if count == 1 { "1 type points".to_owned() } else { format!("{count} types point") }
}

fn embed(count: usize) -> String {
    if count == 1 { "1 type embeds".to_owned() } else { format!("{count} types embed") }
}

/// How much neighbours of some weight suffer together: the second less than the first, because one miss
/// brings the line for both.
pub(crate) fn neighbours(weights: f64) -> f64 {
    weights / (weights + 1.5)
}

/// How much a contended word of a role hurts its neighbours.
pub(crate) fn word_weight(role: Role) -> f64 {
    match role {
        Role::Count => 1.0,
        Role::Written => 0.8,
        Role::Lock => 0.25,
        Role::Sequence => 0.2,
        _ => 0.6,
    }
}

/// The share of the addresses that an alignment allows at which two ranges share a line.
pub(crate) fn placements(
    line_bytes: u64,
    align: u64,
    size: u64,
    a: (u64, u64),
    b: (u64, u64),
) -> f64 {
    let step = align.max(if size >= ALLOCATED { ALLOCATED } else { 1 });
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
        assert_eq!(placements(64, 64, 128, (64, 4), (80, 8)), 1.0);
    }

    #[test]
    fn the_further_apart_the_fewer_placements() {
        let of = |distance: u64| placements(64, 8, 176, (64, 4), (64 + distance, 4));
        assert_eq!(of(16), 0.75);
        assert_eq!(of(48), 0.25);
        assert_eq!(of(4), 1.0);
    }
}
