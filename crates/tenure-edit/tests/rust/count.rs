//! Additions that are counted per thread.

use super::program::Program;
use tenure_edit::SourceChange;

/// What a program of one file has for `tenure`.
const TENURE: &str = "
mod tenure {
    pub mod counter {
        use core::sync::atomic::Ordering;
        #[derive(Debug, Default)]
        pub struct Counter(core::sync::atomic::AtomicU64);
        impl Counter {
            pub const fn new() -> Self { Self(core::sync::atomic::AtomicU64::new(0)) }
            pub fn add(&self, n: u64) { self.0.fetch_add(n, Ordering::Relaxed); }
            pub fn sum(&self) -> u64 { self.0.load(Ordering::Relaxed) }
        }
        #[derive(Debug, Default)]
        pub struct Gauge(core::sync::atomic::AtomicI64);
        impl Gauge {
            pub const fn new() -> Self { Self(core::sync::atomic::AtomicI64::new(0)) }
            pub fn add(&self, n: i64) { self.0.fetch_add(n, Ordering::Relaxed); }
            pub fn sum(&self) -> i64 { self.0.load(Ordering::Relaxed) }
        }
    }
}
";

const PROGRAM: &str = "\
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};

#[derive(Default)]
pub struct Stats {
    /// Bytes, größer.
    bytes: AtomicU64, // of all
    /// Calls.
    calls: AtomicUsize,
    open: AtomicUsize,
    level: AtomicI32,
    short: AtomicU32,
    stop: AtomicBool,
}

static ALL: Stats = Stats {
    bytes: AtomicU64::new(0), calls: AtomicUsize::new(0), open: AtomicUsize::new(0), level: AtomicI32::new(0),
    short: AtomicU32::new(0), stop: AtomicBool::new(false),
};
static SEEN: AtomicUsize = AtomicUsize::new(0);

fn made() -> Stats {
    let mut stats = Stats { bytes: Default::default(), ..Stats::default() };
    stats.bytes = AtomicU64::new(0);
    stats
}

