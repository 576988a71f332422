//! What a word is, by names and by what threads do: a repair is offered only where that is known (docs/patterns.md,
//! "Words").

use std::collections::BTreeSet;

use tenure_debuginfo::names;
use tenure_model::Access;
use tenure_sim::pattern::StoredValue;

use crate::lines::{Meaning, UsedWord};

/// The names that are known of a word.
#[derive(Debug, Default)]
pub(crate) struct WordNames {
    /// The member's path.
    pub(crate) path: String,
    /// The member's type.
    pub(crate) type_name: String,
    /// The functions that add to it.
    pub(crate) adding: Vec<String>,
    /// The functions that exchange it, on a condition or not.
    pub(crate) exchanging: Vec<String>,
}

impl WordNames {
    /// What the names say.
    pub(crate) fn meaning(&self) -> Meaning {
        let types = self.type_name.split('<').next().unwrap_or_default();
        let is_lock = || {
            self.path.split('.').any(names::is_lock)
                || self
                    .exchanging
                    .iter()
                    .map(String::as_str)
                    .chain([types])
                    .any(names::mentions_lock)
        };
        let by_functions = || {
            // What is exchanged has more in it than the number.
            let mut all = self.adding.iter().chain(&self.exchanging);
            !self.adding.is_empty() && all.all(|it| changes_references(it))
        };
        if counts_references(&self.path) || by_functions() {
            Meaning::References
        } else if is_lock() {
            Meaning::Lock
        } else {
            Meaning::Unknown
        }
    }
}

/// Whether a member of this path is a number of references: the last one frees the object, whichever code that is.
fn counts_references(path: &str) -> bool {
    const REFERENCES: [&str; 7] =
        ["strong", "weak", "refs", "nrefs", "refcount", "refcnt", "references"];
    const OF: [&str; 4] = ["ref", "use", "strong", "weak"];
    let parts = names::words(path.rsplit('.').next().unwrap_or_default(), char::is_alphanumeric);
    let has = |wanted: &[&str]| parts.iter().any(|part| wanted.contains(&part.as_str()));
    // `refs`, `refcount_`, `_M_use_count`, `refCnt`; not `weak_hits`.
    matches!(&parts[..], [only] if REFERENCES.contains(&only.as_str()))
        || has(&["refcount", "refcnt"])
        || has(&["count", "cnt"]) && has(&OF)
}

/// Whether a function gets or puts references: `Arc::clone`, `obj_retain`, `Py_INCREF`.
fn changes_references(function: &str) -> bool {
    let parts = names::words(function, char::is_alphanumeric);
    let has = |wanted: &[&str]| parts.iter().any(|part| wanted.contains(&part.as_str()));
    has(&["retain", "incref", "decref", "addref", "refcount"])
        || has(&["arc"]) && has(&["clone", "drop", "upgrade"])
        || has(&["ref"]) && has(&["add", "inc", "dec"])
}

