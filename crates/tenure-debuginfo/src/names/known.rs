//! What a name says: which libraries and functions are of languages and systems, and what is a lock.
//!
//! The roles of types and members, by rules that users may add to, are `tenure-layout`'s knowledge.

use super::{function, last, words};

/// A library that offers what every program needs, such as locks and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemLibrary {
    /// The C library, in several files, and what loads programs.
    C,
    /// C++'s.
    Cpp,
    /// An allocator that takes the place of the C library's.
    Allocator,
}

/// What the files' names begin with.
const LIBRARIES: [(&str, SystemLibrary); 12] = [
    ("ld-linux", SystemLibrary::C),
    ("libc.", SystemLibrary::C),
    ("libc-", SystemLibrary::C),
    ("libm.", SystemLibrary::C),
    ("libdl.", SystemLibrary::C),
    ("libpthread", SystemLibrary::C),
    ("librt.", SystemLibrary::C),
    ("libgcc_s", SystemLibrary::C),
    ("libstdc++", SystemLibrary::Cpp),
    ("libjemalloc", SystemLibrary::Allocator),
    ("libtcmalloc", SystemLibrary::Allocator),
    ("libmimalloc", SystemLibrary::Allocator),
];

/// What the names of such libraries' functions begin with where they are linked into the program.
const FUNCTIONS: [&str; 21] = [
    "std::",
    "core::",
    "alloc::",
    "parking_lot",
    "lock_api::",
    "__rust_",
    "__rustc",
    "__aarch64_",
    "pthread_",
    "__pthread_",
    "___pthread_",
    "__lll_",
    "malloc",
    "free",
    "calloc",
    "realloc",
    "_int_",
    "_ZNSt",
    "sync.",
    "sync/atomic.",
    "runtime.",
];

/// Functions in which programs wrap locks and allocators: what matters is who calls them.
const WRAPPERS: [&str; 31] = [
    "CRYPTO_malloc",
    "CRYPTO_zalloc",
    "CRYPTO_realloc",
    "CRYPTO_free",
    "CRYPTO_THREAD_read_lock",
    "CRYPTO_THREAD_write_lock",
    "CRYPTO_THREAD_unlock",
    "zmalloc",
    "zcalloc",
    "zrealloc",
    "zfree",
    "xmalloc",
    "xcalloc",
    "xrealloc",
    "g_malloc",
    "g_malloc0",
    "g_realloc",
    "g_free",
    "g_mutex_lock",
    "g_mutex_unlock",
    "uv_mutex_lock",
    "uv_mutex_unlock",
    "uv_rwlock_rdlock",
    "uv_rwlock_wrlock",
    "apr_thread_mutex_lock",
    "apr_thread_mutex_unlock",
    "Mutex::Lock",
    "Mutex::Unlock",
    "MutexLock::MutexLock",
    "MutexLock::~MutexLock",
    "operator new",
];

/// Words of functions that return with a lock taken, or give up.
const TAKES: [&str; 8] =
    ["lock", "rdlock", "wrlock", "trylock", "spinlock", "timedlock", "rlock", "wlock"];

/// Other words that only locks have.
const LOCKS: [&str; 6] = ["unlock", "runlock", "mutex", "rwmutex", "rwlock", "futex"];

/// Words of functions that are about a lock, and do not take it.
const OTHERWISE: [&str; 4] = ["init", "destroy", "held", "assert"];

/// The library that a file is, by its name without folders.
#[must_use]
pub fn system_library(file: &str) -> Option<SystemLibrary> {
    LIBRARIES.iter().find(|(start, _)| file.starts_with(start)).map(|(_, library)| *library)
}

/// Whether a function is of a language's library, a lock or the allocator, and not the program's own, by its symbol.
#[must_use]
pub fn is_of_library(symbol: &str) -> bool {
    // Without the hash of the crate.
    let name = format!("{:#}", rustc_demangle::demangle(symbol));
    let name = name.trim_start_matches(['<', '&', '*', '(', ' ']);
    FUNCTIONS.iter().any(|start| name.starts_with(start))
}

/// Whether a function only wraps a lock or an allocator, by its name as a person says it.
#[must_use]
pub fn is_wrapper(function: &str) -> bool {
    let is_it = |wrapper: &str| {
        function.strip_suffix(wrapper).is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
    };
    WRAPPERS.iter().any(|wrapper| is_it(wrapper))
}

/// Whether a function takes a lock, by its symbol.
#[must_use]
pub fn takes_lock(symbol: &str) -> bool {
    let name = last(&function(symbol)).to_ascii_lowercase();
    let words = || name.split(|letter: char| !letter.is_alphabetic());
    let first = words().find(|word| !word.is_empty());
    // `down_read`, and not `shut_down`.
    let takes = |word: &str| TAKES.contains(&word) || (word == "down" && first == Some(word));
    let does_not = |word: &str| word.ends_with("unlock") || OTHERWISE.contains(&word);
    words().any(takes) && !words().any(does_not)
}

/// Words of functions in which a thread waits for what another one does.
const WAITS: [&str; 10] = [
    "cond",
    "condvar",
    "condition",
    "join",
    "barrier",
    "semaphore",
    "sem",
    "recv",
    "latch",
    "event",
];

