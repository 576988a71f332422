//! What the value of a word is for: a statistic may be kept in parts, a number that threads act on may not.

use tenure_probe::segment::Access;
use tenure_sim::pattern::Value;

use crate::contend::Word;

/// Whether a member of this path is a count of an `Arc`: the last reference frees the object, whichever code that is.
pub(super) fn counts_references(path: &str) -> bool {
    matches!(path.rsplit('.').next(), Some("strong" | "weak"))
}

/// What is known of it from what threads do. Asks for return addresses whether the code there uses the result.
pub(super) fn value(word: &Word, path: &str, uses_result: &dyn Fn(u64) -> Option<bool>) -> Value {
    // A lock's word is nothing else.
    if word.is_lock() {
        return Value::Unknown;
    }
    let has = |wanted: Access| word.uses.iter().any(|use_| use_.access == wanted);
    if has(Access::Exchange) {
        return Value::State;
    }
    let decides = || {
        let mut adds = word.uses.iter().filter(|use_| use_.access == Access::Add);
        adds.any(|use_| uses_result(use_.code) == Some(true))
    };
    // What a compare-exchange stores depends on what was there.
    if counts_references(path) || has(Access::CompareExchange) || decides() {
        Value::Number
    } else {
        Value::Unknown
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::contend::Use;

    #[test]
    fn a_statistic_is_added_to_and_no_thread_uses_what_was_there() {
        use Access::{Add, CompareExchange, Exchange, Failed, Load, Lock, Store};
        let uses_result = |code: u64| match code {
            1 => Some(true),
            2 => Some(false),
            _ => None,
        };
        for (about, uses, path, expected) in [
            ("a statistic", &[(Add, 2), (Load, 1)][..], "served", Value::Unknown),
            ("code that cannot be followed", &[(Add, 3)], "served", Value::Unknown),
            ("the index of a ticket", &[(Add, 1)], "tx.tail_position", Value::Number),
            ("the last one out frees it", &[(Add, 2), (Add, 1)], "refs", Value::Number),
            ("an `Arc` without code", &[(Add, 3)], "data.strong", Value::Number),
            ("a `Weak` upgraded", &[(CompareExchange, 1), (Add, 2)], "strong", Value::Number),
            ("a loop", &[(Load, 2), (CompareExchange, 2), (Failed, 2)], "refs", Value::Number),
            ("tokio's AtomicWaker", &[(Exchange, 1), (Exchange, 2)], "state", Value::State),
            ("flags that are set beside a count", &[(Add, 2), (Exchange, 2)], "", Value::State),
            ("std's mutex", &[(CompareExchange, 1), (Exchange, 2)], "inner", Value::Unknown),
            ("a lock of the C library", &[(Lock, 1)], "lock", Value::Unknown),
            ("the same by another name", &[(Lock, 1), (Add, 1)], "strong", Value::Unknown),
            ("a flag", &[(Store, 1), (Load, 2)], "stop", Value::Unknown),
        ] {
            let one = |&(access, code)| Use {
                access,
                code,
                threads: BTreeMap::from([(1, 9)]),
                gaps: BTreeMap::new(),
            };
            let word = Word {
                offset: 0,
                size: 8,
                uses: uses.iter().map(one).collect(),
                counts_references: counts_references(path),
            };
            assert_eq!(value(&word, path, &uses_result), expected, "{about}");
        }
    }
}
