//! Objects that each thread keeps, in place of a pool of which all threads write one word.

use super::{Repaired, is_once, once, replaced};
use crate::machine::LINE_BYTES;
use crate::pattern::{Copies, Operation, Pattern, PatternObject, StoredValue};
use tenure_model::Remedy;

/// A load and a store of the thread's own slot in place of each operation on a pool, whether that has a lock or a list.
pub(super) fn own_object(pattern: &Pattern) -> Option<Repaired> {
    let is_pool =
        |word: usize| is_once(pattern, word) && pattern.words[word].value == StoredValue::Pool;
    let words: Vec<usize> = (0..pattern.words.len()).filter(|&word| is_pool(word)).collect();
    if words.is_empty() {
        return None;
    }
    let mut after = pattern.clone();
    let slot = after.word(after.objects.len(), "own objects", 0, 8);
    let name = format!("{} of a thread", pattern.name);
    after.object(PatternObject::several(name, Copies::PerThread, LINE_BYTES));
    for role in &mut after.roles {
        role.steps = replaced(&role.steps, &|operation| match operation {
            // What is done under the lock is the pool's. The time that it takes stays.
            Operation::Lock(word, inside) if is_pool(*word) => {
                let work =
                    inside.iter().filter(|step| matches!(step.operation, Operation::Work(_)));
                let mut steps = once([Operation::Load(slot), Operation::Store(slot)]);
                steps.extend(work.cloned());
                Some(steps)
            }
            Operation::Load(word) if is_pool(*word) => Some(once([Operation::Load(slot)])),
            _ => is_pool(operation.word()?)
                .then(|| once([Operation::Load(slot), Operation::Store(slot)])),
        });
    }
    let remedy = Remedy::OwnObject;
    Some(Repaired { remedy, pattern: after, bytes: LINE_BYTES, per_thread: true, words })
}
