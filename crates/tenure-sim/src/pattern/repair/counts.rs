//! Counts that threads change without waiting for each other.

use super::apart::READS_ARE_RARE;
use super::{Rate, Repaired, is_once, once, replaced};
use crate::machine::LINE_BYTES;
use crate::pattern::layout::visit;
use crate::pattern::{Copies, Operation, Pattern, PatternAccess, PatternObject, StoredValue};
use std::collections::BTreeMap;
use tenure_model::Remedy;

/// One unconditional addition in place of each compare-exchange loop, and of each lock that guards a count alone.
pub(super) fn one_add(pattern: &Pattern) -> Option<Repaired> {
    let totals = pattern.totals();
    let is_count = |word: usize| {
        totals[word].exchanges > 0.0
            && pattern.words[word].value.is_added_to()
            && is_counted(&totals[word])
    };
    let has_loop = (0..totals.len()).any(is_count);
    let guarded = guarded_counts(pattern);
    if !has_loop && guarded.is_empty() {
        return None;
    }
    let mut after = pattern.clone();
    for role in &mut after.roles {
        role.steps = replaced(&role.steps, &|operation| match operation {
            Operation::CompareExchange(word) if is_count(*word) => {
                Some(once([Operation::Add(*word)]))
            }
            Operation::Lock(lock, inside) => {
                let add = Operation::Add(*guarded.get(lock)?);
                Some(once([add].into_iter().chain(work(inside).map(Operation::Work))))
            }
            _ => None,
        });
    }
    Some(Repaired {
        remedy: if has_loop { Remedy::AddForLoop } else { Remedy::AddForLock },
        pattern: after,
        bytes: 0,
        per_thread: false,
        words: match has_loop {
            true => (0..totals.len()).filter(|&word| is_count(word)).collect(),
            false => guarded.into_values().collect(),
        },
    })
}

/// Nanoseconds of work in a critical section, which is done in any case; `None` if there is none.
fn work(inside: &[PatternAccess]) -> Option<f64> {
    let work = inside.iter().map(|step| match step.operation {
        Operation::Work(nanoseconds) => step.times * nanoseconds,
        _ => 0.0,
    });
    Some(work.sum()).filter(|all| *all > 0.0)
}

/// Locks that guard one word alone, by their words: it is stored to at most once each time, is not used without the lock, and
/// beside it only flags are read, as std's mutex has one.
fn guarded_counts(pattern: &Pattern) -> BTreeMap<usize, usize> {
    const FLAG: usize = 1;
    /// Nanoseconds. What takes longer is more than an addition.
    const BRIEF: f64 = 20.0;
    let mut counts: BTreeMap<usize, Option<usize>> = BTreeMap::new();
    let mut inside_of_locks = vec![0.0; pattern.words.len()];
    for role in &pattern.roles {
        visit(&role.steps, 1.0, &mut |access, times| {
            let Operation::Lock(lock, inside) = &access.operation else { return };
            let is_flag = |word: usize| pattern.words[word].bytes == FLAG;
            let mut count = None;
            let is_count = inside.iter().all(|step| match step.operation {
                Operation::Load(word) => is_flag(word) || *count.get_or_insert(word) == word,
                Operation::Store(word) => *count.get_or_insert(word) == word && step.times <= 1.0,
                Operation::Work(_) => true,
                _ => false,
            });
            let stores = inside.iter().any(|step| matches!(step.operation, Operation::Store(_)));
            let is_brief = work(inside).is_none_or(|of| of <= BRIEF);
            let count = count.filter(|_| is_count && stores && is_brief);
            let count = count.filter(|word: &usize| pattern.words[*word].value.splits());
            if *counts.entry(*lock).or_insert(count) != count {
                counts.insert(*lock, None);
            }
            for step in inside {
                if let Some(word) = step.operation.word() {
                    inside_of_locks[word] += f64::from(role.share.max(1)) * times * step.times;
                }
            }
        });
    }
    let totals = pattern.totals();
    let only_guarded = |word: usize| totals[word].all() <= inside_of_locks[word] * 1.001;
    let only_lock = |lock: usize| {
        pattern.words[lock].value == StoredValue::Unknown
            && totals[lock].all() <= totals[lock].locks * 1.001
    };
    let counts = counts.into_iter().filter_map(|(lock, count)| Some((lock, count?)));
    counts.filter(|(lock, count)| only_lock(*lock) && only_guarded(*count)).collect()
}

