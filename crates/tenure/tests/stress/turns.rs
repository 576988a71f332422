//! Objects and buffers that threads wait for: what one leaves, the next finds; and parts of buffers that end anywhere.

use crate::support::{THREADS, objects};
use std::thread;
use std::time::Duration;
use tenure::pool::generic::BufferPool;
use tenure::pool::list::{List, Magazines};

/// One thread fills a buffer and sends parts of it to the others.
fn parts_end_on_other_threads<L: List>() {
    const SIZE: usize = 64;
    let pool = BufferPool::builder().classes(SIZE, 1).limit(4 * SIZE as u64).list::<L>();
    let pool = pool.build().unwrap();
    for round in 0..objects(1_000) {
        let byte = round as u8 | 1;
        let mut buffer = pool.acquire_timeout(SIZE, Duration::MAX).unwrap();
        assert!(buffer.spare_capacity_mut().iter().all(|&byte| byte == 0), "it is not erased");
        let threads = [(); THREADS].map(|()| {
            buffer.resize(SIZE / THREADS, byte);
            let part = buffer.split_to(SIZE / THREADS);
            thread::spawn(move || assert!(part.clone().iter().all(|&it| it == byte)))
        });
        drop(buffer);
        if round % 2 == 0 {
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        }
    }
    let all = Vec::from_iter((0..4).map(|_| pool.acquire_timeout(SIZE, Duration::MAX)));
    assert!(all.iter().all(Result::is_ok));
    drop(all);
    assert_eq!(pool.stats().in_use, 0);
}

#[test]
fn parts_of_buffers_end_on_other_threads() {
    parts_end_on_other_threads::<Magazines>();
}
