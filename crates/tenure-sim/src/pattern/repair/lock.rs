//! Values that are read without their lock.

use super::Repaired;
use super::apart::WRITES_ARE_RARE;
use crate::machine::LINE_BYTES;
use crate::pattern::layout::visit;
use crate::pattern::{Copies, Operation, Pattern, PatternAccess, PatternObject, StoredValue};
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
        let object = &pattern.objects[pattern.words[word].object];
        object.copies == Copies::Once
            && pattern.words[word].value != StoredValue::Guard
            && locks[word].is_to_read()
    };
    if !(0..locks.len()).any(is_read) {
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
        role.steps = unlocked(&role.steps, &is_read, slot);
    }
    Some(Repaired {
        remedy: Remedy::ReadUnlocked,
        pattern: after,
        bytes: LINE_BYTES,
        per_thread: true,
    })
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
    slot: usize,
) -> Vec<PatternAccess> {
    let mut after = Vec::new();
    for access in steps {
        match &access.operation {
            Operation::Lock(word, inside) if is_read(*word) => {
                let times = access.times;
                after.push(PatternAccess { times: 2.0 * times, operation: Operation::Store(slot) });
                after.extend(
                    inside.iter().map(|access| PatternAccess {
                        times: times * access.times,
                        ..access.clone()
                    }),
                );
            }
            Operation::Lock(word, inside) => {
                let operation = Operation::Lock(*word, unlocked(inside, is_read, slot));
                after.push(PatternAccess { times: access.times, operation });
            }
            _ => after.push(access.clone()),
        }
    }
    after
}
