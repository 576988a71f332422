//! What is wrong with a line: words that would be better apart, or one word that all want.

use std::collections::{BTreeMap, BTreeSet};

use tenure_model::{Access, Kind};

use super::{CodeUse, UsedWord};

/// A word with at most this part of writes is mostly read.
const READ_MOSTLY: f64 = 0.02;

/// A word that is used at most this often, against the writes of another, gains and costs next to nothing beside it.
const RARELY: f64 = 0.02;

/// Two words are used by the same threads if their shares differ by at most this in all.
pub(super) const ALIKE: f64 = 0.25;

/// A thread that holds a lock uses a word at most so often for each try, by estimates or where the lock is elsewhere.
pub(crate) const USES_BY_TRY: u64 = 8;

/// What is wrong with lines of that many bytes that start there; `None` if nothing is, since one thread has all of it or
/// none writes.
pub(super) fn kind(
    words: &[UsedWord],
    starts: BTreeSet<i64>,
    line_bytes: i64,
    are_estimates: bool,
) -> Option<Kind> {
    let mut has_read_mostly = false;
    for start in starts {
        // Only words on one line can be in each other's way.
        let first = words.partition_point(|word| word.end() <= start);
        let behind = words.partition_point(|word| word.offset < start + line_bytes);
        match worst(&words[first..behind.max(first)], are_estimates) {
            WordRelation::Apart => return Some(Kind::FalseSharing),
            WordRelation::ReadMostly => has_read_mostly = true,
            WordRelation::Together => {}
        }
    }
    if has_read_mostly {
        return Some(Kind::BesideReadMostly);
    }
    if !words.iter().any(is_shared) {
        return None;
    }
    Some(if words.iter().any(UsedWord::is_lock) { Kind::Lock } else { Kind::HotWord })
}

/// The worst relation between two of these words, which are on one line.
fn worst(words: &[UsedWord], are_estimates: bool) -> WordRelation {
    let locks: Vec<_> = words.iter().filter(|word| word.is_lock()).collect();
    // What a lock guards is best beside it.
    let is_guarded =
        |word: &UsedWord| locks.iter().any(|lock| is_guarded(word, lock, are_estimates));
    let free: Vec<_> = words.iter().filter(|word| !is_guarded(word)).collect();
    let pairs = free
        .iter()
        .enumerate()
        .flat_map(|(at, one)| free[at + 1..].iter().map(|other| relation(one, other)));
    pairs.max().unwrap_or(WordRelation::Together)
}

/// Whether the threads that take the lock use the word, as often as they take it. Of estimates it is enough that none uses the
/// word far more often than it tries the lock: one that waits for the lock tries it many times. Such a word needs no atomic operation
/// but loads: std's mutex has its `poison` flag read so.
pub(super) fn is_guarded(word: &UsedWord, lock: &UsedWord, are_estimates: bool) -> bool {
    let is_plain =
        |use_: &CodeUse| matches!(use_.access, Access::Read | Access::Write | Access::Load);
    let [uses, tries] = [word.by_thread(|_| true), lock.by_thread(Access::writes)];
    let is_tried = |(thread, uses): (&u32, &u64)| {
        tries.get(thread).is_some_and(|tries| *uses <= tries.saturating_mul(USES_BY_TRY))
    };
    let are_tried = uses.len() == tries.len() && uses.iter().all(is_tried);
    let are_alike = || difference(&shares(uses.clone()), &shares(tries.clone())) <= ALIKE;
    !word.is_lock() && word.uses.iter().all(is_plain) && (are_estimates && are_tried || are_alike())
}

/// Rank of a kind, from harmless to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum WordRelation {
    /// They are used together, or one of them is not used.
    Together,
    /// One is written, and the other mostly read.
    ReadMostly,
    /// Both are written, and not by the same threads alike.
    Apart,
}

fn relation(one: &UsedWord, other: &UsedWord) -> WordRelation {
    let is_rare = |one: &UsedWord, other: &UsedWord| {
        (one.count(|_| true) as f64) < RARELY * other.count(Access::writes) as f64
    };
    if is_rare(one, other) || is_rare(other, one) {
        return WordRelation::Together;
    }
    match (is_read_mostly(one), is_read_mostly(other)) {
        (true, true) => WordRelation::Together,
        (false, false) => {
            let [of_one, of_other] =
                [one, other].map(|word| shares(word.by_thread(Access::writes)));
            // Two locks are taken at different times, even by the same threads.
            let are_locks = one.is_lock() && other.is_lock();
            if are_locks || difference(&of_one, &of_other) > ALIKE {
                WordRelation::Apart
            } else {
                WordRelation::Together
            }
        }
        (reads_one, _) => {
            let (read, written) = if reads_one { (one, other) } else { (other, one) };
            let [readers, writers] =
                [shares(read.by_thread(|_| true)), shares(written.by_thread(Access::writes))];
            // Another thread than the one that writes reads it.
            let is_foreign =
                writers.len() > 1 || readers.keys().any(|thread| !writers.contains_key(thread));
            if is_foreign { WordRelation::ReadMostly } else { WordRelation::Together }
        }
    }
}

pub(super) fn is_read_mostly(word: &UsedWord) -> bool {
    word.count(Access::writes) as f64 <= READ_MOSTLY * word.count(|_| true) as f64
}

/// Whether a thread uses what another one writes.
fn is_shared(word: &UsedWord) -> bool {
    let (all, writers) = (word.by_thread(|_| true), word.by_thread(Access::writes));
    !writers.is_empty() && all.len() > 1
}

pub(super) fn shares(counts: BTreeMap<u32, u64>) -> BTreeMap<u32, f64> {
    let total: u64 = counts.values().sum();
    counts.into_iter().map(|(thread, count)| (thread, count as f64 / total.max(1) as f64)).collect()
}

/// Distance of two distributions: 0 for the same shares, 1 for none in common.
pub(super) fn difference(one: &BTreeMap<u32, f64>, other: &BTreeMap<u32, f64>) -> f64 {
    let of = |shares: &BTreeMap<u32, f64>, thread| shares.get(thread).copied().unwrap_or(0.0);
    let all: BTreeSet<_> = one.keys().chain(other.keys()).collect();
    all.into_iter().map(|thread| (of(one, thread) - of(other, thread)).abs()).sum::<f64>() / 2.0
}
