mod threads;

use std::sync::Arc;

/// What both threads read.
struct Table {
    shared: Arc<Vec<u64>>,
}

impl Table {
    #[inline(never)]
    fn read(&self, at: usize) -> u64 {
        let values = self.shared.clone();
        values[at]
    }
}

fn counted() -> u64 {
    let table = Table { shared: Arc::new(vec![1, threads::TIMES]) };
    let read = || assert_eq!(std::hint::black_box(table.read(0)), 1);
    threads::run(read, read);
    2 * table.read(1)
}

fn main() {
    threads::check(counted());
}

#[test]
fn all_are_counted() {
    threads::check(counted());
}
