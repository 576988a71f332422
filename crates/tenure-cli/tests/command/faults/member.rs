mod threads;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What each of two threads counts.
struct Stats {
    /// What the first thread counts.
    read: AtomicU64,
    /// What the second one counts.
    written: AtomicU64,
}

fn counted() -> u64 {
    let stats = Box::new(Stats { read: AtomicU64::new(0), written: AtomicU64::new(0) });
    threads::run(
        || _ = stats.read.fetch_add(1, Relaxed),
        || _ = stats.written.fetch_add(1, Relaxed),
    );
    stats.read.load(Relaxed) + stats.written.load(Relaxed)
}

fn main() {
    threads::check(counted());
}

#[test]
fn all_are_counted() {
    threads::check(counted());
}
