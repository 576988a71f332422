//! `ThreadSum` in its smallest form: two cells, and the shared word that what is taken is subtracted from.

use super::super::cells::sum::Sums;
use super::super::memory::InOrder;
use std::marker::PhantomData;
use tenure::memory::{Atomic, Memory, Ordering, Threads};

type Machine = InOrder;

pub(crate) trait Flaw: 'static {
    /// Whether what is taken is subtracted whatever the shared word has become.
    const TAKES_BLINDLY: bool = false;
    /// Whether the taker empties the cells of others.
    const EMPTIES: bool = false;
}

flaws! {
    SoundSum {}
    TakesBlindly { TAKES_BLINDLY: bool = true }
    Empties { EMPTIES: bool = true }
}

pub(crate) struct SumTwin<F> {
    cells: [<Machine as Memory>::AtomicU64; 2],
    rest: <Machine as Memory>::AtomicU64,
    flaw: PhantomData<fn() -> F>,
}

impl<F: Flaw> SumTwin<F> {
    fn cells(&self) -> u64 {
        let read = |cell: &<Machine as Memory>::AtomicU64| {
            let found = cell.load(Ordering::Relaxed);
            if F::EMPTIES {
                cell.store(0, Ordering::Relaxed);
            }
            found
        };
        self.cells.iter().map(read).fold(0, u64::wrapping_add)
    }
}

impl<F: Flaw> Sums for SumTwin<F> {
    type Memory = Machine;

    fn none() -> Self {
        let word = || Atomic::new(0);
        Self { cells: [word(), word()], rest: word(), flaw: PhantomData }
    }

    fn add(&self, n: u64) {
        let Some(thread) = Machine::thread() else {
            self.rest.fetch_add(n, Ordering::Relaxed);
            return;
        };
        let cell = &self.cells[thread];
        cell.store(cell.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    fn sum(&self) -> u64 {
        let cells = self.cells.iter().map(|cell| cell.load(Ordering::Relaxed));
        cells.fold(self.rest.load(Ordering::Acquire), u64::wrapping_add)
    }

    fn take(&self) -> u64 {
        loop {
            let found = self.rest.load(Ordering::Acquire);
            let cells = self.cells();
            let taken = found.wrapping_add(cells);
            if F::TAKES_BLINDLY {
                self.rest.fetch_sub(taken, Ordering::Release);
                return taken;
            }
            let left = if F::EMPTIES { 0 } else { cells.wrapping_neg() };
            let swapped =
                self.rest.compare_exchange(found, left, Ordering::Release, Ordering::Relaxed);
            if swapped.is_ok() {
                return taken;
            }
        }
    }
}
