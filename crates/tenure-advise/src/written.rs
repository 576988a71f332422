//! Changes as code: a line or two for each language that has a way to write them.

use tenure_model::{Declaration, Language, Remedy, Target};

use crate::{code, words};

/// How a change is written; nothing where the language has no such thing, or is not known.
pub(crate) fn code(remedy: Remedy, paths: &[String], target: &Target) -> Vec<String> {
    let is_layout = remedy.is_layout();
    let Some(language) = target.language else { return Vec::new() };
    if is_layout {
        return code::on_lines_of_its_own(target);
    }
    let name = match (remedy, paths.iter().find_map(|path| words::word(path))) {
        // The words are the lock's, not those of what it guards.
        (Remedy::ReadUnlocked, _) => "value",
        (_, Some(name)) => name,
        (Remedy::SharedLock | Remedy::Shard, None) => "lock",
        (Remedy::OwnObject, None) => "pool",
        (Remedy::TestBeforeStore, None) => "flag",
        _ => "count",
    };
    let type_name = match &target.declaration {
        Some(Declaration::Member { type_name, .. }) => type_name.as_str(),
        _ => "",
    };
    let held = words::held(target).unwrap_or_else(|| "…".to_owned());
    let of = words::counted(target).unwrap_or_else(|| "…".to_owned());
    let lines = match language {
        Language::Rust => rust(remedy),
        Language::C => c(remedy),
        Language::Cpp => cpp(remedy),
        Language::Go => go(remedy),
        Language::Java => java(remedy),
        Language::JavaScript => javascript(remedy),
    };
    let flag = if type_name.contains("ool") || type_name.is_empty() { "true" } else { "value" };
    let line = |line: &str| {
        let line = line.replace("{name}", name).replace("{held}", &held);
        line.replace("{of}", &of).replace("{flag}", flag)
    };
    lines.iter().map(|text| line(text)).collect()
}

fn rust(remedy: Remedy) -> &'static [&'static str] {
    match remedy {
        Remedy::Apart | Remedy::ReadMostlyApart => &[],
        Remedy::AddForLoop => {
            &["use tenure::count::RcuRef;", "{name}: RcuRef, // {name}.get(), {name}.put()"]
        }
        Remedy::AddForLock => &[
            "{name}: CachePadded<AtomicU64>, // in place of the lock and what it guards",
            "{name}.fetch_add(1, Relaxed);",
        ],
        Remedy::Cells => &[
            "use tenure::counter::Counter;",
            "{name}: Counter, // {name}.add(1), {name}.sum(); a Gauge, if it also falls",
        ],
        Remedy::Batch => &[
            "thread_local! { static OWN: Cell<u64> = const { Cell::new(0) } }",
            "OWN.set(OWN.get() + 1); if OWN.get() >= 64 { {name}.fetch_add(OWN.take(), Relaxed); }",
        ],
        Remedy::OwnObject => &[
            "use tenure::pool::SlotPool;",
            "let object = pool.acquire()?; // pool: SlotPool<{held}>; back when it is dropped",
        ],
        Remedy::Borrow => {
            &["fn with<R>(&self, f: impl FnOnce(&{of}) -> R) -> R // in place of a clone"]
        }
        Remedy::Revocable => &[
            "use tenure::owner::Owner;",
            "let shared = owner.share(); // owner: Owner<{of}>; a clone of it writes no shared word",
        ],
        Remedy::ReadUnlocked => &[
            "let mut reader = {name}.reader(); // once per thread; {name}: RcuCell<…>",
            "reader.load() // no lock; {name}.store(new) replaces it",
        ],
        Remedy::SharedLock => &[
            "use crossbeam_utils::sync::ShardedLock;",
            "{name}: ShardedLock<…>, // in place of RwLock<…>",
        ],
        Remedy::Shard => &[
            "{name}: [CachePadded<Mutex<…>>; 64],",
            "self.{name}[hash as usize % 64].lock() // the hash of the key",
        ],
        Remedy::TestBeforeStore => {
            &["if {name}.load(Relaxed) != {flag} { {name}.store({flag}, Relaxed); }"]
        }
    }
}

fn c(remedy: Remedy) -> &'static [&'static str] {
    match remedy {
        Remedy::AddForLoop => &["atomic_fetch_add_explicit(&{name}, 1, memory_order_relaxed);"],
        Remedy::AddForLock => {
            &["atomic_fetch_add_explicit(&{name}, 1, memory_order_relaxed); // no lock"]
        }
        Remedy::Cells => &[
            "struct { alignas(64) atomic_ulong n; } {name}[MAX_THREADS];",
            "atomic_fetch_add_explicit(&{name}[thread].n, 1, memory_order_relaxed); // sum all to read",
        ],
        Remedy::Batch => &[
            "static _Thread_local unsigned own;",
            "if (++own == 64) { atomic_fetch_add(&{name}, own); own = 0; }",
        ],
        Remedy::OwnObject => {
            &["static _Thread_local struct object *own; // take and give back here first"]
        }
        Remedy::Borrow => {
            &["/* use the pointer under the lock or guard that found it: no get, no put */"]
        }
        Remedy::Revocable => {
            &["static _Thread_local struct object *own; // one get per thread, put at its end"]
        }
        Remedy::ReadUnlocked => &[
            "rcu_read_lock(); p = rcu_dereference({name}); … rcu_read_unlock(); // liburcu",
            "rcu_xchg_pointer(&{name}, new); synchronize_rcu(); free(old);",
        ],
        Remedy::SharedLock => {
            &["ck_brlock_read_lock(&{name}, &own); // Concurrency Kit: a word for each reader"]
        }
        Remedy::Shard => &[
            "struct { alignas(64) pthread_mutex_t lock; … } {name}[64];",
            "pthread_mutex_lock(&{name}[hash % 64].lock); // the hash of the key",
        ],
        Remedy::TestBeforeStore => &["if ({name} != {flag}) {name} = {flag};"],
        Remedy::Apart | Remedy::ReadMostlyApart => &[],
    }
}

