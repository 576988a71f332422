//! What all lists promise.

use super::super::memory::{InOrder, Loom, seat};
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

/// The first slots are admitted, and released, on two threads at once.
fn grown_on_two_threads<L: List>(magazine: usize) {
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

/// Two slots, and two threads that use one each.
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

/// A thread gives a slot and takes one from another list ‖ a thread finds both lists empty. One of the slots is free
/// at any time. Looking once at each list is not enough.
pub(crate) fn empty_at_one_moment<L: List>(magazine: usize, looks_twice: bool) {
    let pools = [Pool::<L>::new(magazine, 1), Pool::<L>::free(magazine, 1)];
    // The one who looks is spawned, so that loom tries which stores it sees.
    let looker = {
        let pools = pools.clone();
        spawn(move || {
            seat(1);
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

/// How much of each claim is explored for a list.
struct Bounds {
    owners: Preemptions,
    given_back: Preemptions,
    trims: Preemptions,
    two_trims: Preemptions,
    release: Preemptions,
    releases: Preemptions,
    visit: Preemptions,
    grown: Preemptions,
    one_each: Preemptions,
}

macro_rules! claims {
    ($($room:ident: $list:ty, $magazine:expr, $bounds:expr;)*) => {$(
        mod $room {
            use super::*;
            const BOUNDS: Bounds = $bounds;

            #[test]
            fn a_slot_has_one_owner_and_is_not_lost() {
                passes(BOUNDS.owners, || one_owner_a_slot::<$list>($magazine));
            }
            #[test]
            fn a_slot_that_is_back_under_a_take_has_one_owner() {
                passes(BOUNDS.given_back, || taken_and_given_back_under_a_take::<$list>($magazine));
            }
            #[test]
            fn a_trim_shares_no_slot_with_a_visitor() {
                passes(BOUNDS.trims, || trimmed_under_a_visit::<$list>($magazine));
            }
            #[test]
            fn two_trims_share_no_slot() {
                passes(BOUNDS.two_trims, || trimmed_twice_under_a_release::<$list>($magazine));
            }
            #[test]
            fn a_slot_released_while_the_list_is_closed_comes_home_once_and_ends_it() {
                passes(BOUNDS.release, || closed_under_a_release::<$list>($magazine));
            }
            #[test]
            fn the_last_of_two_releases_ends_the_list() {
                passes(BOUNDS.releases, || closed_under_two_releases::<$list>($magazine));
            }
            #[test]
            fn a_visitor_keeps_its_slot_while_the_list_is_closed() {
                passes(BOUNDS.visit, || closed_under_a_visit::<$list>($magazine));
            }
            #[test]
            fn two_threads_grow_the_list_at_once() {
                passes(BOUNDS.grown, || grown_on_two_threads::<$list>($magazine));
            }
            #[test]
            fn two_threads_that_use_one_of_two_slots_each_find_one() {
                passes(BOUNDS.one_each, || one_each::<$list>($magazine));
            }
        }
    )*};
}

/// Lists of a few words.
const SMALL: Bounds = Bounds {
    owners: Some(3),
    given_back: Some(4),
    trims: ALL,
    two_trims: Some(3),
    release: ALL,
    releases: Some(3),
    visit: ALL,
    grown: Some(4),
    one_each: Some(3),
};

/// A depot: two stacks.
const DEPOT: Bounds = Bounds {
    owners: Some(1),
    given_back: Some(2),
    trims: Some(5),
    two_trims: Some(2),
    release: ALL,
    releases: Some(2),
    visit: Some(5),
    grown: Some(3),
    one_each: Some(3),
};

/// A depot and magazines: closing looks at eight of them.
const MAGAZINES: Bounds = Bounds {
    owners: Some(1),
    given_back: Some(1),
    trims: Some(2),
    two_trims: Some(0),
    release: Some(2),
    releases: Some(1),
    visit: Some(2),
    grown: Some(2),
    one_each: Some(1),
};

/// A depot on the machine without late stores.
const DEPOT_IN_ORDER: Bounds = Bounds { owners: Some(2), given_back: Some(4), ..DEPOT };

/// The same with magazines.
const MAGAZINES_IN_ORDER: Bounds = Bounds {
    owners: Some(3),
    given_back: ALL,
    trims: Some(3),
    two_trims: Some(1),
    release: Some(3),
    releases: Some(2),
    visit: Some(3),
    grown: Some(4),
    one_each: Some(2),
};

claims! {
    scan: Scan<Loom>, 0, SMALL;
    scan_as_published: Scan<Loom, false>, 0, SMALL;
    tagged_stack: TaggedStack<Loom>, 0, SMALL;
    scan_in_order: Scan<InOrder>, 0, SMALL;
    tagged_stack_in_order: TaggedStack<InOrder>, 0, SMALL;
    magazines_without_hoards: Magazines<Loom, 1>, 0, DEPOT;
    magazines_of_one: Magazines<Loom, 1>, 1, MAGAZINES;
    magazines_of_two: Magazines<Loom, 1>, 2, MAGAZINES;
    magazines_without_hoards_in_order: Magazines<InOrder, 1>, 0, DEPOT_IN_ORDER;
    magazines_of_one_in_order: Magazines<InOrder, 1>, 1, MAGAZINES_IN_ORDER;
    magazines_of_two_in_order: Magazines<InOrder, 1>, 2, MAGAZINES_IN_ORDER;
}

#[test]
fn lists_that_are_empty_twice_were_so_at_once() {
    passes(ALL, || empty_at_one_moment::<TaggedStack<Loom>>(0, true));
    passes(ALL, || empty_at_one_moment::<TaggedStack<InOrder>>(0, true));
    passes(Some(2), || empty_at_one_moment::<Magazines<Loom, 1>>(0, true));
    passes(Some(1), || empty_at_one_moment::<Magazines<Loom, 1>>(1, true));
    passes(Some(1), || empty_at_one_moment::<Magazines<InOrder, 1>>(1, true));
}
