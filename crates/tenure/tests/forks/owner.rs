//! Owners, of which other threads were in the middle of clones, drops and kills.

use crate::children::{forked_under_use, in_child, start};
use crate::stopping::{Stopping, stop_in_the_next_barrier, while_another_is_in_a_barrier};
use std::cell::Cell;
use std::sync::Arc;
use tenure::cells::{Table, ThreadRef};
use tenure::counter::Counter;
use tenure::owner::{Owner, Shared};

const FORKS: usize = 60;

static ADDED: Counter = Counter::new();

fn use_owners(turns: usize) {
    for _ in 0..turns {
        let (token, count) = token();
        let owner = Owner::new(token);
        let shared = owner.share();
        let other = shared.clone();
        let elsewhere = start(move || drop(other.clone()));
        drop(owner);
        elsewhere.join();
        assert_eq!(count(), 1, "it is shared");
        drop(shared);
        assert_eq!(count(), 0, "the value leaks");
        ADDED.add(1);
    }
}

fn token() -> (Arc<()>, impl Fn() -> usize) {
    let token = Arc::new(());
    let count = Arc::clone(&token);
    (token, move || Arc::strong_count(&count) - 1)
}

#[test]
fn a_child_goes_on_with_what_other_threads_were_in_the_middle_of() {
    let by_all = Owner::new(String::from("by all"));
    let shared = by_all.share();
    let work = |_, goes_on: &dyn Fn() -> bool| {
        while goes_on() {
            assert_eq!(*Shared::clone(&shared), "by all");
            let owner = Owner::new(0);
            let own = owner.share();
            drop(owner);
            drop(own);
            ADDED.add(1);
        }
    };
    forked_under_use(2, FORKS, work, || {
        let (token, count) = token();
        let owner = Owner::new(token);
        let [shared, other] = [(); 2].map(|()| owner.share());
        let mine = Cell::new(Some((owner, shared, other)));
        in_child(|| {
            let (owner, shared, other) = mine.take().expect("taken once");
            drop((owner, shared));
            assert_eq!(count(), 1, "it is shared");
            drop(other);
            assert_eq!(count(), 0, "the value leaks");
            assert_eq!(*by_all.share(), "by all");
            let before = ADDED.sum();
            use_owners(5);
            assert_eq!(ADDED.sum(), before + 5);
        });
        drop(mine.take());
        assert_eq!(count(), 0);
    });
    use_owners(5);
}

/// The killer had marked the count, and not summed it.
#[test]
fn a_child_goes_on_with_a_count_that_a_lost_thread_was_killing() {
    let table = Table::<Stopping>::new_in();
    let count = ThreadRef::new_in(&table);
    // SAFETY: here and below, the count is of the table, each put has a reference, and none is retired.
    unsafe { count.get(&table) };
    let kill = || {
        stop_in_the_next_barrier();
        // SAFETY: see above.
        unsafe { count.kill(&table) }.is_last()
    };
    let child = || {
        // SAFETY: see above.
        unsafe {
            assert!(!count.put(&table).is_last(), "the lost thread has the initial reference");
            assert!(!count.kill(&table).is_last());
            let next = ThreadRef::new_in(&table);
            next.get(&table);
            assert!(!next.kill(&table).is_last());
            assert!(next.put(&table).is_last());
        }
    };
    assert!(!while_another_is_in_a_barrier(kill, || in_child(child)));
    // SAFETY: see above.
    assert!(unsafe { count.put(&table) }.is_last(), "in the parent the killer went on");
}
