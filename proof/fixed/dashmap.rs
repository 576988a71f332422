//! Two threads that each change a key of their own.
use std::time::Instant;

use dashmap::DashMap;

fn main() {
    let count = 5_000_000u64;
    let map: DashMap<u64, u64> = DashMap::with_capacity_and_shard_amount(1024, 8);
    let keys: Vec<u64> = {
        // One key in each of two shards side by side.
        let of = |shard| (0..).find(|key| map.determine_map(key) == shard).unwrap();
        vec![of(2), of(3)]
    };
    for key in &keys {
        map.insert(*key, 0);
    }
    let start = Instant::now();
    std::thread::scope(|scope| {
        for key in &keys {
            let map = &map;
            scope.spawn(move || {
                for _ in 0..count {
                    *map.get_mut(key).unwrap() += 1;
                }
            });
        }
    });
    println!("{:.0} changes/s", 2.0 * count as f64 / start.elapsed().as_secs_f64());
}
