//! A buffer pool gives all back that it asked for, on every path, and that it is zero then.

use crate::{ACCOUNTS, Account, PAGE, TOO_MUCH, join_test, next_test, on_a_thread_of};
use std::sync::Barrier;
use std::sync::atomic::Ordering::Relaxed;
use tenure::pool::generic::{BufferPool, BufferPoolBuilder, PooledBuf};
use tenure::pool::list::List;
use tenure::pool::{AcquireError, Stats};

/// Runs `body` in a thread, and checks that all its memory was freed, as zeros.
fn leaves_nothing(zero: bool, body: impl FnOnce(usize) + Send) -> &'static Account {
    let test = next_test();
    let account = &ACCOUNTS[test];
    on_a_thread_of(test, move || body(test));
    assert_eq!(account.blocks.load(Relaxed), 0, "bytes of buffers leak");
    assert_eq!(account.bytes.load(Relaxed), 0, "bytes leak");
    assert!(account.freed.load(Relaxed) > 0, "the test allocated no buffer");
    let dirty = account.dirty.load(Relaxed);
    assert!(!zero || dirty == 0, "{dirty} bytes were given to the allocator as they were");
    account
}

fn builder() -> BufferPoolBuilder {
    BufferPool::builder().classes(PAGE, 3)
}

fn build<L: List>(builder: BufferPoolBuilder) -> BufferPool<L> {
    builder.list().build().unwrap()
}

fn dirty<L: List>(pool: &BufferPool<L>, len: usize) -> PooledBuf<L> {
    let mut buffer = pool.acquire_zeroed(len).unwrap();
    buffer.fill(0xff);
    buffer
}

fn several<L: List>(pool: &BufferPool<L>, count: usize) -> Vec<PooledBuf<L>> {
    (0..count).map(|at| dirty(pool, PAGE << (at % 3))).collect()
}

fn a_pool_that_was_trimmed_and_closed_leaves_nothing<L: List>() {
    leaves_nothing(true, |test| {
        let pool = build::<L>(builder());
        drop(several(&pool, 10));
        let blocks = ACCOUNTS[test].blocks.load(Relaxed);
        assert_eq!(pool.trim() as i64, blocks);
        assert_eq!(ACCOUNTS[test].blocks.load(Relaxed), 0);
        drop(several(&pool, 10));
        pool.close();
        assert_eq!(ACCOUNTS[test].blocks.load(Relaxed), 0);
    });
}

fn buffers_that_outlive_the_pool_are_freed_by_their_users<L: List>() {
    leaves_nothing(true, |test| {
        let pool = build::<L>(builder());
        drop(several(&pool, 50));
        let kept = several(&pool, 30);
        drop(pool);
        let bytes: usize = kept.iter().map(PooledBuf::capacity).sum();
        assert_eq!(ACCOUNTS[test].blocks.load(Relaxed), bytes as i64);
        let mut kept = kept.into_iter();
        let others: Vec<_> = kept.by_ref().take(15).collect();
        on_a_thread_of(test, move || drop(others));
        drop(kept);
    });
}

fn threads_at_the_limit_never_exceed_it_and_leave_nothing<L: List>() {
    const LIMIT: usize = 9 * PAGE;
    let account = leaves_nothing(true, |test| {
        let pool = build::<L>(builder().limit(LIMIT as u64));
        let start = Barrier::new(3);
        std::thread::scope(|scope| {
            let work = || {
                join_test(test);
                start.wait();
                for round in 0..500 {
                    let acquire = |_| pool.acquire_or_smaller(PAGE << (round % 3)).ok();
                    let mine: Vec<_> = (0..3).filter_map(acquire).collect();
                    std::thread::yield_now();
                    drop(mine);
                }
            };
            let threads = [(); 3].map(|()| scope.spawn(work));
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        assert!(pool.stats().downgraded > 0);
    });
    assert!(account.most.load(Relaxed) <= LIMIT as i64);
    assert!(account.most.load(Relaxed) > LIMIT as i64 / 2);
}

fn requests_that_fail_leave_nothing<L: List>() {
    leaves_nothing(true, |test| {
        let pool = build::<L>(builder().limit(4 * PAGE as u64));
        let mut kept = Vec::new();
        while let Ok(buffer) = pool.acquire(4 * PAGE) {
            kept.push(buffer);
        }
        assert_eq!(kept.len(), 1);
        kept.clear();
        assert!(pool.acquire_pair(2 * PAGE, 2 * PAGE).is_ok());
        assert!(pool.acquire_pair(4 * PAGE, 1).is_err());
        assert_eq!(pool.stats().in_use, 0);
        assert_eq!(pool.stats().bytes as i64, ACCOUNTS[test].blocks.load(Relaxed));
        pool.close();
        assert_eq!(pool.acquire(1).unwrap_err(), AcquireError::Closed);
    });
}

fn an_allocator_that_fails_ends_the_request_without_a_fall_back<L: List>() {
    leaves_nothing(true, |_| {
        let pool = build::<L>(BufferPool::builder().classes(PAGE, 8));
        let error = pool.acquire(TOO_MUCH).unwrap_err();
        assert_eq!(error, AcquireError::OutOfMemory { asked: TOO_MUCH });
        assert_eq!(pool.stats(), Stats::default());
        let error = pool.acquire_pair(1, TOO_MUCH).unwrap_err();
        assert_eq!(error, AcquireError::OutOfMemory { asked: TOO_MUCH });
        // Smaller and larger ones are there.
        drop(dirty(&pool, TOO_MUCH / 2));
        drop(dirty(&pool, TOO_MUCH + 1));
    });
}

claims! {
    a_pool_that_was_trimmed_and_closed_leaves_nothing,
    buffers_that_outlive_the_pool_are_freed_by_their_users,
    threads_at_the_limit_never_exceed_it_and_leave_nothing,
    requests_that_fail_leave_nothing,
    an_allocator_that_fails_ends_the_request_without_a_fall_back,
}

#[test]
fn without_zeroing_the_allocator_is_given_what_was_written() {
    // So the other tests would have seen it.
    let account = leaves_nothing(false, |_| {
        let pool = builder().zero(false).build().unwrap();
        drop(dirty(&pool, PAGE));
    });
    assert_eq!(account.dirty.load(Relaxed), PAGE as u64);
}

#[test]
fn a_leak_is_seen() {
    let test = next_test();
    std::thread::spawn(move || {
        join_test(test);
        std::mem::forget(builder().build().unwrap().acquire(1).unwrap());
    })
    .join()
    .unwrap();
    assert_eq!(ACCOUNTS[test].blocks.load(Relaxed), PAGE as i64);
}
