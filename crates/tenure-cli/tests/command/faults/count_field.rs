mod threads;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What both threads add to.
#[derive(Default)]
struct Cache {
    hits: AtomicU64,
}

impl Cache {
    fn hit(&self) {
        self.hits.fetch_add(1, Relaxed);
    }
}

fn counted() -> u64 {
    let cache = Box::<Cache>::default();
    threads::run(|| cache.hit(), || cache.hit());
    cache.hits.load(Relaxed)
}

fn main() {
    threads::check(counted());
}

#[test]
fn all_are_counted() {
    threads::check(counted());
}
