//! What all lists promise.

use super::super::memory::{InOrder, Loom, set_number};
use super::super::stage::{ALL, Preemptions, join_all, passes, spawn};
use super::{Pool, end};
use tenure::pool::list::{List, Magazines, Scan, TaggedStack};

/// release ‖ acquire ‖ acquire.
pub(crate) fn one_owner_a_slot<L: List>(magazine: usize) {
    let pool = Pool::<L>::new(magazine, 2);
    pool.give(0);
    let giver = pool.spawn(1, |pool| pool.give(1));
    let visitor = pool.spawn_with_handle(2, Pool::visit);
    pool.visit();
    end(&pool, [giver, visitor]);
}

/// A takes one ‖ B takes both and gives the first one back, which is on top again.
pub(crate) fn taken_and_given_back_under_a_take<L: List>(magazine: usize) {
    let pool = Pool::<L>::free(magazine, 2);
    let keeper = pool.spawn(1, |pool| {
        let (first, second) = (pool.take(), pool.take());
        first.into_iter().for_each(|slot| pool.give(slot));
        second
    });
    let mine = pool.take();
    let kept = keeper.join().unwrap();
    let others = [pool.take(), pool.take()];
    [mine, kept].into_iter().chain(others).flatten().for_each(|slot| pool.give(slot));
    end(&pool, []);
}

/// trim ‖ acquire and release.
fn trimmed_under_a_visit<L: List>(magazine: usize) {
    let pool = Pool::<L>::free(magazine, 1);
    let visitor = pool.spawn_with_handle(1, Pool::visit);
    pool.trim();
    end(&pool, [visitor]);
}

/// trim ‖ trim ‖ release.
fn trimmed_twice_under_a_release<L: List>(magazine: usize) {
    let pool = Pool::<L>::new(magazine, 2);
    pool.give(0);
    let giver = pool.spawn(1, |pool| pool.give(1));
    let trimmer = pool.spawn_with_handle(2, |pool| {
        pool.trim();
    });
    pool.trim();
    end(&pool, [giver, trimmer]);
}

/// close ‖ release: the last slot to come home ends the list, on whatever thread that is.
pub(crate) fn closed_under_a_release<L: List>(magazine: usize) {
    let pool = Pool::<L>::new(magazine, 1);
    let giver = pool.spawn(1, |pool| pool.give(0));
    pool.close();
    giver.join().unwrap();
    assert!(pool.is_freed(), "a slot is lost");
}

/// close ‖ release ‖ release.
fn closed_under_two_releases<L: List>(magazine: usize) {
    let pool = Pool::<L>::new(magazine, 3);
    pool.give(2);
    let givers = [1, 2].map(|thread| pool.spawn(thread, move |pool| pool.give(thread as u32 - 1)));
    pool.close();
    join_all(givers);
    assert!(pool.is_freed(), "a slot is lost");
}

/// close ‖ acquire and release, by a thread with a handle.
fn closed_under_a_visit<L: List>(magazine: usize) {
    let pool = Pool::<L>::free(magazine, 1);
    let visitor = pool.spawn_with_handle(1, Pool::visit);
    pool.close();
    visitor.join().unwrap();
    assert!(pool.is_freed(), "a slot is lost");
}

pub(crate) fn grown_on_two_threads<L: List>(magazine: usize) {
    let pool = Pool::<L>::not_admitted(magazine, 2);
    let grow = |slot| {
        move |pool: &Pool<L>| {
            pool.list().admit(slot);
            pool.give(slot);
        }
    };
    let other = pool.spawn_with_handle(1, grow(0));
    grow(1)(&pool);
    end(&pool, [other]);
}

pub(crate) fn one_each<L: List>(magazine: usize) {
    let pool = Pool::<L>::free(magazine, 2);
    let use_one = |pool: &Pool<L>| {
        let slot = pool.find().expect("there is a slot for each");
        pool.give(slot);
    };
    let other = pool.spawn_with_handle(1, use_one);
    use_one(&pool);
    end(&pool, [other]);
}

/// A thread gives a slot and takes one from another list ‖ a thread finds both lists empty. One of the slots is free at
/// any time, so looking once at each list is not enough.
pub(crate) fn empty_at_one_moment<L: List>(magazine: usize, looks_twice: bool) {
    let pools = [Pool::<L>::new(magazine, 1), Pool::<L>::free(magazine, 1)];
    // Spawned, so that loom tries which stores it sees.
    let looker = {
        let pools = pools.clone();
        spawn(move || {
            set_number(1);
            L::gather(pools.iter().map(Pool::list), || {
                let look = || [0, 1].map(|list: usize| pools[list].list().emptiness());
                let first = look();
                first.iter().all(Option::is_some) && (!looks_twice || look() == first)
            })
        })
    };
    pools[0].give(0);
    let slot = pools[1].find().expect("the slot is free");
    assert!(!looker.join().unwrap(), "{EMPTY_AT_ONCE}");
    pools[1].give(slot);
    pools.iter().for_each(|pool| end(pool, []));
}

