//! A process that forked while other threads were in the middle of a list goes on using it.
//!
//! The other threads are lost to the child, with what they had in hand. It must neither wait for them nor give a slot
//! to two owners. Its exit status says how it went; an alarm ends one that hangs.
#![cfg(all(unix, feature = "std", not(miri)))]

#[path = "support/at_end.rs"]
mod at_end;
#[path = "support/forks.rs"]
mod forks;
#[path = "support/lists.rs"]
mod owned;
#[path = "support/stopping.rs"]
mod stopping;
#[path = "support/waits.rs"]
mod waits;

use at_end::at_end;
use forks::{AtEnd, expect_well, in_child};
use owned::Owner;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;
use stopping::{Stopping, let_it_go_on, stop_in_the_next_barrier, wait_until_it_stops};
use tenure::memory::{Memory, Native, Ordering, Threads};
use tenure::pool::list::{self, List};
use tenure::pool::{AcquireError, BufferPool, Magazines, TaggedStack};
use waits::Waits;

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

fn forked_under_use<L: List>() {
    type Flag = <Native as Memory>::AtomicU32;
    let list = Owner::<L>::new(8);
    list.admit_idle(SLOTS as u32);
    let stop = Flag::new(0);
    let hammer = |thread: usize| {
        let mut turn = thread;
        // Relaxed: only a flag.
        while stop.load(Ordering::Relaxed) == 0 {
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
    thread::scope(|scope| {
        (0..3).for_each(|thread| drop(scope.spawn(move || hammer(thread))));
        // Stops the others when a child failed too.
        let _stop = AtEnd(|| stop.store(1, Ordering::Relaxed));
        for turn in 0..200 {
            expect_well(turn, in_child(|| use_all_of(&list)));
        }
    });
}

#[test]
fn a_child_uses_magazines_that_other_threads_were_in() {
    forked_under_use::<Magazines>();
}

#[test]
fn a_child_uses_magazines_of_one_that_other_threads_were_in() {
    forked_under_use::<list::Magazines<Native, 1>>();
}

#[test]
fn a_child_uses_a_stack_that_other_threads_were_in() {
    forked_under_use::<TaggedStack>();
}

/// Runs `test` with the number of a thread that waits meanwhile.
fn beside_another_thread<R>(test: impl FnOnce(usize) -> R) -> R {
    let (begin, end) = (Barrier::new(2), Barrier::new(2));
    let number = Mutex::new(None);
    thread::scope(|scope| {
        scope.spawn(|| {
            *number.lock().unwrap() = Native::thread();
            begin.wait();
            end.wait();
        });
        begin.wait();
        let _end = AtEnd(|| {
            end.wait();
        });
        let other = number.lock().unwrap().expect("the thread is alive");
        test(other)
    })
}

#[test]
fn a_fork_loses_the_other_threads_and_not_the_one_that_forked() {
    let mine = Native::thread().unwrap();
    let status = beside_another_thread(|other| {
        let lost = || Native::is_lost(other) && !Native::is_lost(mine);
        assert!(!Native::is_lost(other) && !Native::is_lost(mine), "no thread has forked");
        let status = in_child(|| {
            assert_eq!(Native::thread(), Some(mine));
            assert!(lost(), "in the child");
            let status = in_child(|| assert!(lost(), "in the child's child"));
            assert_eq!(status, 0, "the child's child failed");
            assert!(lost(), "after another fork");
        });
        assert!(!Native::is_lost(other) && !Native::is_lost(mine), "the parent has lost no thread");
        status
    });
    assert_eq!(status, 0, "the child failed");
}

#[test]
fn a_thread_without_a_number_has_one_in_the_child() {
    let status = beside_another_thread(|other| {
        // This thread has no number yet.
        in_child(|| {
            let mine = Native::thread().expect("the thread is alive");
            assert_ne!(mine, other);
            assert!(Native::is_lost(other) && !Native::is_lost(mine));
        })
    });
    assert_eq!(status, 0, "the child failed");
}

#[test]
fn threads_of_the_child_do_not_get_the_numbers_of_lost_ones() {
    let mine = Native::thread().unwrap();
    let status = beside_another_thread(|other| {
        in_child(|| {
            let new = thread::spawn(|| Native::thread().unwrap()).join().unwrap();
            assert!(new != other && new != mine);
            assert!(!Native::is_lost(new));
            let next = thread::spawn(|| Native::thread().unwrap()).join().unwrap();
            assert_eq!(next, new, "a thread of the child that ended is not lost");
        })
    });
    assert_eq!(status, 0, "the child failed");
}

#[test]
fn a_thread_that_had_ended_before_the_fork_is_not_lost() {
    // In a child, where no thread of another test can get the number.
    let status = in_child(|| {
        let ended = thread::spawn(|| Native::thread().unwrap()).join().unwrap();
        let status = in_child(|| assert!(!Native::is_lost(ended)));
        assert_eq!(status, 0, "the child's child failed");
    });
    assert_eq!(status, 0, "the child failed");
}

#[test]
fn what_a_lost_thread_kept_is_reclaimed_by_the_child() {
    let list = Owner::<Magazines>::new(8);
    let (begin, end) = (Barrier::new(2), Barrier::new(2));
    let status = thread::scope(|scope| {
        scope.spawn(|| {
            list.admit_idle(1);
            begin.wait();
            end.wait();
        });
        begin.wait();
        let status = in_child(|| {
            assert_eq!(list.acquire(), None, "the slot is in the other thread's magazine");
            let mut found = Vec::new();
            list.reclaim(|slot| found.push(slot));
            assert_eq!(found, [0]);
        });
        end.wait();
        status
    });
    assert_eq!(status, 0, "the child failed");
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

static ONE_STOPS: Mutex<()> = Mutex::new(());

/// Runs `test` in a child while another thread, which has a number or has given it up, has stopped in the first heavy
/// barrier of `act`.
fn in_the_middle_of(
    pool: &Buffers,
    act: fn(&Buffers),
    has_a_number: bool,
    test: impl FnOnce(&Buffers),
) {
    let _one = ONE_STOPS.lock();
    let other = pool.clone();
    let stopped = thread::spawn(move || {
        let act = move || {
            assert_eq!(Native::thread().is_some(), has_a_number);
            stop_in_the_next_barrier();
            act(&other);
        };
        if has_a_number {
            act();
        } else {
            // Destroyed after the number, which is asked for later, is given up.
            at_end(act);
            assert!(Native::thread().is_some());
        }
    });
    wait_until_it_stops();
    let status = in_child(|| test(pool));
    let_it_go_on();
    stopped.join().unwrap();
    expect_well(0, status);
}

#[test]
fn a_pool_that_a_lost_thread_was_closing_is_closed_again() {
    for has_a_number in [true, false] {
        let pool = idle_buffers();
        in_the_middle_of(&pool, BufferPool::close, has_a_number, |pool| {
            assert!(pool.is_closed() && pool.statistics().total.idle > 0, "in the middle");
            pool.close();
            assert_eq!(pool.statistics().total.bytes, 0, "what was idle is freed");
            for size in [SIZE, SIZE / 2] {
                assert_eq!(pool.acquire(size).unwrap_err(), AcquireError::Closed);
            }
        });
        assert_eq!(pool.statistics().total.bytes, 0, "in the parent no thread is lost");
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
            assert_eq!(pool.statistics().total.bytes, 0);
        });
        assert_eq!(pool.statistics().total.bytes, 0, "in the parent no thread is lost");
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
    let status = in_child(|| {
        drop(only.take());
        drop(pool.acquire(SIZE).expect("it is idle"));
        let again = pool.acquire_timeout(SIZE, Duration::MAX).unwrap();
        // Polled again, it has a turn here.
        assert_eq!(waits.poll(), None);
        drop(again);
        assert!(waits.is_woken() && waits.poll() == Some(Ok(())));
    });
    expect_well(0, status);
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
    let status = in_child(|| {
        drop(pool.acquire(SIZE).expect("there is room, and no acquire waits here"));
    });
    expect_well(0, status);
    drop(one);
    assert_eq!(large.result(), Ok(()));
}

#[test]
fn a_child_loses_one_of_the_slots_that_a_lost_thread_was_closing() {
    fn of<L: List>() {
        let list = Owner::<L>::new(0);
        list.admit_idle(SLOTS as u32);
        let (begin, end) = (Barrier::new(2), Barrier::new(2));
        let status = thread::scope(|scope| {
            scope.spawn(|| {
                let mut first = true;
                list.close(|_| {
                    if std::mem::take(&mut first) {
                        begin.wait();
                        end.wait();
                    }
                });
            });
            begin.wait();
            let status = in_child(|| {
                let mut home = 0;
                list.close(|_| home += 1);
                assert_eq!(home, SLOTS - 1);
            });
            end.wait();
            status
        });
        expect_well(0, status);
    }
    of::<TaggedStack>();
    of::<Magazines>();
}
