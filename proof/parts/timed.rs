//! How the drivers of `proof/` measure: what all threads do together in half a second, or in MILLIS of the environment.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Calls `work` once in each thread, then what it returned until the time is over. Prints operations per second.
pub fn rate<W: FnMut()>(threads: usize, work: impl Fn(usize) -> W + Sync) {
    let millis =
        std::env::var("MILLIS").map_or(500, |text| text.parse().expect("MILLIS is a number"));
    let (start, is_over) = (Barrier::new(threads + 1), AtomicBool::new(false));
    let sum: f64 = std::thread::scope(|scope| {
        let each = (0..threads).map(|thread| {
            let (start, is_over, work) = (&start, &is_over, &work);
            scope.spawn(move || {
                let mut work = work(thread);
                (0..64).for_each(|_| work());
                start.wait();
                let (began, mut done) = (Instant::now(), 0u64);
                while !is_over.load(Ordering::Relaxed) {
                    (0..64).for_each(|_| work());
                    done += 64;
                }
                done as f64 / began.elapsed().as_secs_f64()
            })
        });
        let each: Vec<_> = each.collect();
        start.wait();
        std::thread::sleep(Duration::from_millis(millis));
        is_over.store(true, Ordering::Relaxed);
        each.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    println!("{sum:.0}");
}