pub(crate) const EMPTY_AT_ONCE: &str = "one of two lists always has a slot";

/// Makes each model, with the bound at that place of a list's [`Bounds`], a test for every list.
macro_rules! claims {
    ($claims:tt over $($name:ident: $list:ty, $magazine:expr, $bounds:expr;)*) => {
        $(claims! { $claims in $name: $list, $magazine, $bounds })*
    };
    (($($at:literal $claim:ident: $model:ident;)*) in $name:ident: $list:ty, $magazine:expr, $bounds:expr) => {
        mod $name {
            use super::*;

            $(#[test]
            fn $claim() {
                passes($bounds[$at], || $model::<$list>($magazine));
            })*
        }
    };
}

type Bounds = [Preemptions; 9];

/// Lists of a few words.
const SMALL: Bounds = [Some(3), Some(4), ALL, Some(3), ALL, Some(3), Some(5), Some(4), Some(3)];
/// A depot: two stacks.
const DEPOT: Bounds = [Some(1), Some(2), Some(5), Some(2), ALL, Some(2), Some(5), Some(3), Some(3)];
/// The same on the machine without late stores.
const DEPOT_IN_ORDER: Bounds =
    [Some(2), Some(4), Some(5), Some(2), ALL, Some(2), Some(5), Some(3), Some(3)];
/// A depot and magazines: closing looks at eight of them.
const MAGAZINES: Bounds =
    [Some(1), Some(1), Some(2), Some(0), Some(2), Some(1), Some(2), Some(2), Some(1)];
/// The same on the machine without late stores.
const MAGAZINES_IN_ORDER: Bounds =
    [Some(3), ALL, Some(3), Some(1), Some(3), Some(2), Some(3), Some(4), Some(2)];

claims! {
    (
        0 a_slot_has_one_owner_and_is_not_lost: one_owner_a_slot;
        1 a_slot_that_is_back_under_a_take_has_one_owner: taken_and_given_back_under_a_take;
        2 a_trim_shares_no_slot_with_a_visitor: trimmed_under_a_visit;
        3 two_trims_share_no_slot: trimmed_twice_under_a_release;
        4 a_slot_released_while_the_list_is_closed_comes_home_once_and_ends_it: closed_under_a_release;
        5 the_last_of_two_releases_ends_the_list: closed_under_two_releases;
        6 a_visitor_keeps_its_slot_while_the_list_is_closed: closed_under_a_visit;
        7 two_threads_grow_the_list_at_once: grown_on_two_threads;
        8 two_threads_that_use_one_of_two_slots_each_find_one: one_each;
    ) over
    scan: Scan<Loom>, 0, SMALL;
    scan_as_published: Scan<Loom, false>, 0, SMALL;
    tagged_stack: TaggedStack<Loom>, 0, SMALL;
    scan_in_order: Scan<InOrder>, 0, SMALL;
    tagged_stack_in_order: TaggedStack<InOrder>, 0, SMALL;
    magazines_of_none: Magazines<Loom, 1>, 0, DEPOT;
    magazines_of_one: Magazines<Loom, 1>, 1, MAGAZINES;
    magazines_of_two: Magazines<Loom, 1>, 2, MAGAZINES;
    magazines_of_none_in_order: Magazines<InOrder, 1>, 0, DEPOT_IN_ORDER;
    magazines_of_one_in_order: Magazines<InOrder, 1>, 1, MAGAZINES_IN_ORDER;
    magazines_of_two_in_order: Magazines<InOrder, 1>, 2, MAGAZINES_IN_ORDER;
}

tests! {
    lists_that_are_empty_twice_were_so_at_once =>
        passes(ALL, || empty_at_one_moment::<TaggedStack<Loom>>(0, true)),
        passes(ALL, || empty_at_one_moment::<TaggedStack<InOrder>>(0, true)),
        passes(Some(2), || empty_at_one_moment::<Magazines<Loom, 1>>(0, true)),
        passes(Some(1), || empty_at_one_moment::<Magazines<Loom, 1>>(1, true)),
        passes(Some(1), || empty_at_one_moment::<Magazines<InOrder, 1>>(1, true));
}
