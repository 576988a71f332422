//! A thread that waits for a preempted one lets that run: it spins a little, then yields.

use crate::staged::{Staged, interrupted, interrupted_next, yields};
use std::cell::Cell;
use std::rc::Rc;
use tenure::arc::Counts;

/// Counts of an `Arc` and a `Weak`, and how often an operation waited.
fn with_a_weak() -> (Rc<Counts<Staged>>, Rc<Cell<u32>>) {
    let counts = Counts::new_in();
    counts.downgrade();
    (Rc::new(counts), Rc::default())
}

#[test]
fn try_take_lets_a_drop_run_that_its_upgrade_overtook() {
    let mut waited = 0;
    for at in 1.. {
        let (counts, waits) = with_a_weak();
        let (same, told) = (Rc::clone(&counts), Rc::clone(&waits));
        let take = move || {
            if same.upgrade().is_acquired() {
                told.set(u32::from(yields(|| assert!(!same.try_take()))));
            }
        };
        let reached = interrupted(at, || _ = counts.drop_strong(), take);
        if !reached {
            break;
        }
        waited += waits.get();
        assert!(counts.is_dead() || counts.try_take(), "the drop is over, at {at}");
    }
    assert_eq!(waited, 1, "between its subtraction and its verdict");
}

/// The `Weak` becomes a second `Arc`, and goes, after `get_mut` has seen one `Arc`.
#[test]
fn a_downgrade_lets_a_get_mut_run_that_holds_the_lock() {
    let mut waited = 0;
    for (first, second) in (1..10).flat_map(|first| (1..10).map(move |second| (first, second))) {
        let (counts, waits) = with_a_weak();
        let (same, other, told) = (Rc::clone(&counts), Rc::clone(&counts), Rc::clone(&waits));
        let upgrade = move || {
            assert!(same.upgrade().is_acquired() && !same.drop_weak());
            interrupted_next(second, move || told.set(u32::from(yields(|| other.downgrade()))));
        };
        if interrupted(first, || _ = counts.is_unique(), upgrade) {
            waited += waits.get();
            assert_eq!((counts.strong_count(), counts.weak_count()), (2, 1));
        }
    }
    assert!(waited > 0, "it holds the lock");
}
