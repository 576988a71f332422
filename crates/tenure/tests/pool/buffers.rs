//! A buffer pool over every free list: what is handed out, and what becomes of it.
//!
//! Threads are joined by hand: a scope does not wait for their thread-locals.

use super::support::beside_a_sleeper;
use std::any::Any;
use std::cell::RefCell;
use std::sync::mpsc::channel;
use std::thread;
use tenure::pool::generic::{BufferPool, BufferPoolBuilder, PooledBuf};
use tenure::pool::list::List;
use tenure::pool::{AcquireError, ConfigError, Stats};

const SMALL: usize = 64;

fn small() -> BufferPoolBuilder {
    BufferPool::builder().classes(SMALL, 4)
}

fn build<L: List>(builder: BufferPoolBuilder) -> BufferPool<L> {
    builder.list().build().expect("a good configuration")
}

fn total<L: List>(pool: &BufferPool<L>) -> Stats {
    pool.stats()
}

fn address(buffer: &[u8]) -> usize {
    buffer.as_ptr().addr()
}

fn what_a_sleeping_thread_keeps_is_taken_back_at_the_limit_and_by_a_trim<L: List>() {
    let pool = build::<L>(small().limit(512));
    let keep = || drop(pool.acquire_zeroed(512).unwrap());
    beside_a_sleeper(keep, || {
        // Of the same class it is used as it is.
        assert_eq!(pool.acquire_zeroed(512).unwrap().len(), 512);
        let counts = total(&pool);
        assert_eq!((counts.made, counts.reused, counts.freed), (1, 1, 0));
        let half = pool.acquire_or_smaller(256).unwrap();
        assert_eq!(half.capacity(), 256);
        assert_eq!(total(&pool).freed, 1);
    });
    beside_a_sleeper(|| drop(pool.acquire(128).unwrap()), || assert_eq!(pool.trim(), 256 + 128));
}

fn a_buffer_may_be_dropped_by_a_destructor_of_a_thread_local<L: List>() {
    thread_local! {
        static KEPT: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
    }
    let pool = build::<L>(small());
    for close_first in [false, true] {
        thread::scope(|scope| {
            let keep = || {
                // Before and after the list has a thread-local with a destructor.
                KEPT.with(|_| ());
                let buffers = Vec::from_iter((0..70).map(|_| pool.acquire_zeroed(9).unwrap()));
                KEPT.with_borrow_mut(|kept| kept.push(Box::new(buffers)));
                if close_first {
                    pool.close();
                }
            };
            scope.spawn(keep).join().unwrap();
        });
        let counts = total(&pool);
        let idle = if close_first { 0 } else { 70 };
        assert_eq!((counts.in_use, counts.idle), (0, idle));
    }
}

fn threads_that_exchange_buffers_find_zeros_and_their_own_bytes_alone<L: List>() {
    let pool = build::<L>(small().limit(64 << 10));
    let rounds = if cfg!(miri) { 20 } else { 2_000 };
    let (send, receive) = channel::<PooledBuf<L>>();
    thread::scope(|scope| {
        let receiver = scope.spawn(move || receive.into_iter().for_each(drop));
        let threads = [1, 2, 3_u8].map(|thread| {
            let (pool, send) = (&pool, send.clone());
            scope.spawn(move || {
                for round in 0..rounds {
                    let mut buffer = pool.acquire_zeroed(1 + round % 512).unwrap();
                    assert!(buffer.iter().all(|&byte| byte == 0));
                    buffer.fill(thread);
                    thread::yield_now();
                    assert!(buffer.iter().all(|&byte| byte == thread));
                    match round % 17 {
                        0 => send.send(buffer).unwrap(),
                        1 => _ = pool.trim(),
                        _ => drop(buffer),
                    }
                }
            })
        });
        drop(send);
        threads.into_iter().chain([receiver]).for_each(|it| it.join().unwrap());
    });
    let counts = total(&pool);
    assert_eq!((counts.in_use, counts.acquired()), (0, 3 * rounds as u64));
    assert_eq!(counts.bytes, pool.trim());
    assert_eq!(total(&pool).bytes, 0);
}

