mod threads;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What one thread counts.
static REQUESTS: AtomicU64 = AtomicU64::new(0);
/// What the other one counts.
static ERRORS: AtomicU64 = AtomicU64::new(0);

fn counted() -> u64 {
    threads::run(
        || _ = REQUESTS.fetch_add(1, Relaxed),
        || _ = ERRORS.fetch_add(1, Relaxed),
    );
    REQUESTS.load(Relaxed) + ERRORS.load(Relaxed)
}

fn main() {
    threads::check(counted());
}

#[test]
fn all_are_counted() {
    threads::check(counted());
}
