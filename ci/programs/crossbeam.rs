//! Threads that store to `AtomicCell`s of their own. The values are too large for the machine's atomics, so each cell
//! takes one of crossbeam's locks, by its address. Prints stores per second. An argument says how many each makes.

use std::env;
use std::thread;
use std::time::Instant;

use crossbeam_utils::CachePadded;
use crossbeam_utils::atomic::AtomicCell;

const THREADS: usize = 4;
const CELLS: usize = 16;
const STORES: usize = 1_000_000;

fn main() {
    let stores = env::args().nth(1).map_or(STORES, |stores| stores.parse().expect("a number"));
    // No two cells share a line, and no two have the same lock: what remains is which locks share a line.
    let cells: Vec<CachePadded<AtomicCell<[u8; 40]>>> =
        (0..THREADS * CELLS).map(|_| CachePadded::new(AtomicCell::new([0; 40]))).collect();
    let start = Instant::now();
    thread::scope(|scope| {
        for own in cells.chunks(CELLS) {
            scope.spawn(|| {
                (0..stores).for_each(|store| own[store % CELLS].store([store as u8; 40]))
            });
        }
    });
    println!("{:.0}", (THREADS * stores) as f64 / start.elapsed().as_secs_f64());
}