/// Whether a function waits for another thread, and not for a lock, by its symbol: for a condition, an end, a message.
#[must_use]
pub fn waits_for_thread(symbol: &str) -> bool {
    let words = words(&function(symbol), char::is_alphanumeric);
    words.iter().any(|word| WAITS.contains(&word.as_str()))
}

/// Whether a name has a word that only locks have: `RawMutex::lock`, `read_unlock`, but not `block` or `LockFree`.
#[must_use]
pub fn mentions_lock(name: &str) -> bool {
    let words = words(name, char::is_alphanumeric);
    let is_free = |at: usize| words.get(at + 1).is_some_and(|next| next == "free");
    (0..words.len()).any(|at| is_lock_word(&words[at]) && !is_free(at))
}

/// Whether a member is a lock: `item_lock`, and not `lock_waits`.
#[must_use]
pub fn is_lock(member: &str) -> bool {
    words(member, char::is_alphanumeric).last().is_some_and(|word| is_lock_word(word))
}

/// Whether a member can be a lock of the C library: glibc's are structs of members such as `__data.__lock`, or a number with
/// the name of a type.
#[must_use]
pub fn is_lock_of_c(path: &str, type_name: &str) -> bool {
    path.contains("__") || type_name.contains("pthread_")
}

fn is_lock_word(word: &str) -> bool {
    TAKES.contains(&word) || LOCKS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_languages_and_locks_are_not_the_programs() {
        for name in [
            "core::sync::atomic::AtomicU64::fetch_add",
            "<std::sync::mutex::Mutex<T> as core::fmt::Debug>::fmt",
            "<&alloc::vec::Vec<u8>>::len",
            "parking_lot::raw_mutex::RawMutex::lock_slow",
            "pthread_mutex_lock",
            "sync.(*Mutex).Lock",
            "_ZNSt5mutex4lockEv",
            "_ZN5alloc4sync16Arc$LT$T$C$A$GT$9drop_slow17h2f0a1b7b0a0b7c1dE",
            "_RNvNtNtCs9ltgdHTiPiY_3std3sys4sync15write_contended",
        ] {
            assert!(is_of_library(name), "{name}");
        }
        for name in [
            "main",
            "server::accept",
            "<server::Peer as core::ops::Drop>::drop",
            "main.run",
            "_ZN1s7Session3get17heaa4e760709a3775E",
        ] {
            assert!(!is_of_library(name), "{name}");
        }
    }

    #[test]
    fn files_of_system_libraries_are_known_by_how_they_begin() {
        for (file, library) in [
            ("libc.so.6", Some(SystemLibrary::C)),
            ("libc-2.31.so", Some(SystemLibrary::C)),
            ("libstdc++.so.6.0.30", Some(SystemLibrary::Cpp)),
            ("libjemalloc.so.2", Some(SystemLibrary::Allocator)),
            ("libcurl.so.4", None),
            ("server", None),
        ] {
            assert_eq!(system_library(file), library, "{file}");
        }
    }

    #[test]
    fn functions_that_wrap_locks_and_allocators_are_known() {
        for name in ["CRYPTO_THREAD_read_lock", "leveldb::port::Mutex::Lock", "zmalloc"] {
            assert!(is_wrapper(name), "{name}");
        }
        for name in ["Session::lock", "buzzmalloc", "RawMutex::Lock", "main"] {
            assert!(!is_wrapper(name), "{name}");
        }
    }

    #[test]
    fn functions_that_wait_for_another_thread_are_known_by_their_words() {
        for name in [
            "pthread_cond_wait",
            "__pthread_clockjoin_ex_join",
            "pthread_barrier_wait",
            "sem_wait",
            "parking_lot::condvar::Condvar::wait_until_internal",
            "std::sys::sync::condvar::futex::Condvar::wait_optional_timeout",
        ] {
            assert!(waits_for_thread(name), "{name}");
        }
        for name in ["pthread_mutex_lock", "std::sys::sync::mutex::futex::Mutex::lock_contended"] {
            assert!(!waits_for_thread(name), "{name}");
        }
    }

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

    #[test]
    fn what_takes_a_lock_mentions_it_and_more_does() {
        for name in TAKES.into_iter().chain(LOCKS) {
            assert!(is_lock(name) && mentions_lock(name), "{name}");
        }
        for (name, mentioned, is_one) in [
            ("RawRwLock::lock_shared", true, false),
            ("item_lock", true, true),
            ("lock_waits", true, false),
            ("lock_free::Queue::pop", false, false),
            ("BlockHeader", false, false),
            ("shut_down", false, false),
        ] {
            assert_eq!((mentions_lock(name), is_lock(name)), (mentioned, is_one), "{name}");
        }
    }

    #[test]
    fn a_lock_of_the_c_library_is_no_number_of_another_type() {
        assert!(is_lock_of_c("lock.__data.__lock", "int"));
        assert!(is_lock_of_c("[3].spin", "pthread_spinlock_t"));
        assert!(!is_lock_of_c("[3].reqlen", "int"));
    }
}
