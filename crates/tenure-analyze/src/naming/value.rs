//! What a pattern says of a word: a change is offered only where that is known (docs/changes.md).

use tenure_model::{Access, Role};
use tenure_sim::pattern::StoredValue;

use super::role::{MOSTLY_READERS, written};
use crate::lines::{Guarded, UsedWord};

/// What is known of a word from what threads do. Asks for return addresses whether the code there uses the result, and of a
/// lock whether it `guards_more` than the pattern has.
pub(crate) fn value(
    word: &UsedWord,
    uses_result: &dyn Fn(u64) -> Option<bool>,
    guards_more: bool,
) -> StoredValue {
    let meaning = &word.meaning;
    let has = |wanted: &[Access]| word.uses.iter().any(|use_| wanted.contains(&use_.access));
    match written(word, uses_result) {
        Role::Lock => match (meaning.guards, meaning.readers) {
            (Guarded::Pool, _) => StoredValue::Pool,
            (_, Some(readers)) if readers >= MOSTLY_READERS => match guards_more {
                true => StoredValue::ReadGuard,
                false => StoredValue::ReadLock,
            },
            (Guarded::Table, _) => StoredValue::Table,
            _ if guards_more => StoredValue::Guard,
            _ => StoredValue::Unknown,
        },
        Role::Count if meaning.role == Some(Role::Count) && !meaning.is_conditional => {
            StoredValue::References
        }
        Role::Statistic => StoredValue::Statistic,
        Role::State | Role::QueueEnd | Role::Atomic if meaning.guards == Guarded::Pool => {
            StoredValue::Pool
        }
        Role::Flag if meaning.is_restored => StoredValue::Flag,
        _ if has(&[Access::Exchange]) => StoredValue::State,
        // What a compare-exchange stores depends on what was there, and code that uses a result acts on it.
        _ if has(&[Access::CompareExchange, Access::Add]) => StoredValue::Number,
        _ => StoredValue::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::Meaning;
    use crate::lines::tests::{done, word as unnamed};

    fn word(uses: &[(Access, u64)], role: Option<Role>) -> UsedWord {
        let uses = uses.iter().map(|&(access, code)| done(access, code, &[(1, 9)]));
        UsedWord { meaning: Meaning { role, ..Meaning::default() }, ..unnamed(0, uses) }
    }

    #[test]
    fn a_statistic_is_added_to_and_no_thread_uses_what_was_there() {
        use Access::{Add, CompareExchange, Exchange, Failed, Load, Lock, Store};
        let references = Some(Role::Count);
        let uses_result = |code: u64| match code {
            1 => Some(true),
            2 => Some(false),
            _ => None,
        };
        for (about, uses, role, expected) in [
            ("a statistic", &[(Add, 2), (Load, 1)][..], None, StoredValue::Statistic),
            ("code that cannot be followed", &[(Add, 3)], None, StoredValue::Number),
            ("the same in part", &[(Add, 3), (Add, 2)], None, StoredValue::Number),
            ("the index of a ticket", &[(Add, 1)], None, StoredValue::Number),
            ("requests under way", &[(Add, 2), (Add, 1)], None, StoredValue::Number),
            (
                "the last one out frees it",
                &[(Add, 2), (Add, 1)],
                references,
                StoredValue::References,
            ),
            ("an `Arc` without code", &[(Add, 3)], references, StoredValue::References),
            (
                "a `Weak` upgraded",
                &[(CompareExchange, 1), (Add, 2)],
                references,
                StoredValue::References,
            ),
            ("a budget", &[(Load, 2), (CompareExchange, 2), (Add, 2)], None, StoredValue::Number),
            (
                "the top of a deque",
                &[(Load, 2), (CompareExchange, 2), (Failed, 2)],
                None,
                StoredValue::Number,
            ),
            ("tokio's AtomicWaker", &[(Exchange, 1), (Exchange, 2)], None, StoredValue::State),
            (
                "flags that are set beside a count",
                &[(Add, 2), (Exchange, 2)],
                None,
                StoredValue::State,
            ),
            ("std's mutex", &[(CompareExchange, 1), (Exchange, 2)], None, StoredValue::Unknown),
            ("a lock of the C library", &[(Lock, 1)], None, StoredValue::Unknown),
            ("the same by another name", &[(Lock, 1), (Add, 1)], references, StoredValue::Unknown),
            ("a flag", &[(Store, 1), (Load, 2)], None, StoredValue::Unknown),
        ] {
            assert_eq!(value(&word(uses, role), &uses_result, false), expected, "{about}");
        }
    }
}
