//! Two threads count in values of their own: each counter is a `ThreadLocal`, as a service has several.
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use thread_local::ThreadLocal;

fn main() {
    let count = 20_000_000u64;
    let counters: Vec<ThreadLocal<AtomicU64>> = (0..4).map(|_| ThreadLocal::new()).collect();
    for counter in &counters {
        // Of main, which is the first.
        counter.get_or_default();
    }
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for it in 0..count {
                    counters[it as usize % 4].get_or_default().fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    println!("{:.0} additions/s", 2.0 * count as f64 / start.elapsed().as_secs_f64());
}
