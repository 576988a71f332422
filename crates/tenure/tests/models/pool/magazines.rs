//! What [`Magazines`] promises beyond a list: other threads take magazines back, from threads that come and go.

use super::super::clocks::judge;
use super::super::memory::{Loom, clear_number, set_number};
use super::super::stage::{Heap, passes, slow, spawn};
use super::{Pool, end};
use tenure::memory::{Atomic, Memory, Ordering};
use tenure::pool::list::{List, Magazines};

type Small<const S: bool> = Magazines<Loom<S>, 1>;

/// A pool with that many slots, of which the first `kept` are in thread 1's magazine.
fn kept<const S: bool>(magazine: usize, slots: u32, kept: u32) -> Pool<Small<S>> {
    judge::<Loom<S>>();
    let pool = Pool::new(magazine, slots);
    set_number(1);
    (0..kept).for_each(|slot| pool.give(slot));
    set_number(0);
    pool
}

/// A pool whose only slot is in the magazine of a sleeping thread.
fn asleep<const S: bool>() -> Pool<Small<S>> {
    kept(1, 1, 1)
}

fn end_of_thread_1<const S: bool>(pool: &Pool<Small<S>>) {
    // SAFETY: called by the thread of that number, at its end.
    unsafe { pool.list().leave(1) };
}

pub(super) fn an_owner_and_a_trim_share_no_slot<const S: bool>() {
    let pool = asleep::<S>();
    let owner = pool.spawn_with_handle(1, |pool| {
        pool.visit();
        pool.visit();
    });
    pool.trim();
    end(&pool, [owner]);
}

fn an_owner_and_two_trims_share_no_slot<const S: bool>() {
    let pool = asleep::<S>();
    let owner = pool.spawn_with_handle(1, Pool::visit);
    let trimmer = pool.spawn_with_handle(2, |pool| {
        pool.trim();
    });
    pool.trim();
    end(&pool, [owner, trimmer]);
}

/// By threads without a number, which have no magazines of their own to pass anything on: only the lock orders them.
pub(super) fn two_trims_of_a_magazine_share_no_slot<const S: bool>() {
    let pool = asleep::<S>();
    clear_number();
    let trimmer = pool.spawn_with_handle(2, |pool| {
        clear_number();
        pool.trim();
    });
    pool.trim();
    end(&pool, [trimmer]);
}

pub(super) fn an_owner_that_holds_a_slot_uses_its_magazine_between_two_trims<const S: bool>() {
    let pool = kept::<S>(2, 2, 1);
    let owner = pool.spawn(1, |pool| pool.give(1));
    pool.trim();
    pool.trim();
    end(&pool, [owner]);
}

fn an_owner_that_releases_into_its_magazine_while_the_list_is_closed_touches_nothing_after<
    const S: bool,
>() {
    let pool = kept::<S>(2, 2, 1);
    let owner = pool.spawn(1, |pool| pool.give(1));
    pool.close();
    owner.join().unwrap();
    assert!(pool.is_freed(), "a slot is lost");
}

fn an_owner_that_acquires_while_the_list_is_closed_has_the_slot_or_it_is_home<const S: bool>() {
    let pool = asleep::<S>();
    let owner = pool.spawn_with_handle(1, Pool::visit);
    pool.close();
    owner.join().unwrap();
    assert!(pool.is_freed(), "a slot is lost");
}

fn a_trim_under_a_close_loses_nothing<const S: bool>() {
    let pool = asleep::<S>();
    let trimmer = pool.spawn_with_handle(2, |pool| {
        pool.trim();
    });
    pool.close();
    trimmer.join().unwrap();
    assert!(pool.is_freed(), "a slot is lost");
}

fn a_release_by_a_thread_without_a_number_touches_nothing_after<const S: bool>() {
    let pool = kept::<S>(1, 2, 1);
    let nameless = {
        let pool = pool.clone();
        spawn(move || pool.give(1))
    };
    pool.close();
    nameless.join().unwrap();
    assert!(pool.is_freed(), "a slot is lost");
}

fn a_full_magazine_gives_to_the_depot_while_an_empty_one_takes_from_it<const S: bool>() {
    let pool = kept::<S>(1, 2, 1);
    let full = pool.spawn(1, |pool| pool.give(1));
    pool.visit();
    end(&pool, [full]);
}

fn two_full_magazines_give_to_the_depot<const S: bool>() {
    let pool = kept::<S>(1, 4, 1);
    set_number(2);
    pool.give(1);
    set_number(0);
    let first = pool.spawn(1, |pool| pool.give(2));
    let second = pool.spawn(2, |pool| pool.give(3));
    end(&pool, [first, second]);
}

