mod threads;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What both threads set, again and again.
static IS_DIRTY: AtomicBool = AtomicBool::new(false);

fn touch() {
    IS_DIRTY.store(true, Relaxed);
}

fn counted() -> u64 {
    threads::run(touch, touch);
    if IS_DIRTY.load(Relaxed) { 2 * threads::TIMES } else { 0 }
}

fn main() {
    threads::check(counted());
}

#[test]
fn all_are_counted() {
    threads::check(counted());
}
