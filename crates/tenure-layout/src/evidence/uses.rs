use std::cmp::Reverse;

use super::{CodeEvidence, MIN_READERS};
use tenure_code::sweep::OperandCounts;
use tenure_report::numbers::counted;

/// Writers of a contended word for one that does so atomically: judgement. A word that is swapped once is a plain one.
const MAX_WRITERS_PER_ATOMIC: usize = 4;

/// Functions that a reason names.
const MAX_NAMES: usize = 3;

/// What functions do with some bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Uses {
    by: Vec<FunctionUse>,
    /// The sum over all functions.
    pub(crate) counts: OperandCounts,
}

/// What one function does with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FunctionUse {
    function: u32,
    counts: OperandCounts,
    /// Whether it only runs when such an object, or the program, begins or ends.
    is_setup: bool,
}

impl FunctionUse {
    /// How much the function counts.
    fn weight(&self) -> f64 {
        if self.is_setup { 0.25 } else { 1.0 }
    }
}

impl Uses {
    pub(super) fn note(&mut self, function: u32, counts: &OperandCounts, is_setup: bool) {
        self.by.push(FunctionUse { function, counts: *counts, is_setup });
        self.counts.add(counts);
    }

    pub(super) fn finish(mut self) -> Self {
        self.by.sort_unstable_by_key(|by| by.function);
        self.by.dedup_by(|later, earlier| {
            let same = later.function == earlier.function;
            if same {
                earlier.counts.add(&later.counts);
                earlier.is_setup &= later.is_setup;
            }
            same
        });
        self
    }

    /// Whether no code is known to use them.
    pub(crate) fn is_empty(&self) -> bool {
        self.by.is_empty()
    }

    /// Instructions that change them atomically.
    pub(crate) fn atomics(&self) -> u32 {
        self.counts.adds.saturating_add(self.counts.exchanges)
    }

    /// How much they are written, from 0 to 1: how many functions change them, atomically if any does, and in loops. Those that
    /// only run when an object begins or ends count for a quarter. The less is known of the code, the nearer to 1.
    pub(crate) fn heat(&self, evidence: Option<&CodeEvidence>) -> f64 {
        let Some(evidence) = evidence else { return 1.0 };
        let heat = self.known_heat();
        heat + evidence.unknown * (1.0 - heat)
    }

    fn known_heat(&self) -> f64 {
        let atomics = self.atomics() + self.counts.locks;
        let changes = |counts: &OperandCounts| match atomics {
            0 => counts.writes > 0,
            _ => counts.adds + counts.exchanges + counts.locks > 0,
        };
        let of = |by: &FunctionUse| {
            let counts = by.counts;
            let all = counts.reads + counts.writes + counts.adds + counts.exchanges + counts.locks;
            let in_loop = if counts.weight > all { 1.5 } else { 1.0 };
            in_loop * by.weight()
        };
        let functions: f64 = self.by.iter().filter(|by| changes(&by.counts)).map(of).sum();
        let heat = (0.25 + 0.15 * (1.0 + functions).log2()).min(1.0);
        // A single compare-exchange may be anything, as the first step of something that happens once.
        let is_weak = atomics == 0 || (atomics == 1 && self.counts.exchanges == 1);
        if is_weak && !self.is_empty() { 0.7 * heat } else { heat }
    }

    /// What is done to them by functions that write an element which a variable chooses, and that run more often than once.
    pub(crate) fn chosen(&self) -> Self {
        let mut chosen = Self::default();
        for by in self.by.iter().filter(|by| by.counts.chosen > 0 && !by.is_setup) {
            chosen.note(by.function, &by.counts, false);
        }
        chosen
    }

    /// How many functions read them; those that only run when an object begins or ends count for a quarter.
    pub(crate) fn readers_weighed(&self) -> f64 {
        self.by.iter().filter(|by| by.counts.reads > 0).map(FunctionUse::weight).sum()
    }

    /// The share of readers that do not take a lock, of those that do not only run when an object begins or ends; 0 if no
    /// function is seen to take it. Of a plain word: the share of those that neither write it nor take any lock.
    pub(crate) fn read_without(&self, evidence: &CodeEvidence, lock: &Self, is_plain: bool) -> f64 {
        let takers: Vec<u32> =
            if is_plain { lock.writers().collect() } else { lock.takers().collect() };
        let takes = |function: &u32| {
            takers.binary_search(function).is_ok() || (is_plain && evidence.takes_lock(*function))
        };
        let without = self.share(|counts| counts.reads > 0, |function| !takes(function));
        without.filter(|_| !takers.is_empty()).unwrap_or(0.0)
    }

    /// The share of some functions that are such, of those that run more often than once for an object; `None` without any.
    fn share(
        &self,
        wanted: impl Fn(&OperandCounts) -> bool,
        is_such: impl Fn(&u32) -> bool,
    ) -> Option<f64> {
        let all: Vec<u32> = self.hot(wanted).collect();
        #[allow(clippy::cast_precision_loss)] // Numbers of functions.
        let share =
            all.iter().filter(|function| is_such(function)).count() as f64 / all.len() as f64;
        (!all.is_empty()).then_some(share)
    }

    fn functions(&self, wanted: impl Fn(&OperandCounts) -> bool) -> impl Iterator<Item = u32> {
        self.by.iter().filter(move |by| wanted(&by.counts)).map(|by| by.function)
    }

    /// The same, of those that run more often than once for an object.
    fn hot(&self, wanted: impl Fn(&OperandCounts) -> bool) -> impl Iterator<Item = u32> {
        let hot = self.by.iter().filter(|by| !by.is_setup);
        hot.filter(move |by| wanted(&by.counts)).map(|by| by.function)
    }

