//! Cells by CPU, the alternative to cells by thread: what the library would do if it had chosen them.
//!
//! The CPU is `cpu_id` of rseq(2), a word of each thread that the kernel keeps up to date. glibc registers it from 2.35
//! on. The thread may be moved between its look and its addition, so that is an atomic one, mostly without contention.

mod rseq;

use crate::scenario::Variant;
use rseq::Rseq;
use std::hint::black_box;
use tenure::cache_line::CachePadded;
use tenure::memory::{Memory, Native, Ordering};

type CellWord = <Native as Memory>::AtomicU64;

const NAME: &str = "by CPU";
const LIVE: u64 = 0;

/// A cell for each CPU, on a line of its own.
pub(super) struct Cells {
    rseq: Rseq,
    cells: Box<[CachePadded<CellWord>]>,
    /// Not written while the count lives.
    state: CachePadded<CellWord>,
}

impl Cells {
    fn new(rseq: Rseq) -> Self {
        let cells = (0..rseq.cpus()).map(|_| CachePadded::new(CellWord::new(0))).collect();
        Self { rseq, cells, state: CachePadded::new(CellWord::new(LIVE)) }
    }

    #[inline(always)]
    fn add(&self, n: u64, order: Ordering) {
        self.cells[self.rseq.cpu()].fetch_add(n, order);
    }

    /// A get or put: add, then look whether the count was killed.
    #[inline(always)]
    fn count(&self, n: u64, order: Ordering) {
        self.add(n, order);
        Native::light_barrier();
        // Relaxed: the barrier does it, as in `ThreadRef`.
        assert_eq!(black_box(&*self.state).load(Ordering::Relaxed), LIVE, "it is never killed");
    }

    fn sum(&self) -> u64 {
        // Relaxed: a statistic.
        self.cells.iter().fold(0, |sum, cell| sum.wrapping_add(cell.load(Ordering::Relaxed)))
    }
}

/// For get + put, for counting an event and for the sum. None where rseq is not registered.
pub(super) fn variants() -> Option<[Variant; 3]> {
    let rseq = Rseq::registered()?;
    let cells = move || Cells::new(rseq);
    // Relaxed and Release: as `ThreadRef`.
    let get_put = |cells: &Cells| {
        cells.count(1, Ordering::Relaxed);
        cells.count(1_u64.wrapping_neg(), Ordering::Release);
    };
    Some([
        Variant::step(NAME, cells, get_put),
        Variant::step(NAME, cells, |cells: &Cells| cells.add(1, Ordering::Relaxed)),
        Variant::step(NAME, cells, |cells: &Cells| _ = black_box(cells.sum())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_threads_add_on_any_cpu_is_in_the_sum() {
        let Some(rseq) = Rseq::registered() else { return };
        let cells = Cells::new(rseq);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..1_000).for_each(|_| cells.add(1, Ordering::Relaxed)));
            }
        });
        assert_eq!(cells.sum(), 8_000);
    }
}
