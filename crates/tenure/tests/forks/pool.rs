//! Free lists and pools, which other threads were in the middle of.

use crate::at_end::at_end;
use crate::children::{forked_under_use, in_child, while_another_waits};
use crate::owned::Owner;
use crate::stopping::{Stopping, stop_in_the_next_barrier, while_another_is_in_a_barrier};
use crate::waits::Waits;
use std::thread;
use std::time::Duration;
use tenure::memory::{Native, Threads};
use tenure::pool::AcquireError;
use tenure::pool::generic::BufferPool;
use tenure::pool::list::{self, List};

const SLOTS: usize = 64;

/// Uses the list in every way. At most `SLOTS` can be acquired, each once.
fn use_all_of<L: List>(list: &Owner<L>) {
    let mut mine = [false; SLOTS + 1];
    let mut found = |slot: u32| {
        let is_mine = &mut mine[slot as usize];
        assert!(!*is_mine, "a slot has two owners");
        *is_mine = true;
    };
    (0..8).filter_map(|_| list.acquire()).for_each(&mut found);
    list.reclaim(&mut found);
    // One that the other threads never had.
    list.admit(SLOTS as u32);
    found(SLOTS as u32);
    (0..=SLOTS).filter(|&slot| mine[slot]).for_each(|slot| list.give(slot as u32));
    let kept = list.acquire().expect("slots were released");
    let mut home = [false; SLOTS + 1];
    list.close(|slot| {
        assert!(mine[slot as usize], "a slot comes home that no thread released");
        assert!(!home[slot as usize], "a slot comes home twice");
        home[slot as usize] = true;
    });
    assert_eq!(list.acquire(), None);
    assert!(list.try_give(kept).is_err(), "a closed list keeps nothing");
    assert!(!home[kept as usize], "a slot comes home that is in use");
    home[kept as usize] = true;
    assert_eq!(home, mine, "what was released comes home");
}

fn a_child_uses_what_other_threads_were_in<L: List>() {
    let list = Owner::<L>::new(8);
    list.admit_idle(SLOTS as u32);
    let work = |thread: usize, goes_on: &dyn Fn() -> bool| {
        let mut turn = thread;
        while goes_on() {
            turn += 1;
            let some = [(); 10].map(|()| list.acquire());
            some.into_iter().flatten().for_each(|slot| list.give(slot));
            if turn % 16 == 0 {
                let mut taken = Vec::new();
                list.reclaim(|slot| taken.push(slot));
                taken.into_iter().for_each(|slot| list.give(slot));
            }
            if turn % 64 == 0 {
                let list = list.clone();
                let visit = move || list.acquire().into_iter().for_each(|slot| list.give(slot));
                thread::spawn(visit).join().unwrap();
            }
        }
    };
    forked_under_use(3, 200, work, || in_child(|| use_all_of(&list)));
}

tests! {
    a_child_uses_magazines_that_other_threads_were_in =>
        a_child_uses_what_other_threads_were_in::<list::Magazines>();
    a_child_uses_magazines_of_one_that_other_threads_were_in =>
        a_child_uses_what_other_threads_were_in::<list::Magazines<Native, 1>>();
    a_child_uses_a_stack_that_other_threads_were_in =>
        a_child_uses_what_other_threads_were_in::<list::TaggedStack>();
}

#[test]
fn what_a_lost_thread_kept_is_reclaimed_by_the_child() {
    let list = Owner::<list::Magazines>::new(8);
    let keep = |waits: &(dyn Fn() + Sync)| {
        list.admit_idle(1);
        waits();
    };
    let reclaim = || {
        assert_eq!(list.acquire(), None, "the slot is in the other thread's magazine");
        let mut found = Vec::new();
        list.reclaim(|slot| found.push(slot));
        assert_eq!(found, [0]);
    };
    while_another_waits(keep, || in_child(reclaim));
}

type Buffers = BufferPool<list::Magazines<Stopping>>;

const SIZE: usize = 4096;

/// A pool full of idle buffers of two sizes, some in this thread's magazine.
fn idle_buffers() -> Buffers {
    let pool = BufferPool::builder().classes(SIZE / 2, 2).limit(4 * SIZE as u64).list().build();
    let pool: Buffers = pool.unwrap();
    drop([SIZE, SIZE, SIZE, SIZE / 2, SIZE / 2].map(|size| pool.acquire(size).unwrap()));
    pool
}

/// Runs `test` in a child while another thread, which has a number or has given it up, has stopped in the first heavy
/// barrier of `act`.
fn in_the_middle_of(
    pool: &Buffers,
    act: fn(&Buffers),
    has_a_number: bool,
    test: impl FnOnce(&Buffers),
) {
    let other = pool.clone();
    let act = move || {
        assert_eq!(Native::thread().is_some(), has_a_number);
        stop_in_the_next_barrier();
        act(&other);
    };
    let other = move || {
        if has_a_number {
            act();
        } else {
            // Destroyed after the number, which is asked for later, is given up.
            at_end(act);
            assert!(Native::thread().is_some());
        }
    };
    while_another_is_in_a_barrier(other, || in_child(|| test(pool)));
}

