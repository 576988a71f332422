//! Members that share a line with a contended word, ranked.
//!
//! Most types with a contended word have something beside it (in a Linux 6.18, 916 of 1,148 such types have a finding),
//! so the ranking matters. There are four kinds of sharing:
//!
//! - within a type,
//! - through embedding: a pair that neither type shows by itself,
//! - across neighbouring elements of an array: of contended words, or of plain ones whose elements the code chooses by a
//!   variable,
//! - between neighbouring variables.
//!
//! # The score
//!
//! A finding's score is 100 times the product of its signals, each from 0 to 1 and printed with its reason:
//!
//! | signal | says | from |
//! |---|---|---|
//! | `word` | the use of the contended word. All users of the object write a count, and its neighbours are innocent; a lock's writers are about to use its neighbours | 1 for a count, 0.8 for a word that rules call `written`, 0.6 for another atomic, 0.25 for a lock and for a plain word that many functions write, 0.2 for a sequence count; 0.6 for locks and sequence counts beside other elements and variables, which they do not guard, and for a plain word that is written under another lock than its neighbours'. Of elements that a variable chooses: 0.6 if it is the thread's own, else 0.4 if the element is read as well, 0.2 if not |
//! | `neighbours` | how many on the line are likely to be read meanwhile: *s* / (*s* + 1.5), *s* being the sum of the victims' weights; in an array those of up to 3 elements beside one on the line. Each contended word of the line adds its own, in parts of the first; of plain words only the worst | see below |
//! | `lifetime` | whether readers find the object without a lock | 1 with a member by which it waits for a grace period, and for variables; 0.85 with a count, 0.7 else |
//! | `reach` | how many other types point to the object, to the struct that it starts with if that is the embedded one, or embed it | 0.4 for none, up to 1 with their logarithm; 1 for the type of one global object, 0.5 between variables |
//! | `embedding` | whether one repair helps many, or many are hurt | 1 for a type that starts others, 0.9 for one that others embed elsewhere and for arrays and variables, 0.8 else |
//! | `code` | how many functions change the word, atomically if any does, and in loops; those that begin or end an object count for a quarter. Only where the code was read | 0.25 for none, up to 1 with their logarithm; 0.7 of that if none does so atomically, or a single compare-exchange is all. Nearer to 1 by the share of atomic operands of which nothing is known |
//! | `placement` | the share of possible addresses at which the two meet | 0.5, and half of that share |
//!
//! A victim's weight is 1 where rules or the code say `read_mostly`; otherwise it comes from its type: a function pointer or
//! something constant 0.9, a pointer 0.7, a number 0.4, anything larger 0.3, a link of a hash table or tree that lookups walk 0.5, the links of a list 0.1, another contended
//! word 0.2 (a lock) or 0.5, and 0.8 in another element or variable. Cold members have none. What a lock guards counts
//! for 0.15 of that, because its reader holds the lock and so the line; up to 0.4 if very many functions take the lock, because
//! threads that wait for it take the line from its holder. A lock does not guard what is `read_mostly`, atomic, or a lock
//! itself, nor what most functions use under another lock of the object: that counts in full, and so it does beside a plain word that is
//! written under a third one. Of variables a lock guards those of its own file, and those that most of their functions use with the
//! lock taken. A plain word is most often written under a lock, so the same holds beside it: for readers that neither write it nor take a lock.
//!
//! Where the code was read, a neighbour's weight is the mean of that and of 0.2 to 1 with the logarithm of the functions that read
//! it, and 0.3 of it if none does and it is not contended itself. The share of readers that do not take the lock beside them undoes half as much of what a lock
//! takes away, and makes the lock as bad as another atomic word by the same measure. Where more than a fifth of the atomic
//! operands are of nothing known, a neighbour that no code reads keeps its weight.
//!
//! The signals are those by which kernel developers repaired such structs (kind of atomic, read-mostly or written
//! neighbours, cold fields, embedding, alignment). The numbers are judgement, not measurement: they only rank.