/// What is known of it from what threads do. Asks for return addresses whether the code there uses the result.
pub(crate) fn value(word: &UsedWord, uses_result: &dyn Fn(u64) -> Option<bool>) -> StoredValue {
    // A lock's word is nothing else.
    if word.is_lock() {
        return StoredValue::Unknown;
    }
    let of = |wanted: Access| word.uses.iter().filter(move |use_| use_.access == wanted);
    if word.meaning == Meaning::References {
        return StoredValue::References;
    }
    if of(Access::Exchange).next().is_some() {
        return StoredValue::State;
    }
    // What a compare-exchange stores depends on what was there.
    if of(Access::CompareExchange).next().is_some() {
        return StoredValue::Number;
    }
    let results: BTreeSet<_> = of(Access::Add).map(|use_| uses_result(use_.code)).collect();
    match results.iter().collect::<Vec<_>>()[..] {
        [] => StoredValue::Unknown,
        [Some(false)] => StoredValue::Statistic,
        // Code that cannot be followed may act on what was there.
        _ => StoredValue::Number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::tests::{done, word as unnamed};

    fn word(uses: &[(Access, u64)], meaning: Meaning) -> UsedWord {
        let uses = uses.iter().map(|&(access, code)| done(access, code, &[(1, 9)]));
        UsedWord { meaning, ..unnamed(0, uses) }
    }

    #[test]
    fn a_statistic_is_added_to_and_no_thread_uses_what_was_there() {
        use Access::{Add, CompareExchange, Exchange, Failed, Load, Lock, Store};
        use Meaning::{References, Unknown};
        let uses_result = |code: u64| match code {
            1 => Some(true),
            2 => Some(false),
            _ => None,
        };
        for (about, uses, meaning, expected) in [
            ("a statistic", &[(Add, 2), (Load, 1)][..], Unknown, StoredValue::Statistic),
            ("code that cannot be followed", &[(Add, 3)], Unknown, StoredValue::Number),
            ("the same in part", &[(Add, 3), (Add, 2)], Unknown, StoredValue::Number),
            ("the index of a ticket", &[(Add, 1)], Unknown, StoredValue::Number),
            ("requests under way", &[(Add, 2), (Add, 1)], Unknown, StoredValue::Number),
            (
                "the last one out frees it",
                &[(Add, 2), (Add, 1)],
                References,
                StoredValue::References,
            ),
            ("an `Arc` without code", &[(Add, 3)], References, StoredValue::References),
            (
                "a `Weak` upgraded",
                &[(CompareExchange, 1), (Add, 2)],
                References,
                StoredValue::References,
            ),
            (
                "a budget",
                &[(Load, 2), (CompareExchange, 2), (Add, 2)],
                Unknown,
                StoredValue::Number,
            ),
            (
                "the top of a deque",
                &[(Load, 2), (CompareExchange, 2), (Failed, 2)],
                Unknown,
                StoredValue::Number,
            ),
            ("tokio's AtomicWaker", &[(Exchange, 1), (Exchange, 2)], Unknown, StoredValue::State),
            (
                "flags that are set beside a count",
                &[(Add, 2), (Exchange, 2)],
                Unknown,
                StoredValue::State,
            ),
            ("std's mutex", &[(CompareExchange, 1), (Exchange, 2)], Unknown, StoredValue::Unknown),
            ("a lock of the C library", &[(Lock, 1)], Unknown, StoredValue::Unknown),
            ("the same by another name", &[(Lock, 1), (Add, 1)], References, StoredValue::Unknown),
            ("a flag", &[(Store, 1), (Load, 2)], Unknown, StoredValue::Unknown),
        ] {
            assert_eq!(value(&word(uses, meaning), &uses_result), expected, "{about}");
        }
    }

    #[test]
    fn names_say_what_counts_references_and_what_is_a_lock() {
        use Meaning::{Lock, References, Unknown};
        for (path, type_name, adding, exchanging, expected) in [
            ("data.strong", "Atomic<usize>", "", "", References),
            ("_M_use_count", "int", "", "", References),
            ("refcount_", "std::atomic<unsigned>", "", "", References),
            ("refCnt", "int", "", "", References),
            ("ref_count.value", "Atomic<usize>", "", "", Unknown),
            ("weak_hits", "Atomic<usize>", "", "", Unknown),
            ("prefs", "long", "", "", Unknown),
            ("", "", "Arc::clone", "", References),
            ("", "", "Archive::clone", "", Unknown),
            // A task's state, of which the references are a part.
            ("header.state", "", "State::ref_inc", "State::transition_to_idle", Unknown),
            ("", "", "Py_INCREF", "", References),
            ("inner.state", "Atomic<u32>", "", "RwLock::read", Lock),
            ("raw.state", "Atomic<usize>", "", "RawRwLock::lock_shared", Lock),
            // Only what exchanges it says that it is taken.
            ("served", "Atomic<usize>", "Mutex::lock", "", Unknown),
            ("item_lock", "int", "", "", Lock),
            ("queue.wlock", "int", "", "", Lock),
            ("lock_stats.waits", "long", "", "", Unknown),
            ("", "std::sys::sync::mutex::futex::Mutex", "", "", Lock),
            ("", "", "", "block_on", Unknown),
            ("top", "long", "", "lock_free::Queue::pop", Unknown),
        ] {
            let all =
                |name: &str| [name.to_owned()].into_iter().filter(|it| !it.is_empty()).collect();
            let known = WordNames {
                path: path.to_owned(),
                type_name: type_name.to_owned(),
                adding: all(adding),
                exchanging: all(exchanging),
            };
            assert_eq!(known.meaning(), expected, "{known:?}");
        }
    }
}
