//! What the name of a function says.

use tenure_debuginfo::names;

/// Words of functions that return with a lock taken, or give up.
const TAKES: [&str; 9] =
    ["lock", "rdlock", "wrlock", "trylock", "spinlock", "timedlock", "down", "rlock", "wlock"];

/// Words of functions that are about a lock, and do not take it.
const OTHERWISE: [&str; 4] = ["init", "destroy", "held", "assert"];

/// Whether a function takes a lock, by a symbol.
pub(super) fn takes_lock(symbol: &str) -> bool {
    let name = names::function(symbol);
    let last = names::last(&name).to_ascii_lowercase();
    let words = || last.split(|letter: char| !letter.is_alphabetic());
    let first = words().find(|word| !word.is_empty()).unwrap_or_default();
    // `down_read`, and not `shut_down`.
    let takes = |word: &str| TAKES.contains(&word) && (word != "down" || first == "down");
    let does_not = |word: &str| word.ends_with("unlock") || OTHERWISE.contains(&word);
    words().any(takes) && !words().any(does_not)
}

#[cfg(test)]
mod tests {
    use super::takes_lock;

    #[test]
    fn functions_that_take_locks_are_known_by_their_words() {
        for name in [
            "pthread_mutex_lock",
            "_raw_spin_lock_irqsave",
            "pthread_rwlock_rdlock",
            "mutex_trylock",
            "down_read",
            "_ZNSt5mutex4lockEv",
            "ngx_spinlock",
            "leveldb::port::Mutex::Lock",
        ] {
            assert!(takes_lock(name), "{name}");
        }
        for name in [
            "mutex_unlock",
            "clock_gettime",
            "block_write",
            "shut_down",
            "rwlock_init",
            "__raw_spin_lock_init",
            "lock_is_held",
            "",
        ] {
            assert!(!takes_lock(name), "{name}");
        }
    }
}
