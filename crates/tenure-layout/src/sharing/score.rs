//! A score: the product of up to seven signals, each with its words. The parent module's table has the numbers.

use super::Sufferer;
use crate::lines::LayoutModel;
use tenure_debuginfo::model::TypeId;
use tenure_model::{Role, Signal};

#[derive(Debug, Clone, Copy)]
pub(crate) struct ScoreSignals {
    /// The contended word's role; [`Role::Plain`] is a word that many CPUs write, as the code shows.
    pub(crate) word: Role,
    /// Whether it is a plain word that is written under one lock beside what is used under another.
    pub(crate) other_lock: bool,
    /// How the code writes an element that a variable chooses.
    pub(crate) chosen: Option<Chosen>,
    /// How much a lock's neighbours are read without it, from 0 to 1.
    pub(crate) unguarded: f64,
    /// The sum of all victims' weights, over all elements of [`beside`](Self::beside).
    pub(crate) weights: f64,
    pub(crate) victims: usize,
    pub(crate) lifetime: Lifetime,
    /// How many types point to the object.
    pub(crate) pointed: u32,
    pub(crate) embedders: usize,
    pub(crate) is_global: bool,
    pub(crate) embedding: Embedding,
    /// The share of possible addresses at which word and victims meet.
    pub(crate) placements: f64,
    /// What the code does to the word; `None` where it was not read.
    pub(crate) code: Option<f64>,
    /// Whether the neighbours are other elements or other variables.
    pub(crate) strangers: bool,
    /// The number of elements with the victims.
    pub(crate) beside: u32,
    /// Contended words of the line: `weights` has the sum over all, in terms of `word`.
    pub(crate) culprits: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    GracePeriod,
    Counted,
    Unknown,
    Static,
}

/// How elements that a variable chooses are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// The variable is the thread's or CPU's own.
    Own,
    /// They are read too, as a counter is.
    Updated,
    Stored,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Embedding {
    /// Other types start with it, or this finding is in one that starts with another.
    Starts,
    Inside,
    Alone,
}

impl ScoreSignals {
    /// What a word does to victims whose places are fixed, as a variable's are.
    pub(super) fn new(word: Role, victims: &[Sufferer]) -> Self {
        let weights: f64 = victims.iter().map(|victim| victim.weight).sum();
        let unguarded = victims.iter().map(|victim| victim.weight * victim.unguarded);
        Self {
            word,
            other_lock: false,
            chosen: None,
            unguarded: if weights > 0.0 { unguarded.sum::<f64>() / weights } else { 0.0 },
            weights,
            victims: victims.len(),
            lifetime: Lifetime::Static,
            pointed: 0,
            embedders: 0,
            is_global: false,
            embedding: Embedding::Inside,
            placements: 1.0,
            code: None,
            strangers: false,
            beside: 1,
            culprits: 1,
        }
    }

    /// The same in objects of a type or, with `inner`, through the type that it starts with: pointers to that one point to both.
    pub(super) fn in_object(
        self,
        layouts: &LayoutModel<'_>,
        id: TypeId,
        inner: Option<TypeId>,
    ) -> Self {
        let pointed = |id| layouts.pointed_from(id);
        let is_global = layouts.is_global(id);
        let lifetime = match self.word {
            _ if layouts.waits_for_readers(id) => Lifetime::GracePeriod,
            _ if is_global => Lifetime::Static,
            Role::Count => Lifetime::Counted,
            _ => Lifetime::Unknown,
        };
        let pointed = pointed(id).saturating_add(inner.map_or(0, pointed));
        Self { lifetime, pointed, embedders: layouts.embedders(id).len(), is_global, ..self }
    }

    pub(crate) fn score(&self) -> f64 {
        100.0 * self.factors().iter().product::<f64>() * self.code.unwrap_or(1.0)
    }

    /// How much the word hurts its neighbours.
    pub(crate) fn word_weight(&self) -> f64 {
        match self.chosen {
            Some(Chosen::Own) => word_weight(Role::Atomic),
            Some(Chosen::Updated) => 0.4,
            Some(Chosen::Stored) => 0.2,
            None => word_weight(self.word),
        }
    }

    pub(crate) fn words(&self) -> Vec<Signal> {
        let names = ["word", "neighbours", "lifetime", "reach", "embedding", "placement"];
        let seen = [
            self.word().1.to_owned(),
            self.neighbours_seen(),
            self.lifetime().1.to_owned(),
            self.reach_seen(),
            self.embedding().1.to_owned(),
            self.placement_seen(),
        ];
        let all = names.into_iter().zip(self.factors()).zip(seen);
        all.map(|((name, factor), seen)| Signal { name: name.to_owned(), factor, seen }).collect()
    }

