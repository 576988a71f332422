//! Flags that are stored to only where that changes them.

use super::{Repaired, once, replaced};
use crate::pattern::{Operation, Pattern, StoredValue};
use tenure_model::Remedy;

/// A load in place of each store of the value that is there.
pub(super) fn test_before_store(pattern: &Pattern) -> Option<Repaired> {
    let totals = pattern.totals();
    let is_flag = |word: usize| {
        pattern.words[word].value == StoredValue::Flag
            && totals[word].stores > 0.0
            && totals[word].changes() + totals[word].locks == 0.0
    };
    let words: Vec<usize> = (0..totals.len()).filter(|&word| is_flag(word)).collect();
    let mut after = pattern.clone();
    for role in &mut after.roles {
        role.steps = replaced(&role.steps, &|operation| match *operation {
            Operation::Store(word) if is_flag(word) => Some(once([Operation::Load(word)])),
            _ => None,
        });
    }
    let remedy = Remedy::TestBeforeStore;
    let repaired = Repaired { remedy, pattern: after, bytes: 0, per_thread: false, words };
    (!repaired.words.is_empty()).then_some(repaired)
}
