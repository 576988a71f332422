//! Sums in a table of their own: where they have their cells, and that they give them back.

use crate::staged::{Staged, as_thread, every_step, interrupted};
use std::rc::Rc;
use std::thread;
use tenure::cells::{Table, ThreadSum};
use tenure::memory::Threads;

/// How many places of the table were ever in use at once.
#[track_caller]
fn assert_used<M: Threads>(table: &Table<M>, places: u32) {
    assert_eq!(format!("{table:?}"), format!("Table {{ used: {places}, .. }}"));
}

#[test]
fn of_two_first_additions_one_has_the_place_and_the_other_gives_its_own_back() {
    every_step(|at| {
        let table = Rc::new(Table::<Staged>::new_in());
        let mut sum = Rc::new(ThreadSum::new_in());
        let others = (Rc::clone(&table), Rc::clone(&sum));
        let reached = interrupted(at, || sum.add(&table, 1), move || others.1.add(&others.0, 2));
        assert_eq!(sum.sum(&table), if reached { 3 } else { 1 });
        Rc::get_mut(&mut sum).expect("the other is done").retire(&table);
        for _ in 0..3 {
            let mut next = [(); 2].map(|()| ThreadSum::new_in());
            next.iter().for_each(|sum| sum.add(&table, 1));
            next.iter_mut().for_each(|sum| sum.retire(&table));
        }
        assert_used(&table, 2);
        reached
    });
}

#[test]
fn a_sum_that_gave_its_place_back_begins_again_in_another() {
    let table = Table::<Staged>::new_in();
    let [mut first, second] = [(); 2].map(|()| ThreadSum::new_in());
    for thread in [Some(0), None] {
        as_thread(thread, || first.add(&table, 1));
    }
    assert_eq!(first.sum(&table), 2);
    first.retire(&table);
    second.add(&table, 5);
    assert_used(&table, 1);
    assert_eq!((first.sum(&table), first.take(&table)), (0, 0));
    first.add(&table, 7);
    assert_eq!((first.sum(&table), second.sum(&table)), (7, 5));
    assert_used(&table, 2);
}

#[test]
fn a_threads_cells_in_another_table_are_not_those_of_the_process() {
    let other = Table::new_in();
    let [mut here, there] = [(); 2].map(|()| ThreadSum::new_in());
    let here_is = Table::global();
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in 1..=3 {
                here.add(here_is, 10 * n);
                there.add(&other, n);
            }
        });
    });
    assert_eq!((here.sum(here_is), there.sum(&other)), (60, 6));
    here.retire(here_is);
}
