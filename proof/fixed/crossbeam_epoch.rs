//! Two threads that pin and unpin, as each operation of a map that uses crossbeam-epoch does.
use std::time::Instant;

use crossbeam_epoch as epoch;

fn main() {
    let count = 20_000_000u64;
    let collector = epoch::Collector::new();
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let collector = &collector;
            scope.spawn(move || {
                let handle = collector.register();
                for it in 0..count {
                    let guard = handle.pin();
                    if it % 64 == 0 {
                        guard.flush();
                    }
                }
            });
        }
    });
    println!("{:.0} pins/s", 2.0 * count as f64 / start.elapsed().as_secs_f64());
}