/// Per-thread cells in place of each counter that is rarely read.
pub(super) fn cells(pattern: &Pattern) -> Option<Repaired> {
    let (totals, rates) = (pattern.totals(), pattern.rates());
    // What one thread alone adds to is its own already.
    let has_many_writers = |word: usize| {
        let roles = pattern.roles.iter().zip(&rates);
        let mut writers = roles.filter(|(_, rates)| rates[word].changes() > 0.0);
        writers.next().is_some_and(|(role, _)| role.share > 0) || writers.next().is_some()
    };
    let is_counter = |word: usize| {
        let Rate { loads, sums, .. } = totals[word];
        let changes = totals[word].changes();
        is_once(pattern, word)
            && has_many_writers(word)
            && pattern.words[word].value.splits()
            && is_counted(&totals[word])
            && changes > 0.0
            && sums == 0.0
            && loads <= READS_ARE_RARE * changes
    };
    let counters: Vec<usize> = (0..totals.len()).filter(|&word| is_counter(word)).collect();
    if counters.is_empty() {
        return None;
    }
    let mut after = pattern.clone();
    let mut offset = 0;
    let object = after.objects.len();
    let mut cell_of = vec![None; totals.len()];
    for &word in &counters {
        let bytes = pattern.words[word].bytes;
        // No cell straddles lines.
        if offset % LINE_BYTES + bytes > LINE_BYTES {
            offset = offset.next_multiple_of(LINE_BYTES);
        }
        let name = format!("{} cell", pattern.words[word].name);
        cell_of[word] = Some(after.word(object, name, offset, bytes));
        offset += bytes;
    }
    let bytes = offset.next_multiple_of(LINE_BYTES);
    after.object(PatternObject::several(
        format!("{} cells", pattern.name),
        Copies::PerThread,
        bytes,
    ));
    for role in &mut after.roles {
        role.steps = replaced(&role.steps, &|operation| {
            let cell = operation.word().and_then(|word| cell_of[word])?;
            Some(match operation {
                Operation::Load(_) => once([Operation::LoadAll(cell)]),
                // No other thread writes it, so it needs no atomic addition.
                _ => once([Operation::Load(cell), Operation::Store(cell)]),
            })
        });
    }
    let remedy = Remedy::Cells;
    Some(Repaired { remedy, pattern: after, bytes, per_thread: true, words: counters })
}

/// Additions that each thread makes to the shared word once in a while, in place of each: of counters that are read too often
/// to be summed.
pub(super) fn batch(pattern: &Pattern) -> Option<Repaired> {
    /// How many additions become one.
    const SIZE: f64 = 64.0;
    let totals = pattern.totals();
    let rates = pattern.rates();
    let is_counter = |word: &usize| {
        let Rate { loads, sums, .. } = totals[*word];
        let changes = totals[*word].changes();
        // A thread that adds and then looks may act on it.
        let is_followed = rates.iter().any(|of| of[*word].changes() > 0.0 && of[*word].loads > 0.0);
        let is_read = READS_ARE_RARE * changes < loads && loads <= changes && !is_followed;
        pattern.words[*word].value == StoredValue::Statistic
            && is_once(pattern, *word)
            && is_counted(&totals[*word])
            && sums == 0.0
            && is_read
    };
    let words: Vec<usize> = (0..totals.len()).filter(is_counter).collect();
    let mut after = pattern.clone();
    let object = after.objects.len();
    let mut own = vec![None; totals.len()];
    for (at, &word) in words.iter().enumerate() {
        let name = format!("{} not yet added", pattern.words[word].name);
        own[word] = Some(after.word(object, name, at * 8, 8));
    }
    let bytes = (words.len() * 8).next_multiple_of(LINE_BYTES);
    let name = format!("{} batches", pattern.name);
    after.object(PatternObject::several(name, Copies::PerThread, bytes));
    for role in &mut after.roles {
        role.steps = replaced(&role.steps, &|operation| match *operation {
            Operation::Add(word) | Operation::CompareExchange(word) => {
                let own = own[word]?;
                let mut steps = once([Operation::Load(own), Operation::Store(own)]);
                let operation = Operation::Add(word);
                steps.push(PatternAccess { times: 1.0 / SIZE, operation });
                Some(steps)
            }
            _ => None,
        });
    }
    let remedy = Remedy::Batch;
    let repaired = Repaired { remedy, pattern: after, bytes, per_thread: true, words };
    (!repaired.words.is_empty()).then_some(repaired)
}

