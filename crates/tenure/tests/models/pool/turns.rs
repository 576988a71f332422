//! Acquires that wait. A waker that is not called is a claim that fails, not a thread that hangs.

use super::super::clocks::judge;
use super::super::memory::{InOrder, Loom, set_number};
use super::super::stage::{ALL, passes, spawn};
use super::{Pool, State, end};
use crate::waits::Waits;
use tenure::memory::Threads;
use tenure::pool::AcquireError;
use tenure::pool::generic::{BufferPool, PooledBuf, SlotMut, SlotPool};
use tenure::pool::list::{List, Magazines, Scan, TaggedStack};

type Wait<L> = Waits<Result<PooledBuf<L>, AcquireError>>;

const SIZE: usize = 64;

/// A pool of one buffer.
fn pool<L: List>() -> BufferPool<L> {
    set_number(0);
    let pool = BufferPool::builder().classes(SIZE, 1).limit(SIZE as u64);
    pool.list().build().unwrap()
}

fn wait<L: List>(pool: &BufferPool<L>) -> Wait<L> {
    let pool = pool.clone();
    Waits::new(async move { pool.acquire_async(SIZE).await })
}

const FOUND_OR_REFUSED: &str = "a release is found, or refused";

/// A release ‖ a list that closes, and opens again.
pub(super) fn released_under_a_hold<L: List>() {
    judge::<L::Memory>();
    let pool = Pool::<L>::new(1, 1);
    let releases = pool.spawn(1, |pool| {
        pool.change(0, State::Owned, State::Free, FOUND_OR_REFUSED);
        // SAFETY: owned until here.
        let refused = unsafe { pool.list().release(0) }.is_err();
        if refused {
            pool.change(0, State::Free, State::Owned, FOUND_OR_REFUSED);
        }
        refused
    });
    let mut found = false;
    pool.list().close(|slot| {
        found = true;
        pool.change(slot, State::Free, State::Owned, FOUND_OR_REFUSED);
    });
    assert!(releases.join().unwrap() != found, "{FOUND_OR_REFUSED}");
    pool.list().reopen();
    pool.give(0);
    assert_eq!(pool.find(), Some(0), "it is open again");
    pool.give(0);
    end(&pool, []);
}

/// A release by another thread ‖ an acquire that begins to wait.
pub(super) fn released_under_a_wait<L: List>() {
    let pool = pool::<L>();
    let only = pool.acquire(SIZE).unwrap();
    let releases = spawn(move || {
        set_number(1);
        drop(only);
    });
    let mut waits = wait(&pool);
    let at_once = waits.poll();
    releases.join().unwrap();
    drop(at_once.unwrap_or_else(|| waits.result()).unwrap());
    // The lists are open again, and the buffer is there.
    assert!(pool.acquire(SIZE).is_ok(), "the buffer is lost");
}

/// A release ‖ the first in the queue leaves it.
pub(super) fn released_to_one_that_leaves<L: List>() {
    let pool = pool::<L>();
    let only = pool.acquire(SIZE).unwrap();
    let (mut first, mut second) = (wait(&pool), wait(&pool));
    assert!(first.poll().is_none() && second.poll().is_none());
    let releases = spawn(move || {
        set_number(1);
        drop(only);
    });
    drop(first);
    releases.join().unwrap();
    drop(second.result().unwrap());
    assert!(pool.acquire(SIZE).is_ok(), "the buffer is lost");
}

/// An acquire that does not wait ‖ one that begins to wait: there is a buffer for each.
fn acquired_beside_a_wait<M: Threads>() {
    set_number(0);
    let pool = BufferPool::builder().classes(SIZE, 1).limit(2 * SIZE as u64);
    let pool = pool.list::<TaggedStack<M>>().build().unwrap();
    let both = [(); 2].map(|()| pool.acquire(SIZE).unwrap());
    let asking = {
        let pool = pool.clone();
        spawn(move || {
            set_number(1);
            drop(both);
            pool.acquire(SIZE).is_ok()
        })
    };
    let mut waits = wait(&pool);
    let at_once = waits.poll();
    assert!(asking.join().unwrap(), "{}", super::limit::IDLE_OR_ROOM);
    drop(at_once.unwrap_or_else(|| waits.result()).unwrap());
}

/// A discard leaves room for the first in the queue ‖ another acquire begins to wait.
fn discarded_under_a_wait<M: Threads>() {
    set_number(0);
    let pool = SlotPool::builder(|| ()).limit(1).list::<TaggedStack<M>>().build();
    let only = pool.acquire().unwrap();
    let [mut first, mut second] = [(); 2].map(|()| {
        let pool = pool.clone();
        Waits::new(async move { pool.acquire_async().await })
    });
    assert!(first.poll().is_none());
    let discards = spawn(move || {
        set_number(1);
        SlotMut::discard(only);
    });
    assert!(second.poll().is_none(), "it comes before the first");
    discards.join().unwrap();
    drop(first.result().unwrap());
    drop(second.result().unwrap());
}

tests! {
    room_that_comes_when_another_begins_to_wait_is_the_first_one_s =>
        passes(ALL, discarded_under_a_wait::<Loom>),
        passes(Some(3), discarded_under_a_wait::<InOrder>);
    a_release_wakes_one_that_waits_or_came_before =>
        passes(ALL, released_under_a_wait::<TaggedStack<Loom>>),
        passes(ALL, released_under_a_wait::<TaggedStack<InOrder>>),
        passes(Some(2), released_under_a_wait::<Magazines<Loom, 1>>);
    one_that_leaves_passes_its_turn_on =>
        passes(ALL, released_to_one_that_leaves::<TaggedStack<Loom>>),
        passes(ALL, released_to_one_that_leaves::<TaggedStack<InOrder>>),
        passes(Some(2), released_to_one_that_leaves::<Magazines<Loom, 1>>);
    a_wait_that_begins_does_not_hide_what_is_idle =>
        passes(Some(3), acquired_beside_a_wait::<Loom>),
        passes(Some(3), acquired_beside_a_wait::<InOrder>);
    a_list_that_closes_and_opens_finds_or_refuses_a_release =>
        passes(ALL, released_under_a_hold::<TaggedStack<InOrder>>),
        passes(Some(3), released_under_a_hold::<Scan<Loom>>),
        passes(Some(3), released_under_a_hold::<Magazines<Loom, 1>>),
        passes(Some(3), released_under_a_hold::<Magazines<InOrder, 1>>);
}