fn closing_while_threads_acquire_frees_all<L: List>() {
    for round in 0..if cfg!(miri) { 2 } else { 200 } {
        let pool = build::<L>(small().limit(2_048));
        thread::scope(|scope| {
            let acquire = || {
                loop {
                    match pool.acquire_zeroed(300) {
                        Ok(buffer) => assert!(buffer.capacity() <= 512),
                        Err(AcquireError::Closed) => break,
                        Err(error) => {
                            assert!(matches!(error, AcquireError::LimitReached { .. }));
                        }
                    }
                    thread::yield_now();
                }
            };
            let threads = [(); 3].map(|()| scope.spawn(acquire));
            // Before, amidst and after their first.
            (0..round % 10).for_each(|_| thread::yield_now());
            pool.close();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        let counts = total(&pool);
        assert_eq!((counts.in_use, counts.idle, counts.bytes), (0, 0, 0));
        assert_eq!(counts.made, counts.freed);
    }
}

claims! {
    what_a_sleeping_thread_keeps_is_taken_back_at_the_limit_and_by_a_trim,
    a_buffer_may_be_dropped_by_a_destructor_of_a_thread_local,
    threads_that_exchange_buffers_find_zeros_and_their_own_bytes_alone,
    closing_while_threads_acquire_frees_all,
}

#[test]
fn blocks_are_aligned_to_a_line_and_large_ones_to_a_page() {
    let pool = BufferPool::builder().classes(64, 10).build().unwrap();
    for class in 0..10 {
        let size = 64 << class;
        let buffer = pool.acquire_zeroed(size).unwrap();
        assert_eq!(address(&buffer) % size.min(4_096), 0);
    }
}

#[test]
fn the_default_has_the_sixteen_classes_of_smc() {
    let pool = BufferPool::new();
    assert_eq!((pool.largest(), pool.limit()), (512 << 20, None));
    let sizes: Vec<usize> = pool.class_stats().iter().map(|class| class.size).collect();
    assert_eq!(sizes, Vec::from_iter((0..16).map(|class| (16 << 10) << class)));
    assert_eq!(pool.acquire_zeroed(1).unwrap().capacity(), 16 << 10);
}

#[test]
fn a_pool_that_cannot_be_is_refused_with_what_to_do() {
    let refused = |builder: BufferPoolBuilder| builder.build().unwrap_err();
    let error = refused(BufferPool::builder().classes(100, 4));
    assert_eq!(error, ConfigError::SmallestClass { smallest: 100 });
    assert_eq!(
        error.to_string(),
        "the smallest size class has 100 bytes: take a power of two, 64 or more"
    );
    refused(BufferPool::builder().classes(32, 4));
    refused(BufferPool::builder().classes(0, 4));
    refused(BufferPool::builder().classes(64, 0));
    let most = usize::BITS as usize - 1 - 6;
    let error = refused(BufferPool::builder().classes(64, most + 1));
    assert_eq!(
        error.to_string(),
        format!("{} size classes from 64 bytes: take 1 to {most} of them", most + 1)
    );
    let error = refused(small().limit(63));
    assert_eq!(
        error.to_string(),
        "a limit of 63 bytes is less than one buffer of the smallest class: take 64 or more"
    );
    assert_eq!(
        BufferPool::builder().classes(64, most).build().unwrap().largest(),
        64 << (most - 1)
    );
}

#[test]
fn errors_say_what_on_what_and_what_to_do_in_one_line() {
    let errors = [
        AcquireError::TooLarge { asked: 9, largest: 8 },
        AcquireError::LimitReached { limit: 7, held: 6, asked: 5 },
        AcquireError::OutOfMemory { asked: 4 },
        AcquireError::Closed,
        AcquireError::TooManyBuffers { size: 64 },
    ];
    let told = errors.map(|error| error.to_string()).join("\n");
    assert_eq!(
        told,
        "no buffer of 9 bytes: the pool's largest have 8; ask for less, or build the pool with more \
         size classes\n\
         no buffer of 5 bytes: the pool holds 6 of at most 7 bytes; drop buffers, or build the pool \
         with a higher limit\n\
         no buffer of 4 bytes: the allocator has no memory; drop buffers, or build the pool with a \
         limit\n\
         the pool is closed: acquire before calling close()\n\
         no buffer: the pool cannot count more buffers of 64 bytes; drop some, or use another pool"
    );
}

#[test]
fn a_pool_and_a_buffer_say_what_they_are_and_not_what_they_contain() {
    let pool = small().limit(1_024).build().unwrap();
    let mut buffer = pool.acquire_zeroed(3).unwrap();
    buffer.copy_from_slice(b"key");
    assert_eq!(format!("{buffer:?}"), "PooledBuf { len: 3, capacity: 64, .. }");
    assert_eq!(
        format!("{pool:?}"),
        "BufferPool { list: \"magazines\", classes: 4, largest: 512, limit: Some(1024), bytes: 64, \
         closed: false }"
    );
}