    /// Functions that read them.
    pub(crate) fn readers(&self) -> impl Iterator<Item = u32> {
        self.functions(|counts| counts.reads > 0)
    }

    /// Functions that write them, in whatever way.
    pub(crate) fn writers(&self) -> impl Iterator<Item = u32> {
        self.functions(writes)
    }

    /// Functions that write back what they read, at once or later, and not only when an object begins or ends.
    pub(crate) fn updaters(&self, at_once: bool) -> impl Iterator<Item = u32> {
        self.hot(move |counts| {
            counts.updates > 0 || (!at_once && counts.reads > 0 && counts.writes > 0)
        })
    }

    /// Functions that change them atomically.
    pub(crate) fn changers(&self) -> impl Iterator<Item = u32> {
        self.functions(changes)
    }

    /// Functions that take a lock that lies there.
    pub(crate) fn takers(&self) -> impl Iterator<Item = u32> {
        self.functions(|counts| counts.locks + counts.adds + counts.exchanges > 0)
    }

    /// Whether they are changed atomically by more than the beginning or end of something, and by enough of those that write
    /// them: a word that is swapped once is a plain one.
    pub(crate) fn is_contended(&self) -> bool {
        let changers = self.hot(changes).count();
        changers > 0 && MAX_WRITERS_PER_ATOMIC * changers >= self.hot(writes).count()
    }

    /// Whether they are changed atomically, by what is there, by more than the beginning or end of something. An exchange whatever
    /// is there may be a store.
    pub(crate) fn is_added_to(&self) -> bool {
        self.hot(|counts| counts.adds > counts.swaps || counts.exchanges > 0).next().is_some()
    }

    /// The share of functions that use them and also take a lock; `None` if none is seen to take it.
    pub(crate) fn used_with(&self, lock: &Self) -> Option<f64> {
        let takers: Vec<u32> = lock.takers().collect();
        let takes = |function: &u32| takers.binary_search(function).is_ok();
        let share = self.share(|counts| counts.reads + counts.writes > 0, takes);
        share.filter(|_| !takers.is_empty())
    }

    /// Whether a function writes them that does not only run when an object begins or ends.
    pub(crate) fn is_written(&self) -> bool {
        self.hot(writes).next().is_some()
    }

    /// Whether they are read far and wide, and hardly written.
    pub(crate) fn is_read_mostly(&self) -> bool {
        let readers = self.hot(|counts| counts.reads > 0).count();
        let writers = self.hot(writes).count();
        readers >= MIN_READERS && writers * MIN_READERS <= readers
    }

    /// The most used of some functions, by name: `accept, poll, …`.
    pub(crate) fn named(
        &self,
        evidence: &CodeEvidence,
        functions: impl Iterator<Item = u32>,
    ) -> String {
        let weighed = |function| {
            let place = self.by.binary_search_by_key(&function, |by| by.function);
            let weight = place.map_or(0, |place| self.by[place].counts.weight);
            (Reverse(weight), &*evidence.functions[function as usize].name)
        };
        let mut all: Vec<(Reverse<u32>, &str)> = functions.map(weighed).collect();
        all.sort_unstable();
        let more = if all.len() > MAX_NAMES { ", …" } else { "" };
        let names: Vec<&str> = all.iter().take(MAX_NAMES).map(|(_, name)| *name).collect();
        names.join(", ") + more
    }

    /// How they are changed atomically or, of a lock, where it is taken, in words; `None` if they are not.
    pub(crate) fn changed(&self, evidence: &CodeEvidence) -> Option<String> {
        let OperandCounts { adds, exchanges, locks, .. } = self.counts;
        if self.atomics() == 0 && locks > 0 {
            let (functions, names) = (self.takers().count(), self.named(evidence, self.takers()));
            return Some(format!("taken in {}: {names}", counted(functions, "function")));
        }
        let verb = match (adds, exchanges) {
            (0, 0) => return None,
            (_, 0) => "added to",
            (0, _) => "compare-exchanged",
            _ => "added to and compare-exchanged",
        };
        let functions = self.changers().count();
        let names = self.named(evidence, self.changers());
        let all = counted(self.atomics(), "locked instruction");
        Some(format!("{verb} by {all} in {}: {names}", counted(functions, "function")))
    }

    /// Their readers and writers, in words; `None` if no code is known to use them.
    pub(crate) fn words(&self, evidence: &CodeEvidence) -> Option<String> {
        let (readers, writers) = (self.readers().count(), self.writers().count());
        let read = match readers {
            0 => String::new(),
            _ => format!("read in {}", counted(readers, "function")),
        };
        let written = match writers {
            0 if readers == 0 => return self.changed(evidence),
            0 => "not written".to_owned(),
            _ => format!("written in {writers}: {}", self.named(evidence, self.writers())),
        };
        Some(if read.is_empty() { written } else { format!("{read}, {written}") })
    }

    /// The functions that write an element which a variable chooses, in words.
    pub(crate) fn chosen_words(&self, evidence: &CodeEvidence) -> String {
        let names = self.named(evidence, self.writers());
        let functions = counted(self.writers().count(), "function");
        let whose = if self.counts.own > 0 { "the thread's own number" } else { "a variable" };
        format!("{whose} chooses the element that is written in {functions}: {names}")
    }
}

fn writes(counts: &OperandCounts) -> bool {
    counts.writes + counts.adds + counts.exchanges > 0
}

fn changes(counts: &OperandCounts) -> bool {
    counts.adds + counts.exchanges > 0
}
