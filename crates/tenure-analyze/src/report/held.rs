//! What a lock guards, and for how long it is held.

use std::collections::BTreeMap;

use tenure_model::{Finding, LockHeld};
use tenure_sim::pattern::{Operation, Pattern};

use crate::lines::{UsedWord, is_of_lock};
use crate::naming::role::MOSTLY_READERS;

/// A report has at most so many names of what a lock guards.
const MAX_NAMES: usize = 8;

/// What guarded lines are called, by the address of their lock's line.
pub(super) type GuardedNames = BTreeMap<u64, Vec<String>>;

/// What the first lock of these words guards on its line, and for how long threads hold it; `None` if none is a lock.
pub(super) fn held(
    words: &[(UsedWord, String)],
    pattern: Option<&Pattern>,
    are_estimates: bool,
) -> Option<LockHeld> {
    let (lock, lock_path) = words.iter().find(|(word, _)| word.is_lock())?;
    let is_known = |(word, path): &&(UsedWord, String)| {
        word.is_written() || is_of_lock(path, lock_path) == Some(true)
    };
    let guarded =
        words.iter().filter(|(word, _)| word.is_guarded_by(lock, are_estimates)).filter(is_known);
    // What glibc's locks consist of is part of the lock.
    let is_named = |path: &&String| !path.is_empty() && !path.contains("__data.__");
    let guards = guarded.map(|(_, path)| path).filter(is_named).take(MAX_NAMES).cloned();
    let held_ns = pattern.and_then(nanoseconds);
    Some(LockHeld { guards: guards.collect(), held_ns, readers: lock.meaning.readers })
}

/// Adds what the locks on a finding's lines guard on other lines.
pub(super) fn add(finding: &mut Finding, lines: &[u64], elsewhere: &GuardedNames) {
    // Threads write what they have found: readers alone guard none of it.
    let has_writers = |lock: &&mut LockHeld| lock.readers.is_none_or(|of| of < MOSTLY_READERS);
    let Some(lock) = finding.lock.as_mut().filter(has_writers) else { return };
    for name in lines.iter().filter_map(|line| elsewhere.get(line)).flatten() {
        if lock.guards.len() < MAX_NAMES && !lock.guards.contains(name) {
            lock.guards.push(name.clone());
        }
    }
}

/// The time that a lock is held, on average over all its holders.
fn nanoseconds(pattern: &Pattern) -> Option<f64> {
    let (mut times, mut sum) = (0.0, 0.0);
    for role in &pattern.roles {
        for step in &role.steps {
            let Operation::Lock(_, inside) = &step.operation else { continue };
            let share = f64::from(role.share.max(1)) * step.times;
            let work = inside.iter().map(|step| match step.operation {
                Operation::Work(nanoseconds) => step.times * nanoseconds,
                _ => 0.0,
            });
            times += share;
            sum += share * work.sum::<f64>();
        }
    }
    (sum > 0.0).then(|| sum / times)
}

#[cfg(test)]
mod tests {
    use tenure_model::Access;

    use super::*;
    use crate::lines::{CodeUse, Meaning};

    /// It may be read as often as the lock is taken, and after it was given back.
    #[test]
    fn what_is_only_read_is_not_said_to_be_guarded_unless_it_is_the_locks_own() {
        let word = |offset: i64, uses: &[Access]| UsedWord {
            offset,
            size: 8,
            uses: uses
                .iter()
                .map(|access| CodeUse {
                    access: *access,
                    code: 1,
                    threads: [(1, 9_000), (2, 9_000)].into(),
                    callers: BTreeMap::new(),
                    gaps: BTreeMap::new(),
                })
                .collect(),
            meaning: Meaning::default(),
            is_owned: false,
        };
        let words = [
            (word(0, &[Access::Lock, Access::Unlock]), "settings.inner"),
            (word(8, &[Access::Read]), "settings.data"),
            (word(16, &[Access::Read]), "quota"),
            (word(24, &[Access::Read, Access::Write]), "served"),
        ];
        let words = words.map(|(word, path)| (word, path.to_owned()));
        let lock = held(&words, None, false).expect("a lock");
        assert_eq!(lock.guards, ["settings.data", "served"]);
    }
}
