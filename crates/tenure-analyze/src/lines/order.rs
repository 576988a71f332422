//! Lines that follow what orders their writes: a lock elsewhere, or a hand-over such as that of a task from one worker of a
//! runtime to another. They are no cause of anything.

use std::collections::{BTreeMap, BTreeSet};

use tenure_model::Access;

use super::kind::{ALIKE, USES_BY_TRY, difference, is_read_mostly, shares};
use super::{UsedWord, words};
use tenure_model::recording::Process;

/// A thread that does this part of all writes has a word to itself. What is handed over has no such thread, however
/// unevenly its threads share it.
const ALL: f64 = 0.995;

/// What puts all writes to a line in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOrder {
    /// None of the code can have a data race.
    Races,
    /// A lock on another line of the process, by all appearances: the threads take it as often as they use the line. Its
    /// line, unless several locks are taken as often.
    Lock(Option<usize>),
}

/// The locks of a process.
#[derive(Debug)]
pub struct Locks(Vec<KnownLock>);

/// Its line, and how often each thread takes it.
#[derive(Debug)]
struct KnownLock {
    line: usize,
    takes: BTreeMap<u32, u64>,
}

impl Locks {
    /// Those on all its lines.
    #[must_use]
    pub fn of(process: &Process) -> Self {
        let of_line = |line| {
            let locks = words::words(process, &[line]).into_iter().filter(UsedWord::is_lock);
            locks.map(move |lock| KnownLock { line, takes: lock.by_thread(Access::takes) })
        };
        Self((0..process.lines.len()).flat_map(of_line).collect())
    }
}

/// What else puts all writes to a finding's words in order, if anything does: several threads write the same words, and
/// none of the code can have a data race, or they take one lock, which is on another line, as often.
pub(super) fn order(
    lines: &[usize],
    words: &[UsedWord],
    has_no_races: &dyn Fn(u64) -> bool,
    locks: &Locks,
) -> Option<WriteOrder> {
    let written: Vec<&UsedWord> = words.iter().filter(|word| !is_read_mostly(word)).collect();
    let owners: BTreeSet<_> = written.iter().map(|word| owner(word)).collect();
    // Words of two owners would need lines of their own.
    if !owners.contains(&None) || owners.len() > 2 {
        return None;
    }
    let (plain, others): (Vec<&UsedWord>, Vec<&UsedWord>) =
        written.iter().partition(|word| is_plain(word, &|_| true));
    let is_safe = |word: &&UsedWord| is_plain(word, has_no_races);
    if let Some(first) = plain.iter().find(|word| is_safe(word) && owner(word).is_none())
        && plain.iter().all(is_safe)
    {
        return others.iter().all(|word| goes_along(word, first)).then_some(WriteOrder::Races);
    }
    if !others.is_empty() {
        return None;
    }
    let lines: BTreeSet<_> = lines.iter().collect();
    let uses: Vec<_> = plain.iter().map(|word| word.by_thread(|_| true)).collect();
    let afar = locks.0.iter().filter(|lock| !lines.contains(&lock.line));
    // Words that different locks guard are in each other's way.
    let mut guards = afar.filter(|lock| uses.iter().all(|uses| are_as_often(uses, &lock.takes)));
    let guard = guards.next()?;
    Some(WriteOrder::Lock(guards.next().is_none().then_some(guard.line)))
}

fn owner(word: &UsedWord) -> Option<u32> {
    word.main_writer(ALL)
}

/// Whether all writes are plain ones by such code.
fn is_plain(word: &UsedWord, wanted: &dyn Fn(u64) -> bool) -> bool {
    let mut writes = word.uses.iter().filter(|use_| use_.access.writes());
    writes.all(|use_| use_.access == Access::Write && wanted(use_.code))
}

/// Whether a word is handed over together with another: its threads store to it, never change it, and share it alike.
fn goes_along(word: &UsedWord, other: &UsedWord) -> bool {
    let mut writes = word.uses.iter().filter(|use_| use_.access.writes());
    let [one, other] = [word.by_thread(|_| true), other.by_thread(|_| true)];
    writes.all(|use_| matches!(use_.access, Access::Write | Access::Store))
        && difference(&shares(one.clone()), &shares(other.clone())) <= ALIKE
        && are_as_often(&one, &other)
}

/// Whether all threads that do one thing do the other about as often.
fn are_as_often(uses: &BTreeMap<u32, u64>, others: &BTreeMap<u32, u64>) -> bool {
    uses.iter().all(|(thread, uses)| {
        let other = others.get(thread).copied().unwrap_or(0);
        *uses <= other.saturating_mul(USES_BY_TRY) && other <= uses.saturating_mul(USES_BY_TRY)
    })
}