impl Stats {
    fn call(&self, bytes: u64, some: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let _ = self.bytes.fetch_add(1_u64, Ordering::Relaxed);
        self.calls.fetch_add(some * 2, Ordering::SeqCst);
        self.open.fetch_add(5, Ordering::Relaxed);
        if some > 0 { self.open.fetch_sub(some, Ordering::Relaxed); }
        self.level.fetch_add(-3, Ordering::Relaxed);
        self.level.fetch_add(some as i32, Ordering::Relaxed);
        self.short.fetch_add(1 << some, Ordering::Relaxed);
        self.short.fetch_add(u32::MAX, Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
    }

    fn shown(&self) -> String {
        let bytes = self.bytes.load(Ordering::Relaxed);
        let half = self.bytes.load(Ordering::Relaxed) as f64 / 2.0;
        format!(
            \"{bytes} {half} {} {} {} {} {}\",
            self.calls.load(Ordering::Relaxed).pow(2) + 1,
            self.open.load(Ordering::Relaxed),
            -self.level.load(Ordering::Relaxed),
            self.short.load(Ordering::Relaxed) < 3,
            self.stop.load(Ordering::Relaxed),
        )
    }
}

fn main() {
    let stats = Arc::new(made());
    let threads = [1, 2, 3].map(|some| {
        let stats = Arc::clone(&stats);
        std::thread::spawn(move || {
            stats.call(10, some);
            SEEN.fetch_add(1, Ordering::Relaxed);
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    ALL.call(1, 1);
    println!(\"{} {} {}\", stats.shown(), ALL.shown(), SEEN.load(Ordering::Relaxed));
}
";

fn count(name: &str) -> SourceChange {
    SourceChange::CountPerThread { name: name.to_owned() }
}

#[test]
fn counts_per_thread_sum_to_what_the_atomic_had() {
    let cases = [
        ("bytes", "self.bytes.add(bytes);\n        self.bytes.add(1);"),
        ("calls", "self.calls.add({ let n: usize = some * 2; n } as u64);"),
        ("open", "self.open.add((some as u64).wrapping_neg());"),
        ("level", "self.level.add(3_u64.wrapping_neg());"),
        ("short", "self.short.add({ let n: u32 = 1 << some; n } as u64);"),
        ("SEEN", "SEEN.add(1);"),
    ];
    for (name, after) in cases {
        let at = format!("{name}: Atomic");
        let edited = Program::own(PROGRAM, &at, count(name)).runs();
        assert!(edited.contains(after), "{edited}");
        assert!(edited.contains(&format!("{name}: PerThreadCount")));
        assert!(edited.contains("struct PerThreadCountCell(core::sync::atomic::AtomicU64);"));
    }
}

#[test]
fn tenures_counters_count_and_its_gauges_subtract() {
    let text = PROGRAM.to_owned() + TENURE;
    let cases = [
        ("bytes", "bytes: tenure::counter::Counter, // of all", "let bytes = self.bytes.sum();"),
        ("calls", "calls: tenure::counter::Counter,", "(self.calls.sum() as usize).pow(2) + 1"),
        ("open", "open: tenure::counter::Gauge,", "self.open.sum().max(0) as usize,"),
        ("level", "level: tenure::counter::Gauge,", "self.level.add(-3);"),
        (
            "SEEN",
            "SEEN: tenure::counter::Counter = tenure::counter::Counter::new();",
            "SEEN.sum() as usize",
        ),
    ];
    for (name, declared, used) in cases {
        let at = format!("{name}: Atomic");
        let program = Program {
            padding: tenure_edit::Padding::Tenure,
            ..Program::own(&text, &at, count(name))
        };
        let edited = program.runs();
        assert!(edited.contains(declared) && edited.contains(used), "{edited}");
    }
}

#[test]
fn imports_that_a_count_leaves_unused_are_removed() {
    let edited = Program::own(PROGRAM, "bytes: AtomicU64", count("bytes")).edited().unwrap();
    assert!(
        edited.contains("use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};"),
        "{edited}"
    );
    let edited = Program::own(PROGRAM, "SEEN: Atomic", count("SEEN")).edited().unwrap();
    assert!(edited.contains("use std::sync::atomic::AtomicUsize;"));
}

#[test]
fn a_count_that_is_used_otherwise_is_refused() {
    let cases = [
        ("let _n = HITS.fetch_add(1, Relaxed);", "the result of `fetch_add` is used"),
        ("if HITS.fetch_add(1, Relaxed) == 0 {}", "the result of `fetch_add` is used"),
        ("HITS.store(0, Relaxed);", "`store` is neither an addition nor a load"),
        ("let _ = HITS.swap(0, Relaxed);", "`swap` is neither"),
        ("let _ = HITS.compare_exchange(0, 1, Relaxed, Relaxed);", "`compare_exchange` is neither"),
        ("f(&HITS);", "it does not compile then: mismatched types"),
        ("HITS.fetch_add(1, Release); HITS.load(Acquire);", "also orders other memory"),
        ("HITS.fetch_sub(1, Relaxed); while HITS.load(Relaxed) > 0 {}", "decides on the count"),
        (
            "HITS.fetch_sub(1, Relaxed); let n = HITS.load(Relaxed); if n > 3 { f(&AtomicU64::new(0)) }",
            "decides on the count",
        ),
        ("HITS.fetch_sub(1, Relaxed); assert_eq!(HITS.load(Relaxed), 3);", "decides on the count"),
        (
            "fn len() -> u64 { HITS.load(Relaxed) } HITS.fetch_sub(1, Relaxed); len() == 0;",
            "decides on the count",
        ),
        ("m!(HITS, 1);", "it does not compile then: no method named `fetch_or`"),
    ];
    for (statement, why) in cases {
        let text = format!(
            "#![allow(unused)]\nuse std::sync::atomic::{{AtomicU64, Ordering::*}};\n\
             macro_rules! m {{ ($a:expr, $n:expr) => {{ $a.fetch_or($n, Relaxed); }} }}\n\
             fn f(_: &AtomicU64) {{}}\nstatic HITS: AtomicU64 = AtomicU64::new(0);\n\
             fn main() {{\n    {statement}\n}}\n"
        );
        let refused = Program::own(&text, "static HITS", count("HITS")).refused();
        assert!(refused.contains(why), "{statement}: {refused}");
        let line = if why.contains("fetch_or") { "3: " } else { "7: " };
        assert!(refused.starts_with(line), "{statement}: {refused}");
    }
    let starts = "use std::sync::atomic::*;\npub static HITS: AtomicU64 = AtomicU64::new(3);\nfn main() {}\n";
    let refused = Program::own(starts, "HITS", count("HITS")).refused();
    assert_eq!(refused, "2: the count does not start at a literal 0");
    let flag = "use std::sync::atomic::*;\npub static HITS: AtomicBool = AtomicBool::new(false);\nfn main() {}\n";
    let refused = Program::own(flag, "HITS", count("HITS")).refused();
    assert_eq!(refused, "2: `HITS` is not an atomic number");
}