/// No reference for a use that is short: the object is used where it is.
pub(super) fn borrow(pattern: &Pattern) -> Option<Repaired> {
    /// Nanoseconds. What is used for longer may well be kept by its user.
    const BRIEF: f64 = 10_000.0;
    let keeps = keeps(pattern);
    let is_borrowed = |role: usize, word: usize| {
        let is_brief = held(&pattern.roles[role].steps, word).is_some_and(|of| of <= BRIEF);
        pattern.words[word].value == StoredValue::References && is_brief && keeps(role, word)
    };
    let roles = 0..pattern.roles.len();
    let is_any = |word: &usize| roles.clone().any(|role| is_borrowed(role, *word));
    let words: Vec<usize> = (0..pattern.words.len()).filter(is_any).collect();
    let mut after = pattern.clone();
    for (at, role) in after.roles.iter_mut().enumerate() {
        role.steps = replaced(&role.steps, &|operation| match *operation {
            Operation::Add(word) | Operation::CompareExchange(word) => {
                is_borrowed(at, word).then(Vec::new)
            }
            _ => None,
        });
    }
    let remedy = Remedy::Borrow;
    let repaired = Repaired { remedy, pattern: after, bytes: 0, per_thread: false, words };
    (!repaired.words.is_empty()).then_some(repaired)
}

/// Nanoseconds of work between the first two changes of a word in an iteration; `None` if there are not two.
fn held(steps: &[PatternAccess], word: usize) -> Option<f64> {
    let changes = |step: &PatternAccess| matches!(step.operation, Operation::Add(it) | Operation::CompareExchange(it) if it == word);
    let first = steps.iter().position(changes)?;
    // One step that is done twice has its work behind it.
    let behind = &steps[first + 1..];
    let second =
        behind.iter().position(changes).or((steps[first].times >= 2.0).then_some(behind.len()));
    work(&behind[..second?]).or(Some(0.0))
}

/// A reference that each thread keeps, in place of one that is taken and put around each use.
pub(super) fn revocable(pattern: &Pattern) -> Option<Repaired> {
    let roles = pattern.roles.len();
    let keeps = keeps(pattern);
    let mut words = Vec::new();
    let mut after = pattern.clone();
    let slots = after.objects.len();
    let mut slot_of = vec![None; pattern.words.len()];
    for (word, its_slot) in slot_of.iter_mut().enumerate() {
        if (0..roles).any(|role| keeps(role, word)) {
            let offset = words.len() * LINE_BYTES;
            words.push(word);
            let name = format!("{} slot", pattern.words[word].name);
            *its_slot = Some(after.word(slots, name, offset, 8));
        }
    }
    let bytes = words.len() * LINE_BYTES;
    if bytes == 0 {
        return None;
    }
    after.object(PatternObject::several(
        format!("{} slots", pattern.name),
        Copies::PerThread,
        bytes,
    ));
    for (at, role) in after.roles.iter_mut().enumerate() {
        role.steps = replaced(&role.steps, &|operation| match *operation {
            Operation::Add(word) | Operation::CompareExchange(word) if keeps(at, word) => {
                // Four loads and two stores for each use, as `RcuCell` takes.
                let slot = slot_of[word]?;
                Some(once([Operation::Load(word), Operation::Load(slot), Operation::Store(slot)]))
            }
            _ => None,
        });
    }
    Some(Repaired { remedy: Remedy::Revocable, pattern: after, bytes, per_thread: true, words })
}

/// Whether the threads of a role take references to a word and give them back in each iteration.
fn keeps(pattern: &Pattern) -> impl Fn(usize, usize) -> bool {
    /// A get and a put.
    const A_USE: f64 = 2.0;
    let (totals, rates) = (pattern.totals(), pattern.rates());
    move |role, word| {
        pattern.roles[role].share > 0
            && is_once(pattern, word)
            && pattern.words[word].value.is_kept()
            && is_counted(&totals[word])
            && rates[role][word].changes() >= A_USE
    }
}

/// Whether a word is written by additions alone, as far as the pattern says.
fn is_counted(rate: &Rate) -> bool {
    rate.stores == 0.0 && rate.locks == 0.0
}
