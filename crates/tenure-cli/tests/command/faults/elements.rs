mod threads;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What one thread has done.
#[derive(Default)]
struct Worker {
    done: AtomicU64,
    failed: AtomicU64,
}

impl Worker {
    fn work(&self) {
        self.done.fetch_add(1, Relaxed);
        self.failed.fetch_add(2, Relaxed);
    }
}

fn counted() -> u64 {
    let workers: Vec<Worker> = (0..2).map(|_| Worker::default()).collect();
    threads::run(|| workers[0].work(), || workers[1].work());
    workers.iter().map(|it| it.done.load(Relaxed)).sum()
}

fn main() {
    threads::check(counted());
}

#[test]
fn all_are_counted() {
    threads::check(counted());
}
