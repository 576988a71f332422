//! A score: the product of up to seven signals, each with its words. The parent module's table has the numbers.

use tenure_model::{Role, Signal};

/// Of a plain word: as much as a lock.
const PLAIN: f64 = 0.25;

#[derive(Debug, Clone, Copy)]
pub(crate) struct ScoreSignals {
    pub(crate) word: Role,
    /// A plain word that many CPUs write, as the code shows.
    pub(crate) is_plain: bool,
    /// A plain word that is written under one lock beside what is used under another.
    pub(crate) other_lock: bool,
    /// How the code writes an element that a variable chooses.
    pub(crate) chosen: Option<Chosen>,
    /// Of a lock: how much its neighbours are read without it, from 0 to 1.
    pub(crate) unguarded: f64,
    /// Over all elements of [`beside`](Self::beside).
    pub(crate) weights: f64,
    pub(crate) victims: usize,
    pub(crate) lifetime: Lifetime,
    pub(crate) pointed: u32,
    pub(crate) embedders: usize,
    pub(crate) is_global: bool,
    pub(crate) embedding: Embedding,
    pub(crate) placements: f64,
    /// What the code does to the word; `None` where it was not read.
    pub(crate) code: Option<f64>,
    /// The neighbours are other elements or other variables.
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
    pub(crate) fn score(&self) -> f64 {
        100.0 * self.factors().iter().product::<f64>() * self.code.unwrap_or(1.0)
    }

    /// How much the word hurts its neighbours.
    pub(crate) fn word_weight(&self) -> f64 {
        match self.chosen {
            Some(Chosen::Own) => word_weight(Role::Atomic),
            Some(Chosen::Updated) => 0.4,
            Some(Chosen::Stored) => 0.2,
            None if self.is_plain => PLAIN,
            None => word_weight(self.word),
        }
    }

    pub(crate) fn words(&self) -> Vec<Signal> {
        let names = ["word", "neighbours", "lifetime", "reach", "embedding", "placement"];
        let all = names.into_iter().zip(self.factors()).zip(self.seen());
        all.map(|((name, factor), seen)| Signal { name: name.to_owned(), factor, seen }).collect()
    }

    fn factors(&self) -> [f64; 6] {
        let word = match self.word {
            _ if self.chosen.is_some() => self.word_weight(),
            // A lock guards its own element: the neighbours suffer as from any atomic.
            Role::Lock | Role::Sequence if self.strangers => word_weight(Role::Atomic),
            // A plain word is most often written under a lock, which then guards its neighbours too.
            Role::Lock | Role::Sequence | Role::Plain => {
                let others = word_weight(Role::Atomic);
                self.word_weight() + (others - self.word_weight()) * self.unguarded
            }
            role => word_weight(role),
        };
        // The second neighbour costs less than the first: one miss brings the line for both.
        let neighbours = self.weights / (self.weights + 1.5);
        let lifetime = match self.lifetime {
            Lifetime::GracePeriod | Lifetime::Static => 1.0,
            Lifetime::Counted => 0.85,
            Lifetime::Unknown => 0.7,
        };
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
        let embedding = match self.embedding {
            Embedding::Starts => 1.0,
            Embedding::Inside => 0.9,
            Embedding::Alone => 0.8,
        };
        [word, neighbours, lifetime, reach, embedding, 0.5 + 0.5 * self.placements]
    }

    /// In the order of [`factors`](Self::factors).
    fn seen(&self) -> [String; 6] {
        let word = match self.word {
            _ if self.chosen == Some(Chosen::Own) => "each thread or CPU writes its own element",
            _ if self.chosen == Some(Chosen::Updated) => "a variable chooses the element to update",
            _ if self.chosen.is_some() => "a variable chooses the element to write",
            Role::Count => "a reference count: every user of the object writes it",
            Role::Lock if self.strangers => "a lock that does not guard these neighbours",
            Role::Lock => "a lock: the thread that takes it uses its neighbours next",
            Role::Sequence => "a sequence count: written by few",
            Role::Written => "written by many, says a rule",
            Role::Plain if self.other_lock => "a plain word that is written under another lock",
            Role::Plain => "a plain word that many functions write",
            _ => "an atomic word",
        };
        let plural = if self.victims == 1 { "" } else { "s" };
        let each = match self.beside {
            1 => String::new(),
            beside => format!(" in each of {beside} elements"),
        };
        let of = match self.culprits {
            1 => String::new(),
            many => format!(" beside {many} contended words"),
        };
        let neighbours = format!(
            "{} neighbour{plural}{each}, weights {:.1} in all{of}",
            self.victims, self.weights
        );
        let lifetime = match self.lifetime {
            Lifetime::GracePeriod => "freed after a grace period: readers need no lock to find it",
            Lifetime::Counted => "counted: several threads hold it at once",
            Lifetime::Unknown => "unknown how many threads use it at once",
            Lifetime::Static => "a variable: lives as long as the program",
        };
        let point = match self.pointed {
            1 => "1 type points to it".to_owned(),
            count => format!("{count} types point to it"),
        };
        let embed = match self.embedders {
            1 => "1 type embeds it".to_owned(),
            count => format!("{count} types embed it"),
        };
        let reach = match (self.lifetime, self.pointed, self.embedders) {
            _ if self.is_global => "one global object: any thread can reach it".to_owned(),
            (Lifetime::Static, ..) => "a variable: any thread can reach it".to_owned(),
            (_, 0, 0) => "no other type refers to it".to_owned(),
            (_, _, 0) => point,
            (_, 0, _) => embed,
            _ => format!("{point}, {embed}"),
        };
        let embedding = match self.embedding {
            Embedding::Starts => "at the start of an object: code that uses one uses the other",
            Embedding::Inside => "inside other types",
            Embedding::Alone => "in no other type",
        };
        let percent = 100.0 * self.placements;
        let placement = match self.lifetime {
            Lifetime::Static if self.placements >= 1.0 => {
                "on one line for as long as the program runs".to_owned()
            }
            _ if self.strangers => format!("at {percent:.0} % of the elements next to each other"),
            _ => format!("at {percent:.0} % of the addresses that it may have"),
        };
        [word.into(), neighbours, lifetime.into(), reach, embedding.into(), placement]
    }
}

/// How much it hurts its neighbours.
pub(crate) fn word_weight(role: Role) -> f64 {
    match role {
        Role::Count => 1.0,
        Role::Written => 0.8,
        Role::Lock => 0.25,
        Role::Sequence => 0.2,
        _ => 0.6,
    }
}
