//! A sum with a cell for each thread, [`ThreadSum`], to which threads add while others read it or take it.

use super::super::clocks::judge;
use super::super::memory::{InOrder, Loom, clear_number, set_number};
use super::super::quarantine;
use super::super::stage::{Heap, passes, slow, spawn};
use std::cell::RefCell;
use std::rc::Rc;
use tenure::cells::{Table, ThreadSum};
use tenure::memory::{Atomic, Ordering, Threads};

/// A sum and the table of its cells.
struct Shared<M: Threads>(Table<M>, ThreadSum<M>);

impl<M: Threads> Shared<M> {
    fn add(&self, n: u64) {
        self.1.add(&self.0, n);
    }
    fn sum(&self) -> u64 {
        self.1.sum(&self.0)
    }
    fn take(&self) -> u64 {
        self.1.take(&self.0)
    }
}

fn shared<M: Threads>() -> Heap<Shared<M>> {
    judge::<M>();
    set_number(0);
    quarantine::keep();
    Heap::new(Shared(Table::new_in(), ThreadSum::new_in()))
}

fn added_by_two<M: Threads>() {
    let shared = shared::<M>();
    let other = {
        let shared = shared.clone();
        spawn(move || {
            set_number(1);
            shared.add(2);
            clear_number();
            shared.add(4);
        })
    };
    shared.add(1);
    let sum = shared.sum();
    assert!(sum & 1 == 1 && sum <= 7, "what was added before is not in the sum");
    other.join().unwrap();
    assert_eq!(shared.sum(), 7, "an addition is lost");
    shared.free();
}

pub(crate) const NOT_ONCE: &str = "an addition is not taken once";

/// Both add and take, and one adds once more, without a number.
fn taken<M: Threads>(more: u64) {
    let shared = shared::<M>();
    shared.add(4);
    let other = {
        let shared = shared.clone();
        spawn(move || {
            set_number(1);
            shared.add(2);
            let taken = shared.take();
            clear_number();
            shared.add(more);
            taken
        })
    };
    let taken = shared.take();
    let others = other.join().unwrap();
    // A thread that takes what another has taken makes the sum negative, which overflows.
    let all = [taken, others, shared.take()].into_iter().try_fold(0, u64::checked_add);
    assert_eq!(all, Some(6 + more), "{NOT_ONCE}");
    assert_eq!(shared.sum(), 0);
    shared.free();
}

pub(crate) fn taken_by_two<M: Threads>() {
    taken::<M>(1);
}

/// So much is added that the shared word is again what the other thread has read.
fn taken_when_it_is_as_it_was<M: Threads>() {
    taken::<M>(6);
}

pub(crate) const LACKS: &str = "a sum lacks what was taken from it";

pub(crate) fn summed_under_a_take<M: Threads>() {
    let shared = shared::<M>();
    let other = {
        let shared = shared.clone();
        spawn(move || {
            set_number(1);
            shared.add(2);
            shared.take()
        })
    };
    shared.add(4);
    assert!([0, 4, 6].contains(&shared.sum()), "{LACKS}");
    assert_eq!(other.join().unwrap() + shared.sum(), 6);
    shared.free();
}

/// A thread that added to one sum adds to the next one in its place.
pub(crate) fn added_in_the_place_of_another<M: Threads>() {
    judge::<M>();
    set_number(0);
    quarantine::keep();
    let shared = Heap::new((Table::<M>::new_in(), ThreadSum::new_in(), M::AtomicU32::new(0)));
    let first = Rc::new(RefCell::new(ThreadSum::new_in()));
    let other = {
        let (shared, first) = (shared.clone(), Rc::clone(&first));
        spawn(move || {
            set_number(1);
            first.borrow().add(&shared.0, 5);
            shared.2.store(1, Ordering::Release);
            shared.1.add(&shared.0, 1);
        })
    };
    let is_over = shared.2.load(Ordering::Acquire) == 1;
    if is_over {
        first.borrow_mut().retire(&shared.0);
    }
    shared.1.add(&shared.0, 2);
    other.join().unwrap();
    assert_eq!(shared.1.sum(&shared.0), 3, "it began with what was added to another");
    assert_eq!(first.borrow().sum(&shared.0), if is_over { 0 } else { 5 });
    shared.free();
}

tests! {
    two_threads_add =>
        passes(Some(2), added_by_two::<Loom>),
        passes(Some(2), added_by_two::<InOrder>);
    two_threads_take =>
        passes(slow(Some(2)), taken_by_two::<Loom>),
        passes(slow(Some(2)), taken_by_two::<InOrder>);
    two_threads_take_and_the_shared_word_is_as_it_was =>
        passes(slow(Some(2)), taken_when_it_is_as_it_was::<Loom>),
        passes(slow(Some(2)), taken_when_it_is_as_it_was::<InOrder>);
    one_takes_and_one_reads =>
        passes(slow(Some(2)), summed_under_a_take::<Loom>),
        passes(slow(Some(2)), summed_under_a_take::<InOrder>);
    a_sum_begins_at_0_in_the_place_of_another =>
        passes(Some(2), added_in_the_place_of_another::<Loom>),
        passes(Some(2), added_in_the_place_of_another::<InOrder>);
}