mod elements;
mod finding;
mod guards;
mod pairs;
mod score;
mod seen;
mod statics;
mod weight;

use std::cmp::Ordering;

use rayon::prelude::*;

use crate::evidence::Uses;
use crate::lines::{LayoutModel, Leaf};
pub(crate) use finding::{confidence_of_type, finding};
pub(crate) use guards::{GuardedBy, Guards};
pub(crate) use pairs::{in_type, placements};
use score::ScoreSignals;
pub(crate) use score::word_weight;
use tenure_debuginfo::model::{Declared, TypeId};
use tenure_model::Role;
use weight::Why;
pub(crate) use weight::{Victimhood, is_walked};

/// A finding, not yet in words: see [`finding`].
#[derive(Debug, Clone)]
pub(crate) struct RawFinding {
    pub(crate) site: Site,
    pub(crate) word: Leaf,
    pub(crate) victims: Vec<Sufferer>,
    pub(crate) signals: ScoreSignals,
    /// The score, from 0 to 100.
    pub(crate) score: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Site {
    /// The step is the embedded type of one of the two, if any.
    Type {
        id: TypeId,
        through: Option<usize>,
    },
    Elements {
        array: Array,
        element: TypeId,
        stride: u64,
        count: u64,
    },
    /// A line of a section, and the contended variable's place among all.
    Statics {
        index: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Array {
    Member {
        owner: TypeId,
        member: usize,
    },
    Static(usize),
    /// What a pointer leads to: nothing is known but its elements.
    Pointed,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sufferer {
    pub(crate) leaf: Leaf,
    pub(crate) weight: f64,
    pub(crate) why: Why,
    /// The share of a lock's neighbour's readers that do not take the lock, as far as the code shows it. 1 for what
    /// another lock guards.
    pub(crate) unguarded: f64,
    /// The variable's place among all, for [`Site::Statics`].
    pub(crate) variable: usize,
}

impl Sufferer {
    /// What a neighbour suffers by what types say of it, and by what code does to the word and to it, if that is known.
    fn new(
        layouts: &LayoutModel<'_>,
        role: Role,
        leaf: &Leaf,
        (weight, why): (f64, Why),
        (word, own): (Option<&Uses>, Option<&Uses>),
    ) -> Self {
        let (weight, unguarded) = match (layouts.evidence, word, own) {
            (Some(evidence), Some(word), Some(own)) => {
                seen::weighed(evidence, (weight, why), role, leaf, word, own)
            }
            _ => (weight, 0.0),
        };
        Self { leaf: *leaf, weight, why, unguarded, variable: 0 }
    }
}

/// Sorts victims by weight; of equal ones, the one in front is first.
fn worst_first(victims: &mut [Sufferer]) {
    victims.sort_by(|a, b| {
        b.weight.total_cmp(&a.weight).then_with(|| a.leaf.offset.cmp(&b.leaf.offset))
    });
}

/// Joins the findings of one line: the word that hurts most, with what the others do there beside it.
fn together(mut of_line: Vec<RawFinding>) -> RawFinding {
    let worst = (0..of_line.len())
        .max_by(|&a, &b| order(&of_line[b], &of_line[a]))
        .expect("a line's findings are joined once there is one");
    let mut whole = of_line.swap_remove(worst);
    let listed = whole.victims.clone();
    // Plain words of one line are written by the same: the worst stands for all.
    let mut plain = whole.is_plain();
    of_line.sort_by(order);
    for other in of_line {
        if other.is_plain() && std::mem::replace(&mut plain, true) {
            continue;
        }
        // In bytes of others: an alternative of a union, which is not there at the same time.
        let hidden = matches!(whole.site, Site::Type { .. })
            && !listed.iter().any(|victim| victim.leaf.is(&other.word));
        if hidden {
            continue;
        }
        let share = other.signals.word_weight() / whole.signals.word_weight();
        whole.signals.weights += share * other.signals.weights;
        whole.signals.culprits += 1;
        for victim in other.victims {
            let known = |one: &Sufferer| {
                (one.variable, one.leaf.range()) == (victim.variable, victim.leaf.range())
            };
            if victim.leaf.range() != whole.word.range() && !whole.victims.iter().any(known) {
                whole.victims.push(victim);
            }
        }
    }
    worst_first(&mut whole.victims);
    whole.signals.victims = whole.victims.len();
    whole.score = whole.signals.score();
    whole
}

impl RawFinding {
    /// Whether the word is a plain one that many CPUs write, as the code shows.
    pub(crate) fn is_plain(&self) -> bool {
        self.word.role == Role::Plain
    }

    /// The type to fix; none for variables.
    pub(crate) fn type_id(&self) -> Option<TypeId> {
        match self.site {
            // A bare lock is as large as it is; its array is to be fixed.
            Site::Elements { .. } if self.word.is_whole() => self.array_owner(),
            Site::Type { id, .. } | Site::Elements { element: id, .. } => Some(id),
            Site::Statics { .. } => None,
        }
    }

    /// The name and declaration of the type to fix, or of the variable.
    pub(crate) fn subject<'m>(&self, layouts: &LayoutModel<'m>) -> (&'m str, Option<&'m Declared>) {
        let model = layouts.model;
        match (self.site, self.type_id()) {
            (_, Some(id)) => (&model[id].name, model[id].declared.as_ref()),
            (
                Site::Statics { index } | Site::Elements { array: Array::Static(index), .. },
                None,
            ) => {
                let variable = &model.statics()[index];
                (&variable.name, variable.declared.as_ref())
            }
            (Site::Elements { array: Array::Pointed, element, .. }, None) => {
                (&model[element].name, model[element].declared.as_ref())
            }
            _ => ("", None),
        }
    }

    /// The same for the same finding in instances of one generic type: how the words meet, and the word.
    pub(crate) fn kind(&self, layouts: &LayoutModel<'_>) -> (u8, String) {
        let (kind, ty) = match self.site {
            Site::Type { id, through: None } => (0, id),
            Site::Type { id, .. } => (1, id),
            Site::Elements { element, .. } => (2, element),
            Site::Statics { .. } => return (3, String::new()),
        };
        (kind, layouts.flat(ty).path(layouts, &self.word))
    }

    /// The type with the array whose elements share a line.
    pub(crate) fn array_owner(&self) -> Option<TypeId> {
        match self.site {
            Site::Elements { array: Array::Member { owner, .. }, .. } => Some(owner),
            _ => None,
        }
    }

    /// The embedded type through which the two meet, if any.
    pub(crate) fn inner(&self, layouts: &LayoutModel<'_>) -> Option<TypeId> {
        match self.site {
            Site::Type { id, through: Some(step) } => Some(layouts.flat(id).embedded(step).0),
            _ => None,
        }
    }
}

/// The worst first. The same input gives the same order.
pub(crate) fn find(layouts: &LayoutModel<'_>) -> Vec<RawFinding> {
    let composites: Vec<TypeId> = layouts
        .model
        .composites()
        .filter(|(id, ty, _)| {
            // A type with a role counts as a whole.
            !ty.name.is_empty()
                && layouts.roles.of_type(*id).is_none()
                && (layouts.is_contended(*id) || layouts.is_written_inside(*id))
        })
        .map(|(id, _, _)| id)
        .collect();
    let mut all: Vec<RawFinding> =
        composites.par_iter().flat_map_iter(|&id| pairs::in_type(layouts, id)).collect();
    all.extend(elements::find(layouts));
    all.extend(statics::find(layouts));
    all.sort_by(order);
    all
}

/// The worst first; equal scores by names and places.
fn order(a: &RawFinding, b: &RawFinding) -> Ordering {
    b.score.total_cmp(&a.score).then_with(|| (a.site, a.word.offset).cmp(&(b.site, b.word.offset)))
}
