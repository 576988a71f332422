//! Acquires that wait at the limit: in turn, cancelled without loss, over every free list.
#![allow(clippy::disallowed_types, reason = "the tests' own counts")]

use crate::support::beside_a_sleeper;
use crate::waits::{Waits, waker_that_panics};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::task::{Wake, Waker};
use std::thread;
use std::time::Duration;
use tenure::pool::AcquireError;
use tenure::pool::generic::{BufferPool, PooledBuf, SlotMut, SlotPool};
use tenure::pool::list::List;

const SIZE: usize = 64;

type Buffer<L> = Result<PooledBuf<L>, AcquireError>;

/// A pool of two classes, with room for `smallest` buffers of the first.
fn pool<L: List>(smallest: usize) -> BufferPool<L> {
    let limit = (smallest * SIZE) as u64;
    BufferPool::builder().classes(SIZE, 2).limit(limit).list().build().unwrap()
}

fn future<L: List>(
    pool: &BufferPool<L>,
    capacity: usize,
) -> impl Future<Output = Buffer<L>> + 'static {
    let pool = pool.clone();
    async move { pool.acquire_async(capacity).await }
}

fn below_the_limit_no_acquire_waits<L: List>() {
    let pool = pool::<L>(2);
    let first = Waits::new(future(&pool, 9)).poll().unwrap().unwrap();
    assert!(first.is_empty() && first.capacity() == SIZE);
    // What another thread keeps is used.
    let keep = || drop(pool.acquire(9).unwrap());
    beside_a_sleeper(keep, || {
        assert!(Waits::new(future(&pool, 9)).poll().unwrap().is_ok());
    });
    drop(first);
    assert_eq!(pool.trim(), 2 * SIZE as u64);
}

fn buffers_go_to_those_who_wait_in_their_order<L: List>() {
    let pool = pool::<L>(2);
    let mut kept = vec![pool.acquire(1).unwrap(), pool.acquire(1).unwrap()];
    let [mut first, second, third] = [(); 3].map(|()| Waits::queued(future(&pool, 1)));
    first.moves_to_another_task();
    kept[0].extend_from_slice(b"secret");
    drop(kept.remove(0));
    assert!(first.is_woken() && !second.is_woken() && !third.is_woken());
    drop(kept);
    assert!(second.is_woken() && !third.is_woken());
    let mut first = first.result().unwrap();
    assert_eq!(first.spare_capacity_mut(), [0; SIZE]);
    thread::scope(|scope| scope.spawn(|| drop(first)).join().unwrap());
    drop((second.result(), third.result()));
    let counts = pool.stats();
    assert_eq!((counts.made, counts.in_use, counts.idle), (2, 0, 2));
    // The lists are open again.
    drop(pool.acquire(1).unwrap());
    assert_eq!(pool.stats().idle, 2);
}

fn none_comes_before_those_who_wait<L: List>() {
    let pool = pool::<L>(3);
    let [one, two, three] = [(); 3].map(|()| pool.acquire(1).unwrap());
    let large = Waits::queued(future(&pool, 2 * SIZE));
    let small = Waits::queued(future(&pool, 1));
    drop(one);
    assert!(matches!(pool.acquire(1), Err(AcquireError::LimitReached { held: 128, .. })));
    assert!(pool.acquire_or_smaller(1).is_err() && !large.is_woken() && !small.is_woken());
    drop(two);
    assert!(large.is_woken() && !small.is_woken());
    let large = large.result().unwrap();
    assert_eq!(large.capacity(), 2 * SIZE);
    drop(three);
    drop((large, small.result().unwrap()));
    assert_eq!(pool.stats().in_use, 0);
    assert_eq!(pool.acquire(2 * SIZE).unwrap().capacity(), 2 * SIZE);
}

fn one_that_leaves_lets_the_next_go<L: List>() {
    let pool = pool::<L>(2);
    let [one, two] = [(); 2].map(|()| pool.acquire(1).unwrap());
    // The first wants more than comes.
    let first = Waits::queued(future(&pool, 2 * SIZE));
    let second = Waits::queued(future(&pool, 1));
    drop(one);
    assert!(!second.is_woken());
    drop(first);
    // Woken for a buffer, and dropped with it.
    assert!(second.is_woken());
    let third = Waits::queued(future(&pool, 1));
    drop(second);
    drop((two, third.result().unwrap()));
    // Not polled since it was woken, and the last.
    let only = pool.acquire(2 * SIZE).unwrap();
    let fourth = Waits::queued(future(&pool, 1));
    drop(only);
    drop(fourth);
    let counts = pool.stats();
    assert_eq!((counts.in_use, counts.bytes), (0, pool.trim()));
    assert_eq!(pool.acquire(2 * SIZE).unwrap().capacity(), 2 * SIZE);
}

