//! A process that forked while other threads were in the middle of clones, drops and kills goes on with its owners.
//!
//! The child has one thread. References of the others are lost with them: their values leak, and no thread waits.
#![cfg(all(unix, feature = "std", not(miri)))]

#[path = "support/forks.rs"]
mod forks;
#[path = "support/stopping.rs"]
mod stopping;

use forks::{AtEnd, expect_well, in_child};
use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use stopping::{Stopping, let_it_go_on, stop_in_the_next_barrier, wait_until_it_stops};
use tenure::cells::{Table, ThreadRef};
use tenure::counter::Counter;
use tenure::memory::{Memory, Native, Ordering};
use tenure::owner::{Owner, Shared};

type Flag = <Native as Memory>::AtomicU32;

const FORKS: usize = 60;

/// One test at a time has busy or stopped threads.
static ONE: Mutex<()> = Mutex::new(());
static ADDED: Counter = Counter::new();

fn use_owners(turns: usize) {
    for _ in 0..turns {
        let (token, count) = token();
        let owner = Owner::new(token);
        let shared = owner.share();
        let other = shared.clone();
        let elsewhere = thread::spawn(move || drop(other.clone()));
        drop(owner);
        elsewhere.join().unwrap();
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
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_over = Flag::new(0);
    let by_all = Owner::new(String::from("by all"));
    thread::scope(|scope| {
        for _ in 0..2 {
            let shared = by_all.share();
            let is_over = &is_over;
            scope.spawn(move || {
                while is_over.load(Ordering::Relaxed) == 0 {
                    assert_eq!(*Shared::clone(&shared), "by all");
                    let owner = Owner::new(0);
                    let own = owner.share();
                    drop(owner);
                    drop(own);
                    ADDED.add(1);
                }
            });
        }
        let _at_end = AtEnd(|| is_over.store(1, Ordering::Relaxed));
        for turn in 0..FORKS {
            let (token, count) = token();
            let owner = Owner::new(token);
            let [shared, other] = [(); 2].map(|()| owner.share());
            let mine = Cell::new(Some((owner, shared, other)));
            let status = in_child(|| {
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
            expect_well(turn, status);
        }
    });
    use_owners(5);
}

/// The killer had marked the count, and not summed it.
#[test]
fn a_child_goes_on_with_a_count_that_a_lost_thread_was_killing() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let table = Table::<Stopping>::new_in();
    let count = ThreadRef::new_in(&table);
    // SAFETY: here and below, the count is of the table, each put has a reference, and none is retired.
    unsafe { count.get(&table) };
    let status = thread::scope(|scope| {
        let killer = scope.spawn(|| {
            stop_in_the_next_barrier();
            // SAFETY: see above.
            unsafe { count.kill(&table) }.is_last()
        });
        wait_until_it_stops();
        let status = in_child(|| {
            // SAFETY: see above.
            unsafe {
                assert!(!count.put(&table).is_last(), "the lost thread has the initial reference");
                assert!(!count.kill(&table).is_last());
                let next = ThreadRef::new_in(&table);
                next.get(&table);
                assert!(!next.kill(&table).is_last());
                assert!(next.put(&table).is_last());
            }
        });
        let_it_go_on();
        assert!(!killer.join().unwrap());
        status
    });
    expect_well(0, status);
    // SAFETY: see above.
    assert!(unsafe { count.put(&table) }.is_last(), "in the parent the killer went on");
}