fn cpp(remedy: Remedy) -> &'static [&'static str] {
    match remedy {
        Remedy::AddForLoop => &["{name}.fetch_add(1, std::memory_order_relaxed);"],
        Remedy::AddForLock => {
            &["{name}.fetch_add(1, std::memory_order_relaxed); // std::atomic, no lock"]
        }
        Remedy::Cells => &[
            "folly::ThreadCachedInt<long> {name}; // {name}.increment(1), {name}.readFull()",
            "struct alignas(64) Cell { std::atomic<long> n; }; Cell {name}[threads]; // without folly",
        ],
        Remedy::Batch => &[
            "thread_local unsigned own = 0;",
            "if (++own == 64) { {name}.fetch_add(own, std::memory_order_relaxed); own = 0; }",
        ],
        Remedy::OwnObject => {
            &["thread_local std::vector<std::unique_ptr<{held}>> own; // before the pool"]
        }
        Remedy::Borrow => &["void use(const {of}& it); // in place of a std::shared_ptr by value"],
        Remedy::Revocable => {
            &["thread_local std::shared_ptr<{of}> own; // or folly::CoreCachedSharedPtr"]
        }
        Remedy::ReadUnlocked => {
            &["folly::rcu_reader guard; … {name}.load() … // folly::rcu_retire(old)"]
        }
        Remedy::SharedLock => &["folly::SharedMutex {name}; // in place of std::shared_mutex"],
        Remedy::Shard => &[
            "struct alignas(64) Shard { std::mutex lock; … }; Shard {name}[64];",
            "std::lock_guard guard({name}[hash % 64].lock); // the hash of the key",
        ],
        Remedy::TestBeforeStore => &["if ({name} != {flag}) {name} = {flag};"],
        Remedy::Apart | Remedy::ReadMostlyApart => &[],
    }
}

fn go(remedy: Remedy) -> &'static [&'static str] {
    match remedy {
        Remedy::AddForLoop | Remedy::AddForLock => {
            &["{name}.Add(1) // atomic.Int64, no loop, no lock"]
        }
        Remedy::Cells => &["{name} *xsync.Counter // github.com/puzpuzpuz/xsync: Inc(), Value()"],
        Remedy::Batch => {
            &["if own++; own == 64 { {name}.Add(own); own = 0 } // own: a local of the goroutine"]
        }
        Remedy::OwnObject => {
            &["var pool = sync.Pool{New: func() any { … }} // pool.Get(), pool.Put(x)"]
        }
        Remedy::ReadUnlocked => &["{name} atomic.Pointer[T] // {name}.Load(), {name}.Store(&new)"],
        Remedy::SharedLock => &["{name} *xsync.RBMutex // t := {name}.RLock(); {name}.RUnlock(t)"],
        Remedy::Shard => {
            &["{name} [64]struct { sync.Mutex; m map[K]V; _ [64]byte } // by the key's hash"]
        }
        Remedy::TestBeforeStore => &["if {name}.Load() != {flag} { {name}.Store({flag}) }"],
        Remedy::Apart | Remedy::ReadMostlyApart | Remedy::Borrow | Remedy::Revocable => &[],
    }
}

fn java(remedy: Remedy) -> &'static [&'static str] {
    match remedy {
        Remedy::AddForLoop => &["{name}.getAndIncrement(); // in place of compareAndSet in a loop"],
        Remedy::AddForLock | Remedy::Cells => {
            &["final LongAdder {name} = new LongAdder(); // {name}.increment(), {name}.sum()"]
        }
        Remedy::Batch => {
            &["if (++own == 64) { {name}.addAndGet(own); own = 0; } // own: the thread's"]
        }
        Remedy::OwnObject => {
            &["static final ThreadLocal<…> OWN = ThreadLocal.withInitial(…::new);"]
        }
        Remedy::ReadUnlocked => {
            &["private volatile Config {name}; // immutable, replaced as a whole"]
        }
        Remedy::SharedLock => &[
            "final StampedLock {name} = new StampedLock();",
            "long stamp = {name}.tryOptimisticRead(); … if (!{name}.validate(stamp)) …",
        ],
        Remedy::Shard => &["final ConcurrentHashMap<K, V> {name} = new ConcurrentHashMap<>();"],
        Remedy::TestBeforeStore => &["if ({name} != {flag}) {name} = {flag};"],
        Remedy::Apart | Remedy::ReadMostlyApart | Remedy::Borrow | Remedy::Revocable => &[],
    }
}

fn javascript(remedy: Remedy) -> &'static [&'static str] {
    match remedy {
        Remedy::AddForLoop | Remedy::AddForLock => &["Atomics.add({name}, 0, 1);"],
        Remedy::Cells => &["Atomics.add({name}, worker * 16, 1); // Int32Array; sum all to read"],
        Remedy::Batch => &["if (++own === 64) { Atomics.add({name}, 0, own); own = 0; }"],
        Remedy::TestBeforeStore => {
            &["if (Atomics.load({name}, 0) !== 1) Atomics.store({name}, 0, 1);"]
        }
        _ => &[],
    }
}
