//! `ThreadRef` in its smallest form: one place with three cells.

use super::super::cells::{
    Counts, cloned_and_put_under_a_kill, counted_again_after_a_kill, left_while_the_last_puts,
    put_after_the_number_was_handed_over, put_by_the_killer_and_another,
    put_elsewhere_under_a_kill, put_here_under_a_kill_by_a_holder, put_here_under_a_kill_elsewhere,
    put_while_the_place_has_the_next_count, tried_after_a_second_kill, tried_under_a_kill,
    two_put_under_a_kill,
};
use super::super::memory::InOrder;
use super::super::stage::Failure::{Claim, ValueRace};
use super::super::stage::{ALL, fails, passes};
use core::marker::PhantomData;
use tenure::memory::{Atomic, Memory, Ordering, Threads};

/// On which no load of the state hides another.
type Machine = InOrder;

pub(crate) trait Flaw: Send + Sync + 'static {
    /// Whether the shared word is 0 until the sum is there.
    const NO_BIAS: bool = false;
    /// Whether the shared word loses its bias before the last cell is in it.
    const SUMS_BY_CELL: bool = false;
    /// Whether a killer leaves the cell as one that counts nothing, and not empty.
    const KEEPS_CELLS: bool = false;
    /// Whether a thread uses the cell of the number that it had.
    const KEEPS_ITS_CELL: bool = false;
}

flaws! {
    SoundCells {}
    NoBias { NO_BIAS: bool = true }
    SumsByCell { SUMS_BY_CELL: bool = true }
    KeepsCells { KEEPS_CELLS: bool = true }
    KeepsItsCell { KEEPS_ITS_CELL: bool = true }
}

const LIVE: u32 = 0;
const KILLED: u32 = 1;
const LEFTOVERS: u32 = 2;
const LEFT: u32 = 4;
const EMPTY: u64 = 0;
const NONE: u64 = 1 << 62;
const BIAS: u64 = 1 << 62;

pub(crate) struct CellsTwin<F> {
    cells: [<Machine as Memory>::AtomicU64; 3],
    state: <Machine as Memory>::AtomicU32,
    rest: <Machine as Memory>::AtomicU64,
    flaw: PhantomData<F>,
}

impl<F: Flaw> CellsTwin<F> {
    fn add(&self, by: u64) -> bool {
        let Some(thread) = Machine::thread().or(F::KEEPS_ITS_CELL.then_some(1)) else {
            return false;
        };
        if self.state.load(Ordering::Relaxed) != LIVE {
            return false;
        }
        let cell = &self.cells[thread];
        let old = cell.load(Ordering::Relaxed);
        let new = if old == EMPTY { NONE } else { old }.wrapping_add(by);
        cell.store(new, Ordering::Release);
        Machine::light_barrier();
        if self.state.load(Ordering::Relaxed) == LIVE {
            return true;
        }
        if cell.compare_exchange(new, old, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return true;
        }
        if old != EMPTY {
            self.state.fetch_or(LEFTOVERS, Ordering::Relaxed);
        }
        false
    }

    fn take(cell: &<Machine as Memory>::AtomicU64) -> u64 {
        let empty = if F::KEEPS_CELLS { NONE } else { EMPTY };
        let mut found = cell.load(Ordering::Relaxed);
        while found != EMPTY {
            match cell.compare_exchange(found, empty, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return found.wrapping_sub(NONE),
                Err(now) => found = now,
            }
        }
        0
    }

    fn change(&self, by: u64) -> bool {
        self.rest.fetch_add(by, Ordering::AcqRel).wrapping_add(by) == 0
    }
}

impl<F: Flaw> Counts for CellsTwin<F> {
    type Memory = Machine;
    type Count = ();

    fn none() -> Self {
        Self {
            cells: [(); 3].map(|()| Atomic::new(EMPTY)),
            state: Atomic::new(LIVE),
            rest: Atomic::new(0),
            flaw: PhantomData,
        }
    }

    fn count(&self) {
        self.rest.store(if F::NO_BIAS { 0 } else { BIAS }, Ordering::Relaxed);
    }

    fn get(&self, (): ()) {
        if !self.add(1) {
            self.rest.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn is_got(&self, (): ()) -> bool {
        self.add(1)
    }

    fn put(&self, (): ()) -> bool {
        !self.add(1_u64.wrapping_neg()) && self.change(1_u64.wrapping_neg())
    }

    fn kill(&self, (): ()) -> bool {
        if self.state.fetch_or(KILLED, Ordering::Relaxed) & KILLED != 0 {
            return false;
        }
        Machine::heavy_barrier();
        let bias = if F::NO_BIAS { 0 } else { BIAS };
        if F::SUMS_BY_CELL {
            let mut change = bias.wrapping_neg();
            return self.cells.iter().fold(false, |last, cell| {
                let is_last = self.change(Self::take(cell).wrapping_add(change));
                change = 0;
                last | is_last
            });
        }
        let sum = self.cells.iter().map(Self::take).fold(0, u64::wrapping_add);
        self.change(sum.wrapping_sub(bias))
    }

    fn leave(&self, (): ()) -> bool {
        self.state.fetch_or(LEFT, Ordering::AcqRel) & LEFT != 0
    }

    fn retire(&self, (): ()) {
        if self.state.load(Ordering::Relaxed) & LEFTOVERS != 0 {
            self.cells.iter().for_each(|cell| cell.store(EMPTY, Ordering::Relaxed));
        }
        self.state.store(LIVE, Ordering::Relaxed);
    }
}

tests! {
    the_sound_copy_of_cells_passes =>
        passes(ALL, put_elsewhere_under_a_kill::<CellsTwin<SoundCells>>),
        passes(ALL, put_here_under_a_kill_elsewhere::<CellsTwin<SoundCells>>),
        passes(Some(3), put_here_under_a_kill_by_a_holder::<CellsTwin<SoundCells>>),
        passes(Some(4), cloned_and_put_under_a_kill::<CellsTwin<SoundCells>>),
        passes(Some(3), two_put_under_a_kill::<CellsTwin<SoundCells>>),
        passes(Some(4), put_by_the_killer_and_another::<CellsTwin<SoundCells>>),
        passes(Some(3), put_after_the_number_was_handed_over::<CellsTwin<SoundCells>>),
        passes(Some(4), tried_under_a_kill::<CellsTwin<SoundCells>>),
        passes(Some(3), tried_after_a_second_kill::<CellsTwin<SoundCells>>),
        passes(Some(3), left_while_the_last_puts::<CellsTwin<SoundCells>>),
        passes(Some(4), put_while_the_place_has_the_next_count::<CellsTwin<SoundCells>>),
        passes(Some(4), counted_again_after_a_kill::<CellsTwin<SoundCells>>);
    a_word_without_a_bias_is_zero_during_the_switch =>
        fails(Some(2), Claim("a holder sees no value"), cloned_and_put_under_a_kill::<CellsTwin<NoBias>>);
    a_sum_of_some_cells_is_zero_before_the_last_put =>
        fails(Some(2), ValueRace, cloned_and_put_under_a_kill::<CellsTwin<SumsByCell>>);
    a_cell_that_is_not_emptied_is_taken_back_after_it_was_counted =>
        fails(Some(3), ValueRace, put_here_under_a_kill_by_a_holder::<CellsTwin<KeepsCells>>);
    a_cell_used_after_its_number_was_handed_over_loses_counts =>
        fails(Some(2), Claim("the value leaks"), put_after_the_number_was_handed_over::<CellsTwin<KeepsItsCell>>);
}
