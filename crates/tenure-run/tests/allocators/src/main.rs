//! A table of slots, whose lines two threads use: one finding, with names, whichever the allocator is.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(feature = "tikv-jemallocator")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[cfg(feature = "snmalloc-rs")]
#[global_allocator]
static ALLOCATOR: snmalloc_rs::SnMalloc = snmalloc_rs::SnMalloc;

struct Slot {
    users: AtomicU64,
    limit: u64,
}

fn main() {
    let slots = (0..64).map(|_| Slot { users: AtomicU64::new(0), limit: 9 });
    let table: Arc<Vec<Slot>> = Arc::new(slots.collect());
    let threads = [1, 2].map(|mut x: u64| {
        let table = table.clone();
        std::thread::spawn(move || {
            for _ in 0..1_000_000 {
                x = x * 48_271 % 2_147_483_647;
                let slot = &table[x as usize % 8 * 8];
                if slot.users.load(Relaxed) < slot.limit << 40 {
                    slot.users.fetch_add(1, Relaxed);
                }
            }
        })
    });
    threads.map(|thread| thread.join().unwrap());
    println!("{}", table.iter().map(|slot| slot.users.load(Relaxed)).sum::<u64>());
}
