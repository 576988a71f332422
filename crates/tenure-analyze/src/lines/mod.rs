//! Lines of one origin together, with the words that threads use, and what is wrong with them.

mod frequent;
mod kind;
mod lock;
mod merge;
mod order;
mod sets;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use tenure_model::recording::{Entry, Gaps, Line, Possible, Process, UseCallers};
use tenure_model::{Access, Kind, Role};

pub(crate) use kind::USES_BY_TRY;
pub use order::{Locks, WriteOrder};

/// A finding has at least so many possible changes of ownership, and so many per second of its busiest thread's
/// processor time: fewer cost less than a thousandth of it.
const FEWEST_CHANGES: u64 = 1000;
const FEWEST_PER_SECOND: f64 = 10_000.0;

/// Lines that one change of the source would fix.
#[derive(Debug, Clone, PartialEq)]
pub struct Contended {
    /// Places of its lines in [`Process::lines`], the worst first.
    pub lines: Vec<usize>,
    /// Sum over all lines.
    pub possible: Possible,
    /// Words that threads use, by offset.
    pub words: Vec<UsedWord>,
    /// Set if the words are alike: the elements of an array, or members that only look like it.
    pub elements: Option<Elements>,
    /// Whether the lines could change hands too seldom to matter.
    pub is_rare: bool,
}

impl Contended {
    /// The words of one element, where the words are elements', and after them those of other objects.
    #[must_use]
    pub fn folded(&self) -> Option<Vec<UsedWord>> {
        self.elements.map(|elements| words::folded(&self.words, elements))
    }

    /// What puts all writes in order, if a lock or a hand-over elsewhere does, so that the line is no cause of anything.
    /// Asks for addresses of code whether data races are impossible there.
    #[must_use]
    pub fn order(&self, has_no_races: &dyn Fn(u64) -> bool, locks: &Locks) -> Option<WriteOrder> {
        order::order(&self.lines, &self.words, has_no_races, locks)
    }

    /// Learns where the elements of the array begin that the words lie in, and how many bytes each has.
    pub fn name_elements(&mut self, process: &Process, start: i64, stride: u64) {
        let size = process.lines[self.lines[0]].allocation.as_ref().map(|it| it.size);
        let named = Elements { start, stride, count: 0, size, owned: false };
        self.elements = words::named(&self.words, named, self.elements).or(self.elements);
    }

    /// Learns what words are by their places in [`words`](Self::words).
    pub fn name(&mut self, meaning: impl Fn(usize) -> Meaning) {
        for (at, word) in self.words.iter_mut().enumerate() {
            word.meaning = meaning(at);
        }
    }

    /// What is wrong, by what is known of the words so far; `None` if nothing is.
    #[must_use]
    pub fn kind(&self, process: &Process) -> Option<Kind> {
        if let Some(Elements { owned: true, .. }) = self.elements {
            return Some(Kind::FalseSharing);
        }
        let lines = || self.lines.iter().map(|&line| &process.lines[line]);
        let are_estimates = lines().any(|line| line.watched.is_some());
        let starts = lines().map(Line::start).collect();
        kind::kind(&self.words, starts, process.line_bytes.into(), are_estimates)
    }
}

/// Elements of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elements {
    /// Where one of them starts, as [`UsedWord::offset`].
    pub start: i64,
    /// Bytes from one to the next.
    pub stride: u64,
    /// Those that were seen.
    pub count: u64,
    /// Bytes of their allocation; `None` if none was seen. Its neighbours on a line are no elements.
    pub size: Option<u64>,
    /// Whether each belongs to a thread.
    pub owned: bool,
}

impl Elements {
    /// Where in an element a word lies; `None` for a word of another object.
    #[must_use]
    pub fn offset(&self, word: &UsedWord) -> Option<i64> {
        let offset = || (word.offset - self.start).rem_euclid(self.stride.cast_signed());
        self.size.is_none_or(|size| (0..size.cast_signed()).contains(&word.offset)).then(offset)
    }
}

/// Bytes that are used together.
#[derive(Debug, Clone, PartialEq)]
pub struct UsedWord {
    /// Bytes from the start of the object; the address if no allocation was seen.
    pub offset: i64,
    /// Bytes.
    pub size: u64,
    /// The most frequent first.
    pub uses: Vec<CodeUse>,
    /// What its name and its code say it is: see [`Contended::name`].
    pub meaning: Meaning,
    /// Whether one thread alone writes it, in each of several objects perhaps another.
    pub is_owned: bool,
}

/// What names and code say of a word, beside what threads do to it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Meaning {
    /// What it is for sure.
    pub role: Option<Role>,
    /// What it is unless threads use it otherwise.
    pub likely: Option<Role>,
    /// What it gives access to.
    pub guards: Guarded,
    /// Lock: the share of its holders that only read.
    pub readers: Option<f64>,
    /// Reference count: whether it is given back on a condition, by a compare-exchange.
    pub is_conditional: bool,
    /// Whether the same value is stored to it again and again, which publishes nothing.
    pub is_restored: bool,
}

/// What a lock guards, or a list holds, as far as that matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Guarded {
    /// It is not known.
    #[default]
    Unknown,
    /// Equal objects, which the same threads take and give back.
    Pool,
    /// Entries that are found by a key, in no order.
    Table,
}

/// What threads do to a word by one instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct CodeUse {
    /// What it does.
    pub access: Access,
    /// The address after the instruction.
    pub code: u64,
    /// How often, by [`Thread::id`](tenure_model::recording::Thread::id).
    pub threads: BTreeMap<u32, u64>,
    /// How often of these from where its function was called, as far as stacks said it.
    pub callers: BTreeMap<(u32, UseCallers), u64>,
    /// How long each was then away from the line, as far as that was timed.
    pub gaps: BTreeMap<u32, Gaps>,
}