    fn factors(&self) -> [f64; 6] {
        // The second neighbour costs less than the first: one miss brings the line for both.
        let neighbours = self.weights / (self.weights + 1.5);
        let reach = match self.lifetime {
            // Any thread can reach a variable; how many do is unknown.
            _ if self.is_global => 1.0,
            Lifetime::Static => 0.5,
            _ => {
                let embedders = u32::try_from(self.embedders).unwrap_or(u32::MAX);
                let referring = self.pointed.saturating_add(embedders).saturating_add(1);
                (0.4 + 0.15 * f64::from(referring).log2()).min(1.0)
            }
        };
        let placement = 0.5 + 0.5 * self.placements;
        [self.word().0, neighbours, self.lifetime().0, reach, self.embedding().0, placement]
    }

    fn word(&self) -> (f64, &'static str) {
        let (own, atomic) = (self.word_weight(), word_weight(Role::Atomic));
        // A plain word is most often written under a lock, which then guards its neighbours too. A lock guards its own element:
        // those of others suffer as from any atomic.
        let guarding = match self.word {
            Role::Lock | Role::Sequence if self.strangers => atomic,
            _ => own + (atomic - own) * self.unguarded,
        };
        match (self.chosen, self.word) {
            (Some(Chosen::Own), _) => (own, "each thread or CPU writes its own element"),
            (Some(Chosen::Updated), _) => (own, "a variable chooses the element to update"),
            (Some(Chosen::Stored), _) => (own, "a variable chooses the element to write"),
            (_, Role::Count) => (own, "a reference count: every user of the object writes it"),
            (_, Role::Lock) if self.strangers => {
                (guarding, "a lock that does not guard these neighbours")
            }
            (_, Role::Lock) => {
                (guarding, "a lock: the thread that takes it uses its neighbours next")
            }
            (_, Role::Sequence) => (guarding, "a sequence count: written by few"),
            (_, Role::Written) => (own, "written by many, says a rule"),
            (_, Role::Plain) if self.other_lock => {
                (guarding, "a plain word that is written under another lock")
            }
            (_, Role::Plain) => (guarding, "a plain word that many functions write"),
            _ => (own, "an atomic word"),
        }
    }

    fn lifetime(&self) -> (f64, &'static str) {
        match self.lifetime {
            Lifetime::GracePeriod => {
                (1.0, "freed after a grace period: readers need no lock to find it")
            }
            Lifetime::Counted => (0.85, "counted: several threads hold it at once"),
            Lifetime::Unknown => (0.7, "unknown how many threads use it at once"),
            Lifetime::Static => (1.0, "a variable: lives as long as the program"),
        }
    }

    fn embedding(&self) -> (f64, &'static str) {
        match self.embedding {
            Embedding::Starts => {
                (1.0, "at the start of an object: code that uses one uses the other")
            }
            Embedding::Inside => (0.9, "inside other types"),
            Embedding::Alone => (0.8, "in no other type"),
        }
    }

    fn neighbours_seen(&self) -> String {
        let plural = if self.victims == 1 { "" } else { "s" };
        let each = match self.beside {
            1 => String::new(),
            beside => format!(" in each of {beside} elements"),
        };
        let of = match self.culprits {
            1 => String::new(),
            many => format!(" beside {many} contended words"),
        };
        let (victims, weights) = (self.victims, self.weights);
        format!("{victims} neighbour{plural}{each}, weights {weights:.1} in all{of}")
    }

    fn reach_seen(&self) -> String {
        let types = |number: usize, one: &str, many: &str| match number {
            1 => format!("1 type {one} it"),
            _ => format!("{number} types {many} it"),
        };
        let point = types(self.pointed as usize, "points to", "point to");
        let embed = types(self.embedders, "embeds", "embed");
        match (self.lifetime, self.pointed, self.embedders) {
            _ if self.is_global => "one global object: any thread can reach it".to_owned(),
            (Lifetime::Static, ..) => "a variable: any thread can reach it".to_owned(),
            (_, 0, 0) => "no other type refers to it".to_owned(),
            (_, _, 0) => point,
            (_, 0, _) => embed,
            _ => format!("{point}, {embed}"),
        }
    }

    fn placement_seen(&self) -> String {
        let percent = 100.0 * self.placements;
        match self.lifetime {
            Lifetime::Static if self.placements >= 1.0 => {
                "on one line for as long as the program runs".to_owned()
            }
            _ if self.strangers => format!("at {percent:.0} % of the elements next to each other"),
            _ => format!("at {percent:.0} % of the addresses that it may have"),
        }
    }
}

/// How much a word hurts its neighbours: a plain one as much as a lock.
pub(crate) fn word_weight(role: Role) -> f64 {
    match role {
        Role::Count => 1.0,
        Role::Written => 0.8,
        Role::Lock | Role::Plain => 0.25,
        Role::Sequence => 0.2,
        _ => 0.6,
    }
}