fn a_full_magazine_that_gives_while_the_list_is_closed_touches_nothing_after<const S: bool>() {
    let pool = kept::<S>(1, 2, 1);
    let full = pool.spawn(1, |pool| pool.give(1));
    pool.close();
    full.join().unwrap();
    assert!(pool.is_freed(), "a slot is lost");
}

fn a_thread_ends_while_its_magazine_is_trimmed<const S: bool>() {
    let pool = asleep::<S>();
    let ending = pool.spawn_with_handle(1, end_of_thread_1);
    pool.trim();
    end(&pool, [ending]);
}

fn a_thread_releases_and_ends_under_a_trim<const S: bool>() {
    let pool = kept::<S>(1, 2, 1);
    let ending = pool.spawn_with_handle(1, |pool| {
        pool.give(1);
        end_of_thread_1(pool);
    });
    pool.trim();
    end(&pool, [ending]);
}

fn a_thread_ends_while_the_list_is_closed<const S: bool>() {
    let pool = asleep::<S>();
    let ending = pool.spawn_with_handle(1, end_of_thread_1);
    pool.close();
    ending.join().unwrap();
    assert!(pool.is_freed(), "a slot is lost");
}

fn a_thread_ends_while_another_looks_for_a_slot<const S: bool>() {
    let pool = asleep::<S>();
    let ending = pool.spawn_with_handle(1, end_of_thread_1);
    pool.visit();
    end(&pool, [ending]);
}

fn what_a_thread_that_has_ended_kept_is_for_all<const S: bool>() {
    let pool = asleep::<S>();
    pool.spawn_with_handle(1, end_of_thread_1).join().unwrap();
    let slot = pool.take().expect("the slot is in the depot");
    pool.give(slot);
    end(&pool, []);
}

/// The next thread of a number has seen what the last one did, as `Threads::thread` promises.
fn number_1_changes_hands_under<const S: bool>(other: fn(&Pool<Small<S>>)) {
    let pool = asleep::<S>();
    let claimed = Heap::<<Loom<S> as Memory>::AtomicU32>::new(Atomic::new(1));
    let last = {
        let claimed = claimed.clone();
        pool.spawn_with_handle(1, move |pool| {
            end_of_thread_1(pool);
            // Release: pairs with the Acquire below.
            claimed.store(0, Ordering::Release);
        })
    };
    let next = pool.spawn_with_handle(2, move |pool| {
        // Acquire: pairs with the Release above.
        if claimed.load(Ordering::Acquire) == 0 {
            set_number(1);
        }
        pool.visit();
        pool.visit();
    });
    other(&pool);
    end(&pool, [last, next]);
}

fn a_number_changes_hands_under_a_trim<const S: bool>() {
    number_1_changes_hands_under::<S>(|pool| {
        pool.trim();
    });
}

fn a_number_changes_hands_under_a_visit<const S: bool>() {
    number_1_changes_hands_under::<S>(Pool::visit);
}

on_both_machines! {
    an_owner_and_a_trim_share_no_slot: slow(Some(3)), slow(Some(3));
    an_owner_and_two_trims_share_no_slot: Some(0), slow(Some(2));
    two_trims_of_a_magazine_share_no_slot: Some(2), Some(3);
    an_owner_that_holds_a_slot_uses_its_magazine_between_two_trims: Some(2), slow(Some(3));
    an_owner_that_releases_into_its_magazine_while_the_list_is_closed_touches_nothing_after: Some(3), Some(3);
    an_owner_that_acquires_while_the_list_is_closed_has_the_slot_or_it_is_home: Some(3), Some(3);
    a_trim_under_a_close_loses_nothing: slow(Some(2)), slow(Some(2));
    a_release_by_a_thread_without_a_number_touches_nothing_after: Some(3), Some(3);
    a_full_magazine_gives_to_the_depot_while_an_empty_one_takes_from_it: Some(2), Some(3);
    two_full_magazines_give_to_the_depot: Some(1), Some(2);
    a_full_magazine_that_gives_while_the_list_is_closed_touches_nothing_after: Some(3), Some(3);
    a_thread_ends_while_its_magazine_is_trimmed: Some(4), Some(3);
    a_thread_releases_and_ends_under_a_trim: Some(2), slow(Some(3));
    a_thread_ends_while_the_list_is_closed: Some(3), Some(3);
    a_thread_ends_while_another_looks_for_a_slot: Some(3), Some(3);
    what_a_thread_that_has_ended_kept_is_for_all: Some(3), Some(3);
    a_number_changes_hands_under_a_trim: Some(1), slow(Some(2));
    a_number_changes_hands_under_a_visit: Some(1), Some(2);
}
