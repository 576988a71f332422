//! Two threads, each with atomic cells of its own, whose locks lie among each other in crossbeam-utils' table of 97.
use std::time::Instant;

use crossbeam_utils::CachePadded;
use crossbeam_utils::atomic::AtomicCell;

type Cells = CachePadded<[AtomicCell<[u64; 3]>; 32]>;

fn main() {
    let count = 20_000_000u64;
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(move || {
                let cells: Cells = CachePadded::new(std::array::from_fn(|_| AtomicCell::default()));
                for it in 0..count {
                    cells[it as usize % cells.len()].store([it; 3]);
                }
            });
        }
    });
    println!("{:.0} stores/s", 2.0 * count as f64 / start.elapsed().as_secs_f64());
}
