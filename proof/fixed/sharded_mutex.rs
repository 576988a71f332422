//! Two threads, each with values of its own, whose mutexes lie among each other in sharded_mutex's pool of 127.
use std::time::Instant;

use sharded_mutex::*;

#[derive(Default)]
struct Hits(u64);
sharded_mutex!(Hits);

fn main() {
    let count = 20_000_000u64;
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(move || {
                let hits: Vec<ShardedMutex<Hits>> = (0..32).map(|_| ShardedMutex::new(Hits(0))).collect();
                for it in 0..count {
                    hits[it as usize % hits.len()].lock().0 += 1;
                }
            });
        }
    });
    println!("{:.0} locks/s", 2.0 * count as f64 / start.elapsed().as_secs_f64());
}
