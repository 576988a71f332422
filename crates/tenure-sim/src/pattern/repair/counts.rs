//! Counts that threads change without waiting for each other.

use super::apart::READS_ARE_RARE;
use super::{Rate, Repaired};
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
                Some(vec![Operation::Add(*word)])
            }
            Operation::Lock(lock, inside) => {
                let mut instead = vec![Operation::Add(*guarded.get(lock)?)];
                instead.extend(work(inside).map(Operation::Work));
                Some(instead)
            }
            _ => None,
        });
    }
    Some(Repaired {
        remedy: if has_loop { Remedy::AddForLoop } else { Remedy::AddForLock },
        pattern: after,
        bytes: 0,
        per_thread: false,
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
        pattern.words[lock].value != StoredValue::Guard
            && totals[lock].all() <= totals[lock].locks * 1.001
    };
    let counts = counts.into_iter().filter_map(|(lock, count)| Some((lock, count?)));
    counts.filter(|(lock, count)| only_lock(*lock) && only_guarded(*count)).collect()
}

/// Per-thread cells in place of each counter that is rarely read.
pub(super) fn cells(pattern: &Pattern) -> Option<Repaired> {
    let totals = pattern.totals();
    let is_counter = |word: usize| {
        let Rate { loads, sums, .. } = totals[word];
        let changes = totals[word].changes();
        is_once(pattern, word)
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
    for word in counters {
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
                Operation::Load(_) => vec![Operation::LoadAll(cell)],
                // No other thread writes it, so it needs no atomic addition.
                _ => vec![Operation::Load(cell), Operation::Store(cell)],
            })
        });
    }
    Some(Repaired { remedy: Remedy::Cells, pattern: after, bytes, per_thread: true })
}

/// A reference that each thread keeps, in place of one that is taken and put around each use.
pub(super) fn revocable(pattern: &Pattern) -> Option<Repaired> {
    /// A get and a put.
    const A_USE: f64 = 2.0;
    let totals = pattern.totals();
    let rates = pattern.rates();
    let keeps = |role: usize, word: usize| {
        pattern.roles[role].share > 0
            && is_once(pattern, word)
            && pattern.words[word].value.is_kept()
            && is_counted(&totals[word])
            && rates[role][word].changes() >= A_USE
    };
    let mut after = pattern.clone();
    let slots = after.objects.len();
    let mut slot_of = vec![None; totals.len()];
    for word in 0..totals.len() {
        if (0..rates.len()).any(|role| keeps(role, word)) {
            let offset = slot_of.iter().flatten().count() * LINE_BYTES;
            let name = format!("{} slot", pattern.words[word].name);
            slot_of[word] = Some(after.word(slots, name, offset, 8));
        }
    }
    let bytes = slot_of.iter().flatten().count() * LINE_BYTES;
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
                Some(vec![Operation::Load(word), Operation::Load(slot), Operation::Store(slot)])
            }
            _ => None,
        });
    }
    Some(Repaired { remedy: Remedy::Revocable, pattern: after, bytes, per_thread: true })
}

/// Whether a word is written by additions alone, as far as the pattern says.
fn is_counted(rate: &Rate) -> bool {
    rate.stores == 0.0 && rate.locks == 0.0
}

fn is_once(pattern: &Pattern, word: usize) -> bool {
    pattern.objects[pattern.words[word].object].copies == Copies::Once
}

/// The steps with others in place of those that `by` names, as often.
fn replaced(
    steps: &[PatternAccess],
    by: &impl Fn(&Operation) -> Option<Vec<Operation>>,
) -> Vec<PatternAccess> {
    let replace = |access: &PatternAccess| {
        let operations = by(&access.operation).unwrap_or_else(|| {
            vec![match &access.operation {
                Operation::Lock(word, inside) => Operation::Lock(*word, replaced(inside, by)),
                other => other.clone(),
            }]
        });
        let times = access.times;
        operations.into_iter().map(move |operation| PatternAccess { times, operation })
    };
    steps.iter().flat_map(replace).collect()
}
