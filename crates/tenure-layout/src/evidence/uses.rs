use std::cmp::Reverse;

use super::{Evidence, MANY};
use tenure_types::code::sweep::Counts;

/// Functions that a reason names.
const NAMED: usize = 3;

/// What functions do with some bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    /// By function.
    by: Vec<(u32, Counts)>,
    /// Of all functions.
    pub counts: Counts,
}

impl Uses {
    pub(super) fn note(&mut self, function: u32, counts: &Counts) {
        self.by.push((function, *counts));
        self.counts.add(counts);
    }

    pub(super) fn finish(mut self) -> Self {
        self.by.sort_unstable_by_key(|(function, _)| *function);
        self.by.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.1.add(&later.1);
            }
            same
        });
        self
    }

    /// Whether no code is known to use them.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by.is_empty()
    }

    /// Instructions that change them atomically.
    #[must_use]
    pub fn atomics(&self) -> u32 {
        self.counts.adds.saturating_add(self.counts.exchanges)
    }

    /// How much they are written, from 0 to 1: how many functions change them, and in loops. Those that only run when an
    /// object begins or ends count for a quarter. 1 where the code is not known well enough.
    pub(crate) fn heat(&self, evidence: Option<&Evidence>) -> f64 {
        let Some(evidence) = evidence.filter(|evidence| !evidence.misses_words) else { return 1.0 };
        let writes =
            |counts: &Counts| counts.writes + counts.adds + counts.exchanges + counts.locks > 0;
        let is_atomic = self.atomics() + self.counts.locks > 0;
        let of = |(function, counts): &(u32, Counts)| {
            let all = counts.reads + counts.writes + counts.adds + counts.exchanges + counts.locks;
            let in_loop = if counts.weight > all { 1.5 } else { 1.0 };
            in_loop * evidence.weight(*function)
        };
        let functions: f64 = self.by.iter().filter(|(_, it)| writes(it)).map(of).sum();
        let heat = (0.25 + 0.15 * (1.0 + functions).log2()).min(1.0);
        if is_atomic || self.is_empty() { heat } else { 0.7 * heat }
    }

    /// How many functions read them; those that only run when an object begins or ends count for a quarter.
    pub(crate) fn readers_weighed(&self, evidence: &Evidence) -> f64 {
        self.readers().map(|function| evidence.weight(function)).sum()
    }

    /// The share of readers that do not take a lock, of those that do not only run when an object begins or ends; 0 if no
    /// function is seen to take it.
    pub(crate) fn read_without(&self, evidence: &Evidence, lock: &Self) -> f64 {
        let takers: Vec<u32> = lock.takers().collect();
        let (mut without, mut all) = (0.0, 0.0);
        for function in self.readers().filter(|function| !evidence.is_setup(*function)) {
            all += 1.0;
            if takers.binary_search(&function).is_err() {
                without += 1.0;
            }
        }
        if takers.is_empty() || all == 0.0 { 0.0 } else { without / all }
    }

    fn functions(&self, wanted: impl Fn(&Counts) -> bool) -> impl Iterator<Item = u32> {
        self.by.iter().filter(move |(_, counts)| wanted(counts)).map(|(function, _)| *function)
    }

    /// Functions that read them.
    pub fn readers(&self) -> impl Iterator<Item = u32> {
        self.functions(|counts| counts.reads > 0)
    }

    /// Functions that write them, in whatever way.
    pub fn writers(&self) -> impl Iterator<Item = u32> {
        self.functions(|counts| counts.writes + counts.adds + counts.exchanges > 0)
    }

    /// Functions that change them atomically.
    pub fn changers(&self) -> impl Iterator<Item = u32> {
        self.functions(|counts| counts.adds + counts.exchanges > 0)
    }

    /// Functions that take a lock that lies there.
    pub fn takers(&self) -> impl Iterator<Item = u32> {
        self.functions(|counts| counts.locks + counts.adds + counts.exchanges > 0)
    }

    /// Whether they are changed atomically by more than the beginning or end of something.
    #[must_use]
    pub fn is_contended(&self, evidence: &Evidence) -> bool {
        self.changers().any(|function| !evidence.is_setup(function))
    }

    /// Whether they are read far and wide, and hardly written.
    #[must_use]
    pub fn is_read_mostly(&self, evidence: &Evidence) -> bool {
        let is_hot = |function: &u32| !evidence.is_setup(*function);
        let readers = self.readers().filter(is_hot).count();
        let writers = self.writers().filter(is_hot).count();
        readers >= MANY && writers * MANY <= readers
    }

    /// The most used of some functions, by name: `accept, poll, …`.
    pub(crate) fn named(
        &self,
        evidence: &Evidence,
        functions: impl Iterator<Item = u32>,
    ) -> String {
        let mut all: Vec<(Reverse<u32>, &str)> = functions
            .map(|function| {
                let place = self.by.binary_search_by_key(&function, |(known, _)| *known);
                let weight = place.map_or(0, |place| self.by[place].1.weight);
                (Reverse(weight), &*evidence.functions[function as usize].name)
            })
            .collect();
        all.sort_unstable();
        let more = if all.len() > NAMED { ", …" } else { "" };
        let names: Vec<&str> = all.iter().take(NAMED).map(|(_, name)| *name).collect();
        names.join(", ") + more
    }

    /// How they are changed atomically, in words; `None` if they are not.
    pub(crate) fn changed(&self, evidence: &Evidence) -> Option<String> {
        let Counts { adds, exchanges, .. } = self.counts;
        let verb = match (adds, exchanges) {
            (0, 0) => return None,
            (_, 0) => "added to",
            (0, _) => "compare-exchanged",
            _ => "added to and compare-exchanged",
        };
        let functions = self.changers().count();
        let names = self.named(evidence, self.changers());
        let (all, in_all) =
            (count(self.atomics() as usize, "locked instruction"), count(functions, "function"));
        Some(format!("{verb} by {all} in {in_all}: {names}"))
    }

    /// Their readers and writers, in words; `None` if no code is known to use them.
    pub(crate) fn words(&self, evidence: &Evidence) -> Option<String> {
        let (readers, writers) = (self.readers().count(), self.writers().count());
        let read = match readers {
            0 => String::new(),
            _ => format!("read in {}", count(readers, "function")),
        };
        let written = match writers {
            0 if readers == 0 => return None,
            0 => "not written".to_owned(),
            _ => format!("written in {writers}: {}", self.named(evidence, self.writers())),
        };
        Some(if read.is_empty() { written } else { format!("{read}, {written}") })
    }
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