impl CodeUse {
    /// What an entry did, not counted yet.
    fn new(entry: &Entry) -> Self {
        let (threads, callers, gaps) = Default::default();
        Self { access: entry.access, code: entry.code, threads, callers, gaps }
    }

    fn add(&mut self, entry: &Entry) {
        *self.threads.entry(entry.thread).or_default() += entry.count;
        if entry.callers != UseCallers::default() {
            *self.callers.entry((entry.thread, entry.callers)).or_default() += entry.count;
        }
        if entry.gaps.count > 0 {
            self.gaps.entry(entry.thread).or_default().add(entry.gaps);
        }
    }

    /// How often a thread did it, by its callers. What no stack said has none.
    pub(crate) fn callers_of(&self, thread: u32) -> Vec<(UseCallers, u64)> {
        let of = (thread, UseCallers::default())..=(thread, [u64::MAX; 2]);
        let mut all: Vec<_> =
            self.callers.range(of).map(|((_, from), count)| (*from, *count)).collect();
        let known: u64 = all.iter().map(|(_, count)| count).sum();
        let rest = self.threads.get(&thread).copied().unwrap_or(0).saturating_sub(known);
        all.extend((rest > 0).then_some((UseCallers::default(), rest)));
        all
    }

    /// Sum over all threads.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.threads.values().sum()
    }
}

impl UsedWord {
    fn end(&self) -> i64 {
        self.offset + self.size.cast_signed()
    }

    fn count(&self, wanted: impl Fn(Access) -> bool) -> u64 {
        self.uses.iter().filter(|use_| wanted(use_.access)).map(CodeUse::count).sum()
    }

    /// How often each thread did such an access.
    fn by_thread(&self, wanted: impl Fn(Access) -> bool) -> BTreeMap<u32, u64> {
        let mut all = BTreeMap::new();
        for use_ in self.uses.iter().filter(|use_| wanted(use_.access)) {
            for (thread, count) in &use_.threads {
                *all.entry(*thread).or_default() += count;
            }
        }
        all
    }

    /// The thread that does at least this part of all writes.
    fn main_writer(&self, part: f64) -> Option<u32> {
        let writes = self.by_thread(Access::writes);
        let total: u64 = writes.values().sum();
        let (writer, most) = writes.into_iter().max_by_key(|(_, count)| *count)?;
        (most as f64 >= part * total as f64).then_some(writer)
    }

    /// Whether a lock of its line guards it: the threads that take the lock use the word as often, and no others do.
    #[must_use]
    pub fn is_guarded_by(&self, lock: &Self, are_estimates: bool) -> bool {
        kind::is_guarded(self, lock, are_estimates)
    }

    /// Whether any thread writes it.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.count(Access::writes) > 0
    }

    /// Whether it is a lock: one of the C library's, or a word that threads take and give back as locks are.
    #[must_use]
    pub fn is_lock(&self) -> bool {
        lock::is_lock(self)
    }
}

/// The lines of a process that changed hands, the worst first, also those that are too rare to matter or have nothing wrong.
#[must_use]
pub fn contended(process: &Process) -> Vec<Contended> {
    let mut all: Vec<_> =
        merge::merged(process).into_iter().map(|lines| together(process, lines)).collect();
    all.sort_by_key(|found| std::cmp::Reverse(found.possible.capped));
    all
}

/// Whether a path is of the object that the lock of another path is for: `settings.data` of `settings.inner`, or of
/// `settings.inner.state`. A word of another object that is only read may be read as often as the lock is taken, and not under it.
/// `None` where the paths do not tell: the lock is no part of a member, or one of C, for which no object has a name.
pub(crate) fn is_of_lock(path: &str, lock: &str) -> Option<bool> {
    if lock.contains("__data.__") {
        return None;
    }
    let (mut object, _) = lock.rsplit_once('.')?;
    while matches!(object.rsplit('.').next(), Some("inner" | "raw")) {
        object = object.rsplit_once('.')?.0;
    }
    Some(path.strip_prefix(object).is_some_and(|rest| rest.starts_with('.')))
}

fn together(process: &Process, lines: Vec<usize>) -> Contended {
    let mut possible = Possible::default();
    for &line in &lines {
        let of_line = process.lines[line].possible;
        possible.changes += of_line.changes;
        possible.same_word += of_line.same_word;
        possible.capped += of_line.capped;
        possible.buckets += of_line.buckets;
    }
    let per_second = possible.capped as f64 / seconds(process, &lines);
    let is_rare = possible.capped < FEWEST_CHANGES || per_second < FEWEST_PER_SECOND;
    let words = words::words(process, &lines);
    let allocation = process.lines[lines[0]].allocation.as_ref();
    let elements = words::elements(&words, allocation.map(|it| it.size));
    Contended { lines, possible, words, elements, is_rare }
}

/// The time of the thread that ran longest of those that use the lines: the processor's, without what recording took. On a
/// busy machine a program takes longer, and does no more. Where no such time is known it is the process's.
fn seconds(process: &Process, lines: &[usize]) -> f64 {
    let users: BTreeSet<u32> = lines
        .iter()
        .flat_map(|&line| &process.lines[line].entries)
        .map(|entry| entry.thread)
        .collect();
    let threads = process.threads.iter().filter(|thread| users.contains(&thread.id));
    let ran = threads.filter_map(|thread| thread.ran(process.access_ns));
    ran.reduce(f64::max).map_or(process.seconds, |ran| ran / 1e9)
}

#[cfg(test)]
pub(crate) mod tests;