fn a_close_ends_the_wait<L: List>() {
    let pool = pool::<L>(1);
    let only = pool.acquire(1).unwrap();
    let waits = [(); 2].map(|()| Waits::queued(future(&pool, 1)));
    let another = self::pool::<L>(1);
    let kept = another.acquire(1).unwrap();
    let granted = Waits::queued(future(&another, 1));
    drop(kept);
    another.close();
    // What was meant for it before the close is its own.
    assert!(granted.result().is_ok());
    assert_eq!(another.stats().bytes, 0);
    // And goes with it.
    let third = self::pool::<L>(1);
    let kept = third.acquire(1).unwrap();
    let granted = Waits::queued(future(&third, 1));
    drop(kept);
    third.close();
    drop(granted);
    assert_eq!(third.stats().bytes, 0);
    pool.close();
    for waits in waits {
        assert_eq!(waits.result().unwrap_err(), AcquireError::Closed);
    }
    assert_eq!(Waits::new(future(&pool, 1)).poll().unwrap().unwrap_err(), AcquireError::Closed);
    drop(only);
    assert_eq!(pool.stats().bytes, 0);
}

fn what_never_comes_is_an_error_at_once<L: List>() {
    let pool = pool::<L>(1);
    let error = |capacity| Waits::new(future(&pool, capacity)).poll().unwrap().unwrap_err();
    assert_eq!(error(3 * SIZE), AcquireError::TooLarge { asked: 192, largest: 128 });
    assert_eq!(error(2 * SIZE), AcquireError::LimitReached { limit: 64, held: 0, asked: 128 });
    let none = SlotPool::builder(|| 1).limit(0).list::<L>().build();
    assert!(none.acquire_timeout(Duration::MAX).is_err());
}

fn objects_are_waited_for_too<L: List>() {
    static FAILS: AtomicBool = AtomicBool::new(false);
    let make = || assert!(!FAILS.swap(false, Relaxed), "make fails");
    let pool = SlotPool::builder(make).limit(1).list::<L>().build();
    let future = || {
        let pool = pool.clone();
        Waits::queued(async move { pool.acquire_async().await })
    };
    let only = pool.acquire().unwrap();
    let (first, second) = (future(), future());
    drop(only);
    let first = first.result().unwrap();
    SlotMut::discard(first);
    assert!(second.is_woken(), "there is room for another object");
    let third = future();
    FAILS.store(true, Relaxed);
    let failed = std::panic::AssertUnwindSafe(|| drop(second.result()));
    assert!(std::panic::catch_unwind(failed).is_err());
    drop(third.result().unwrap());
    assert_eq!(pool.stats().made, 2);
    assert_eq!((pool.len(), pool.trim()), (1, 1));
}

thread_local! {
    /// What the next drops of [`Ends`] do in this thread, the last first.
    static AT_ENDS: RefCell<Vec<Box<dyn FnOnce()>>> = const { RefCell::new(Vec::new()) };
}

struct Ends;

impl Drop for Ends {
    fn drop(&mut self) {
        let act = AT_ENDS.with_borrow_mut(Vec::pop);
        act.into_iter().for_each(|act| act());
    }
}

/// A pool of `limit` idle objects, and a wait that begins while a trim ends the first.
fn trimmed_under_a_wait<L: List>(
    limit: usize,
    then: impl FnOnce() + 'static,
) -> (SlotPool<Ends, L>, Begun<L>) {
    let pool = SlotPool::builder(|| Ends).limit(limit).list::<L>().build();
    drop(Vec::from_iter((0..limit).map(|_| pool.acquire().unwrap())));
    let (waits, asking) = (Rc::new(RefCell::new(None)), pool.clone());
    let place = waits.clone();
    let begin = move || {
        let future = async move { asking.acquire_async().await };
        *place.borrow_mut() = Some(Waits::queued(future));
        then();
    };
    AT_ENDS.with_borrow_mut(|acts| acts.push(Box::new(begin)));
    (pool, waits)
}

type Begun<L> = Rc<RefCell<Option<Waits<Result<SlotMut<Ends, L>, AcquireError>>>>>;

fn a_trim_serves_after_each_object<L: List>() {
    let (pool, waits) = trimmed_under_a_wait::<L>(2, || ());
    let at_second = waits.clone();
    let second = move || assert!(at_second.borrow().as_ref().unwrap().is_woken());
    AT_ENDS.with_borrow_mut(|acts| acts.insert(0, Box::new(second)));
    assert_eq!(pool.trim(), 2);
    let waits = waits.take().unwrap();
    assert!(waits.result().is_ok());
}

fn a_trim_in_which_a_drop_panics_serves<L: List>() {
    let (pool, waits) = trimmed_under_a_wait::<L>(1, || panic!("in a drop"));
    let trim = std::panic::AssertUnwindSafe(|| pool.trim());
    assert!(std::panic::catch_unwind(trim).is_err());
    let waits = waits.take().unwrap();
    assert!(waits.result().is_ok());
}

