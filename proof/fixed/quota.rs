//! A budget of memory after tikv#19662: what is in use beside its limit.
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};
use std::time::Instant;

#[derive(Debug)]
pub struct MemoryQuota {
    in_use: AtomicIsize,
    capacity: AtomicUsize,
}

impl MemoryQuota {
    pub fn new(capacity: usize) -> Self {
        Self { in_use: AtomicIsize::new(0), capacity: AtomicUsize::new(capacity) }
    }

    pub fn alloc(&self, bytes: usize) -> bool {
        let capacity = self.capacity.load(Ordering::Relaxed);
        let mut in_use = self.in_use.load(Ordering::Relaxed);
        loop {
            if in_use as usize + bytes > capacity {
                return false;
            }
            let new = in_use + bytes as isize;
            match self.in_use.compare_exchange_weak(in_use, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => in_use = now,
            }
        }
    }

    pub fn free(&self, bytes: usize) {
        self.in_use.fetch_sub(bytes as isize, Ordering::Relaxed);
    }
}

fn main() {
    let count = 5_000_000u64;
    let quota = Arc::new(MemoryQuota::new(1 << 40));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..count {
                    assert!(quota.alloc(100));
                    quota.free(100);
                }
            });
        }
    });
    println!("{:.0} budgets/s", 2.0 * count as f64 / start.elapsed().as_secs_f64());
}

#[test]
fn a_budget_has_a_limit() {
    let quota = MemoryQuota::new(10);
    assert!(quota.alloc(6) && !quota.alloc(6));
    quota.free(6);
    assert!(quota.alloc(10));
}