#[test]
fn a_pool_that_a_lost_thread_was_closing_is_closed_again() {
    for has_a_number in [true, false] {
        let pool = idle_buffers();
        in_the_middle_of(&pool, BufferPool::close, has_a_number, |pool| {
            assert!(pool.is_closed() && pool.stats().idle > 0, "in the middle");
            pool.close();
            assert_eq!(pool.stats().bytes, 0, "what was idle is freed");
            for size in [SIZE, SIZE / 2] {
                assert_eq!(pool.acquire(size).unwrap_err(), AcquireError::Closed);
            }
        });
        assert_eq!(pool.stats().bytes, 0, "in the parent no thread is lost");
    }
}

#[test]
fn a_child_uses_and_closes_a_pool_that_a_lost_thread_was_trimming() {
    let trim = |pool: &Buffers| assert_eq!(pool.trim(), 4 * SIZE as u64);
    for has_a_number in [true, false] {
        let pool = idle_buffers();
        in_the_middle_of(&pool, trim, has_a_number, |pool| {
            let all = [(); 4].map(|()| pool.acquire(SIZE).expect("it is idle, or there is room"));
            let refused = pool.acquire(SIZE / 2).unwrap_err();
            assert!(matches!(refused, AcquireError::LimitReached { .. }), "{refused}");
            drop(all);
            assert_eq!(pool.trim(), 4 * SIZE as u64);
            drop(pool.acquire(SIZE).unwrap());
            pool.close();
            assert_eq!(pool.stats().bytes, 0);
        });
        assert_eq!(pool.stats().bytes, 0, "in the parent no thread is lost");
    }
}

#[test]
fn a_child_uses_a_pool_in_which_a_lost_thread_began_to_wait() {
    let wait = |pool: &Buffers| drop(pool.acquire_timeout(SIZE, Duration::ZERO).unwrap());
    for has_a_number in [true, false] {
        let pool = idle_buffers();
        in_the_middle_of(&pool, wait, has_a_number, |pool| {
            // The other thread was closing the list of the small ones.
            let small = SIZE / 2;
            let in_turn = |size| pool.acquire_timeout(size, Duration::MAX);
            let first = if has_a_number { in_turn(small) } else { pool.acquire(small) };
            drop(first.expect("it is idle, or there is room"));
            let all = [(); 4].map(|()| pool.acquire(SIZE).expect("it is idle, or there is room"));
            assert!(pool.acquire_timeout(SIZE, Duration::ZERO).is_err());
            drop(all);
            drop([(); 4].map(|()| in_turn(SIZE).unwrap()));
            assert_eq!(pool.trim(), 4 * SIZE as u64);
        });
        assert_eq!(pool.trim(), 4 * SIZE as u64, "in the parent no thread is lost");
    }
}

#[test]
fn a_child_waits_for_no_turn_that_was_taken_in_the_parent() {
    let pool = BufferPool::builder().classes(SIZE, 1).limit(SIZE as u64).build().unwrap();
    let mut only = Some(pool.acquire(SIZE).unwrap());
    let other = pool.clone();
    let mut waits = Waits::queued(async move { other.acquire_async(SIZE).await.map(drop) });
    in_child(|| {
        drop(only.take());
        drop(pool.acquire(SIZE).expect("it is idle"));
        let again = pool.acquire_timeout(SIZE, Duration::MAX).unwrap();
        // Polled again, it has a turn here.
        assert_eq!(waits.poll(), None);
        drop(again);
        assert!(waits.is_woken() && waits.poll() == Some(Ok(())));
    });
    drop(only);
    assert_eq!(waits.result(), Ok(()));
}

#[test]
fn a_child_has_the_room_that_a_turn_of_the_parent_waits_behind() {
    let pool = BufferPool::builder().classes(SIZE, 2).limit(2 * SIZE as u64).build().unwrap();
    let one = pool.acquire(SIZE).unwrap();
    let other = pool.clone();
    let large = Waits::queued(async move { other.acquire_async(2 * SIZE).await.map(drop) });
    assert!(pool.acquire(SIZE).is_err(), "another acquire comes before the first in the queue");
    in_child(|| {
        drop(pool.acquire(SIZE).expect("there is room, and no acquire waits here"));
    });
    drop(one);
    assert_eq!(large.result(), Ok(()));
}

#[test]
fn a_child_loses_one_of_the_slots_that_a_lost_thread_was_closing() {
    fn of<L: List>() {
        let list = Owner::<L>::new(0);
        list.admit_idle(SLOTS as u32);
        let close = |waits: &(dyn Fn() + Sync)| {
            let mut first = true;
            list.close(|_| {
                if std::mem::take(&mut first) {
                    waits();
                }
            });
        };
        let close_again = || {
            let mut home = 0;
            list.close(|_| home += 1);
            assert_eq!(home, SLOTS - 1);
        };
        while_another_waits(close, || in_child(close_again));
    }
    of::<list::TaggedStack>();
    of::<list::Magazines>();
}
