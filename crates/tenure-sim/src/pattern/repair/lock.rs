//! Locks that fewer threads wait for: values that are read without them, readers that do not write, and several in place of one.

use super::apart::WRITES_ARE_RARE;
use super::{Repaired, is_once};
use crate::machine::LINE_BYTES;
use crate::pattern::layout::visit;
use crate::pattern::{Copies, Operation, Pattern, PatternAccess, PatternObject, StoredValue};
use std::collections::BTreeSet;
use tenure_model::Remedy;

/// Loads in place of each lock that guards words which are hardly ever written.
pub(super) fn read_unlocked(pattern: &Pattern) -> Option<Repaired> {
    let mut locks = vec![Held::default(); pattern.words.len()];
    for role in &pattern.roles {
        let share = f64::from(role.share.max(1));
        visit(&role.steps, share, &mut |access, times| {
            if let Operation::Lock(word, inside) = &access.operation {
                locks[*word].add(inside, times);
            }
        });
    }
    let is_read = |word: usize| {
        is_once(pattern, word)
            && !pattern.words[word].value.guards_more()
            && locks[word].is_to_read()
    };
    read_alone(pattern, Remedy::ReadUnlocked, &is_read, &|_| None)
}

/// A lock of which each reader writes a word of its own: what it guards may be anywhere.
pub(super) fn shared_lock(pattern: &Pattern) -> Option<Repaired> {
    let is_read = |word: usize| is_once(pattern, word) && pattern.words[word].value.is_read();
    // A reader looks whether there is a writer.
    read_alone(pattern, Remedy::SharedLock, &is_read, &|lock| Some(Operation::Load(lock)))
}

/// The steps under such locks, without the lock, after what `look`s at it.
fn read_alone(
    pattern: &Pattern,
    remedy: Remedy,
    is_read: &impl Fn(usize) -> bool,
    look: &impl Fn(usize) -> Option<Operation>,
) -> Option<Repaired> {
    let words: Vec<usize> = locks(pattern).into_iter().filter(|&word| is_read(word)).collect();
    if words.is_empty() {
        return None;
    }
    let mut after = pattern.clone();
    let slot = after.word(after.objects.len(), "reader", 0, 8);
    after.object(PatternObject::several(
        format!("{} readers", pattern.name),
        Copies::PerThread,
        LINE_BYTES,
    ));
    for role in &mut after.roles {
        role.steps = unlocked(&role.steps, is_read, look, slot);
    }
    Some(Repaired { remedy, pattern: after, bytes: LINE_BYTES, per_thread: true, words })
}

/// So many locks in place of one that a table has, each for the keys of its part.
pub(super) fn shard(pattern: &Pattern) -> Option<Repaired> {
    /// Four for each of 16 CPUs.
    const SHARDS: usize = 64;
    let is_table =
        |word: &usize| is_once(pattern, *word) && pattern.words[*word].value == StoredValue::Table;
    let words: Vec<usize> = locks(pattern).into_iter().filter(is_table).collect();
    let mut after = pattern.clone();
    let mut bytes = 0;
    for object in words.iter().map(|&word| pattern.words[word].object) {
        let stride =
            (pattern.objects[object].phase + pattern.extent(object)).next_multiple_of(LINE_BYTES);
        if after.objects[object].copies == Copies::Once {
            bytes += stride * (SHARDS - 1);
        }
        after.objects[object].copies = Copies::Random(SHARDS);
        after.objects[object].stride = stride;
    }
    let remedy = Remedy::Shard;
    let repaired = Repaired { remedy, pattern: after, bytes, per_thread: false, words };
    (!repaired.words.is_empty()).then_some(repaired)
}

/// The words that are locked.
fn locks(pattern: &Pattern) -> BTreeSet<usize> {
    let mut locks = BTreeSet::new();
    for role in &pattern.roles {
        visit(&role.steps, 1.0, &mut |access, _| {
            if let Operation::Lock(word, _) = access.operation {
                locks.insert(word);
            }
        });
    }
    locks
}

/// What is done while a word is locked.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    times: f64,
    loads: f64,
    stores: f64,
    /// Something that a replaced value cannot do: a change in place, another lock.
    others: f64,
}

impl Held {
    fn add(&mut self, inside: &[PatternAccess], times: f64) {
        self.times += times;
        for access in inside {
            let times = times * access.times;
            match access.operation {
                Operation::Work(_) => {}
                Operation::Load(_) | Operation::LoadAll(_) => self.loads += times,
                Operation::Store(_) => self.stores += times,
                Operation::Add(_) | Operation::CompareExchange(_) | Operation::Lock(..) => {
                    self.others += times;
                }
            }
        }
    }

    fn is_to_read(&self) -> bool {
        self.loads > 0.0 && self.others == 0.0 && self.stores <= WRITES_ARE_RARE * self.times
    }
}

/// The steps with what is done under such a lock in its place, after two stores to the thread's own slot, as
/// `RcuCell` does.
fn unlocked(
    steps: &[PatternAccess],
    is_read: &impl Fn(usize) -> bool,
    look: &impl Fn(usize) -> Option<Operation>,
    slot: usize,
) -> Vec<PatternAccess> {
    let mut after = Vec::new();
    for access in steps {
        match &access.operation {
            Operation::Lock(word, inside) if is_read(*word) => {
                let times = access.times;
                after.push(PatternAccess { times: 2.0 * times, operation: Operation::Store(slot) });
                after.extend(look(*word).map(|operation| PatternAccess { times, operation }));
                after.extend(
                    inside.iter().map(|access| PatternAccess {
                        times: times * access.times,
                        ..access.clone()
                    }),
                );
            }
            Operation::Lock(word, inside) => {
                let operation = Operation::Lock(*word, unlocked(inside, is_read, look, slot));
                after.push(PatternAccess { times: access.times, operation });
            }
            _ => after.push(access.clone()),
        }
    }
    after
}
