mod threads;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What both threads add to.
static HITS: AtomicU64 = AtomicU64::new(0);

fn counted() -> u64 {
    let hit = || {
        HITS.fetch_add(1, Relaxed);
    };
    threads::run(hit, hit);
    HITS.load(Relaxed)
}

fn main() {
    threads::check(counted());
}

#[test]
fn all_are_counted() {
    threads::check(counted());
}
