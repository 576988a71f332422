//! Lines that follow what orders their writes: a lock elsewhere, or a hand-over such as that of a task from one worker of a
//! runtime to another. They are no cause of anything.

use std::collections::{BTreeMap, BTreeSet};

use tenure_probe::segment::Access;

use super::kind::{ALIKE, USES_BY_TRY, difference, is_read_mostly, shares};
use super::{Use, Word};

/// A thread that does this part of all writes has a word to itself. What is handed over has no such thread, however
/// unevenly its threads share it.
const ALL: f64 = 0.995;

/// Whether something else puts all writes in order: several threads write the same words, and none of the code can have
/// a data race, or they take one of the locks, which are on other lines, as often.
pub(super) fn is_ordered(
    words: &[Word],
    has_no_races: &dyn Fn(u64) -> bool,
    locks: &dyn Fn() -> Vec<Word>,
) -> bool {
    let written: Vec<&Word> = words.iter().filter(|word| !is_read_mostly(word)).collect();
    let owners: BTreeSet<_> = written.iter().map(|word| owner(word)).collect();
    // Words of two owners would need lines of their own.
    if !owners.contains(&None) || owners.len() > 2 {
        return false;
    }
    let (plain, others): (Vec<&Word>, Vec<&Word>) =
        written.iter().partition(|word| is_plain(word, &|_| true));
    let is_safe = |word: &&Word| is_plain(word, has_no_races);
    if let Some(first) = plain.iter().find(|word| is_safe(word) && owner(word).is_none())
        && plain.iter().all(is_safe)
    {
        return others.iter().all(|word| goes_along(word, first));
    }
    if !others.is_empty() {
        return false;
    }
    let locks = locks();
    plain.iter().all(|word| locks.iter().any(|lock| is_guarded_from_afar(word, lock)))
}

fn owner(word: &Word) -> Option<u32> {
    word.main_writer(ALL)
}

/// Whether all writes are plain ones by such code.
fn is_plain(word: &Word, wanted: &dyn Fn(u64) -> bool) -> bool {
    let mut writes = word.uses.iter().filter(|use_| use_.access.writes());
    writes.all(|use_| use_.access == Access::Write && wanted(use_.code))
}

/// Whether a word is handed over together with another: its threads store to it, never change it, and share it alike.
fn goes_along(word: &Word, other: &Word) -> bool {
    let is_set = |use_: &Use| matches!(use_.access, Access::Write | Access::Store);
    let mut writes = word.uses.iter().filter(|use_| use_.access.writes());
    let [one, other] = [word.by_thread(|_| true), other.by_thread(|_| true)];
    writes.all(is_set)
        && difference(&shares(one.clone()), &shares(other.clone())) <= ALIKE
        && are_as_often(&one, &other)
}

/// Whether the threads that use a word take this lock, which is on another line, about as often.
fn is_guarded_from_afar(word: &Word, lock: &Word) -> bool {
    are_as_often(&word.by_thread(|_| true), &lock.by_thread(Access::takes))
}

/// Whether all threads that do one thing do the other about as often.
fn are_as_often(uses: &BTreeMap<u32, u64>, others: &BTreeMap<u32, u64>) -> bool {
    uses.iter().all(|(thread, uses)| {
        let other = others.get(thread).copied().unwrap_or(0);
        *uses <= other.saturating_mul(USES_BY_TRY) && other <= uses.saturating_mul(USES_BY_TRY)
    })
}
