//! Every free list keeps the promises of `List`.

use crate::owned::Owner;
use std::collections::HashSet;
use std::iter::once;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tenure::pool::list::List;

fn list<L: List>() -> Arc<Owner<L>> {
    Owner::new(64)
}

fn none_left(slot: u32) {
    panic!("slot {slot} was handed out before");
}

fn a_slot_that_is_admitted_after_closing_is_refused<L: List>() {
    let list = list::<L>();
    list.admit_idle(1);
    list.close(|slot| assert_eq!(slot, 0));
    list.admit(1);
    assert!(list.try_give(1).is_err());
    assert_eq!(list.acquire(), None);
    list.close(none_left);
}

fn a_slot_is_refused_whenever_it_is_released_again<L: List>() {
    let list = list::<L>();
    list.admit_idle(2);
    let mine = list.acquire().unwrap();
    let mut home = vec![mine];
    list.close(|slot| home.push(slot));
    assert_eq!(home.len(), 2);
    for slot in home {
        for time in 1..=3 {
            assert!(list.try_give(slot).is_err(), "time {time}");
            assert_eq!(list.acquire(), None);
        }
    }
    list.close(none_left);
}

fn a_list_that_is_gathered_may_be_used<L: List>() {
    let list = list::<L>();
    list.admit_idle(3);
    let mut next = 3;
    list.reclaim(|_| {
        if next < 10 {
            list.admit(next);
            list.give(next);
            let other = list.acquire().expect("one was released");
            list.give(other);
            next += 1;
        }
    });
    assert_eq!(next, 10, "the list has a slot as often as one was released");
}

fn a_look_that_panics_leaves_a_list_that_can_be_used<L: List>() {
    let list = list::<L>();
    list.admit_idle(1);
    let trim = || list.reclaim(|_| panic!("on purpose"));
    assert!(catch_unwind(AssertUnwindSafe(trim)).is_err());
    list.admit(1);
    list.give(1);
    assert_eq!(list.acquire_all(), HashSet::from([1]));
    list.reclaim(|slot| panic!("slot {slot} is in use"));
    list.close(none_left);
}

fn emptiness_says_whether_a_slot_is_free<L: List>() {
    let list = list::<L>();
    let emptiness = || L::gather(once(&**list), || list.emptiness());
    assert!(emptiness().is_some());
    list.admit_idle(2);
    assert_eq!(emptiness(), None);
    let mine = list.acquire().unwrap();
    assert_eq!(emptiness(), None);
    assert!(list.acquire().is_some());
    assert!(emptiness().is_some());
    list.give(mine);
    assert_eq!(emptiness(), None);
}

fn lists_that_are_gathered_together_are_empty_at_one_moment<L: List>() {
    let lists = [list::<L>(), list::<L>()];
    lists[1].admit_idle(40);
    let both = lists.iter().map(|list| &***list);
    let found =
        L::gather(both, || lists.iter().map(|list| list.acquire_all().len()).sum::<usize>());
    assert_eq!(found, 40);
}

claims! {
    a_slot_that_is_admitted_after_closing_is_refused,
    a_slot_is_refused_whenever_it_is_released_again,
    a_list_that_is_gathered_may_be_used,
    a_look_that_panics_leaves_a_list_that_can_be_used,
    emptiness_says_whether_a_slot_is_free,
    lists_that_are_gathered_together_are_empty_at_one_moment,
}