fn a_thread_waits_as_long_as_it_says<L: List>() {
    let pool = pool::<L>(1);
    let only = pool.acquire(1).unwrap();
    for timeout in [Duration::ZERO, Duration::from_millis(2)] {
        let error = pool.acquire_timeout(1, timeout).unwrap_err();
        assert_eq!(error, AcquireError::LimitReached { limit: 64, held: 64, asked: 1 });
    }
    drop(only);
    // Never, as far as a clock goes; and in time.
    for timeout in [Duration::MAX, Duration::from_secs(600)] {
        let only = pool.acquire(1).unwrap();
        thread::scope(|scope| {
            let waits = scope.spawn(|| pool.acquire_timeout(1, timeout).map(drop));
            thread::sleep(Duration::from_millis(5));
            drop(only);
            assert_eq!(waits.join().unwrap(), Ok(()));
        });
    }
}

fn a_waker_may_own_what_is_waited_for<L: List>() {
    struct Owns<L: List>(#[allow(dead_code, reason = "dropped")] PooledBuf<L>);

    impl<L: List> Wake for Owns<L> {
        fn wake(self: Arc<Self>) {}
    }
    let pool = pool::<L>(1);
    let waker = Waker::from(Arc::new(Owns(pool.acquire(1).unwrap())));
    let mut waits = Waits::new(future(&pool, 1));
    assert!(waits.poll_by(&waker).is_none());
    drop(waker);
    // The queue has the last waker, and drops it for another.
    assert!(waits.poll().is_none());
    assert!(waits.poll().is_some_and(|buffer| buffer.is_ok()));
}

fn a_waker_that_panics_keeps_no_one_from_being_woken<L: List>() {
    let pool = pool::<L>(2);
    let large = pool.acquire(2 * SIZE).unwrap();
    let mut first = Waits::new(future(&pool, 1));
    assert!(first.poll_by(&waker_that_panics()).is_none());
    let second = Waits::queued(future(&pool, 1));
    let release = std::panic::AssertUnwindSafe(|| drop(large));
    assert!(std::panic::catch_unwind(release).is_err());
    assert!(first.poll().unwrap().is_ok());
    assert!(second.result().is_ok());
}

/// More threads than buffers, that wait, give up, trim, and ask without waiting.
fn threads_that_wait_all_have_their_turn<L: List>() {
    const BUFFERS: usize = 3;
    let rounds = if cfg!(miri) { 10 } else { 300 };
    let pool = pool::<L>(BUFFERS);
    let in_use = AtomicUsize::new(0);
    thread::scope(|scope| {
        let threads = [0, 1, 2, 3, 4].map(|thread| {
            let (pool, in_use) = (&pool, &in_use);
            scope.spawn(move || {
                for round in 0..rounds {
                    let many = 1 + (thread + round) % 2;
                    let acquired = match (thread * 7 + round) % 11 {
                        0 => pool.acquire_timeout(many * SIZE, Duration::ZERO).ok(),
                        1 => pool.acquire_timeout(many * SIZE, Duration::from_micros(20)).ok(),
                        2 => pool.acquire(many * SIZE).ok(),
                        3 => {
                            pool.trim();
                            None
                        }
                        _ => Some(pool.acquire_timeout(many * SIZE, Duration::MAX).unwrap()),
                    };
                    let Some(mut buffer) = acquired else { continue };
                    assert!(in_use.fetch_add(many, Relaxed) + many <= BUFFERS);
                    assert!(buffer.spare_capacity_mut().iter().all(|&byte| byte == 0));
                    if round % 3 == 0 {
                        thread::yield_now();
                    }
                    in_use.fetch_sub(many, Relaxed);
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    let counts = pool.stats();
    assert_eq!((counts.in_use, counts.bytes), (0, pool.trim()));
    // Nothing is held any more.
    assert!((0..BUFFERS).map(|_| pool.acquire(1)).collect::<Vec<_>>().iter().all(Result::is_ok));
}

claims! {
    below_the_limit_no_acquire_waits,
    buffers_go_to_those_who_wait_in_their_order,
    none_comes_before_those_who_wait,
    one_that_leaves_lets_the_next_go,
    a_close_ends_the_wait,
    what_never_comes_is_an_error_at_once,
    objects_are_waited_for_too,
    a_trim_serves_after_each_object,
    a_trim_in_which_a_drop_panics_serves,
    a_thread_waits_as_long_as_it_says,
    a_waker_may_own_what_is_waited_for,
    a_waker_that_panics_keeps_no_one_from_being_woken,
    threads_that_wait_all_have_their_turn,
}

#[test]
fn the_futures_can_be_spawned() {
    fn is_spawnable<F: Future + Send + 'static>(_: F) {}
    let buffers = BufferPool::new();
    is_spawnable(async move { buffers.acquire_async(1).await.map(drop) });
    let objects = SlotPool::<u32>::new();
    is_spawnable(async move { objects.acquire_async().await.map(drop) });
}
