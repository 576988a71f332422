//! A pool at its limit refuses only what is in use, and a pool without a limit has no more than was in use.
#![cfg(feature = "std")]

use std::thread;
use tenure::memory::Native;
use tenure::pool::{BufferPool, FreeList, Magazines, SlotPool, TaggedStack};

const THREADS: usize = 4;
/// How many slots one thread uses at once, at most.
const MOST: usize = 3;
const TURNS: u64 = if cfg!(miri) { 50 } else { 30_000 };

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 as usize % bound
    }
}

/// Every thread takes turns: it drops what it has, and then acquires up to `most`.
fn on_threads<G>(most: usize, acquire: impl Fn(usize, &mut Numbers) -> G + Sync) {
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let acquire = &acquire;
            scope.spawn(move || {
                let mut numbers = Numbers(thread as u64 + 1);
                let mut held = Vec::new();
                for _ in 0..TURNS {
                    held.clear();
                    held.extend(
                        (0..1 + numbers.below(most)).map(|_| acquire(thread, &mut numbers)),
                    );
                }
            });
        }
    });
}

fn objects_within_the_limit<L: FreeList>(hoard: usize, most: usize) {
    let pool = SlotPool::builder(|| 0_u64).limit(THREADS * most).hoard(hoard).list::<L>().build();
    on_threads(most, |_, _| pool.acquire().expect("there is an object for each"));
}

fn buffers_within_the_limit<L: FreeList>(hoard: usize, most: usize) {
    const SIZE: usize = 4096;
    let limit = (THREADS * most * SIZE) as u64;
    let pool = BufferPool::builder().classes(SIZE, 1).limit(limit).hoard(hoard).list::<L>();
    let pool = pool.zero(false).build().unwrap();
    on_threads(most, |_, _| pool.acquire(SIZE).expect("there is a buffer for each"));
}

/// Buffers of three sizes; idle ones of one size have to make room for those of another, or are trimmed.
fn sizes_within_the_limit<L: FreeList>(hoard: usize, most: usize) {
    let limit = (THREADS * most * 4096) as u64;
    let pool = BufferPool::builder().classes(1024, 3).limit(limit).hoard(hoard).list::<L>();
    let pool = pool.zero(false).build().unwrap();
    on_threads(most, |thread, numbers| {
        if thread == 0 && numbers.below(64) == 0 {
            pool.trim();
        }
        let size = 1024 << numbers.below(3);
        let buffer = pool.acquire(size).expect("there is room for each");
        assert!(!buffer.is_downgraded(), "there is room for {size} bytes");
        buffer
    });
}

/// What one thread may hoard, for a list with hoards.
const HOARDS: usize = usize::MAX;

macro_rules! claims {
    ($($room:ident: $list:ty, $hoard:expr, $kept:expr;)*) => {$(
        mod $room {
            use super::*;

            #[test]
            fn threads_that_use_one_object_each_are_not_refused() {
                objects_within_the_limit::<$list>($hoard, 1);
            }
            #[test]
            fn threads_that_use_a_few_objects_each_are_not_refused() {
                objects_within_the_limit::<$list>($hoard, MOST);
            }
            #[test]
            fn threads_that_use_one_buffer_each_are_not_refused() {
                buffers_within_the_limit::<$list>($hoard, 1);
            }
            #[test]
            fn threads_that_use_a_few_buffers_each_are_not_refused() {
                buffers_within_the_limit::<$list>($hoard, MOST);
            }
            #[test]
            fn threads_that_use_one_buffer_of_any_size_each_are_not_refused() {
                sizes_within_the_limit::<$list>($hoard, 1);
            }
            #[test]
            fn threads_that_use_a_few_buffers_of_any_size_each_are_not_refused() {
                sizes_within_the_limit::<$list>($hoard, MOST);
            }
            #[test]
            fn a_pool_without_a_limit_has_what_was_in_use_and_what_threads_may_keep() {
                let pool = SlotPool::builder(|| 0_u64).hoard($hoard).list::<$list>().build();
                on_threads(MOST, |_, _| pool.acquire().unwrap());
                let most = THREADS * (MOST + $kept);
                assert!(pool.len() <= most, "{} objects, where {most} are enough", pool.len());
            }
        }
    )*};
}

claims! {
    tagged_stack: TaggedStack, 0, 0;
    magazines: Magazines, HOARDS, 64;
    magazines_without_hoards: Magazines, 0, 0;
    magazines_of_one: Magazines<Native, 1>, HOARDS, 2;
    magazines_of_one_without_hoards: Magazines<Native, 1>, 0, 0;
}

/// The default pool hoards nothing above 512 KiB.
#[test]
fn threads_that_use_one_megabyte_each_are_not_refused() {
    const MIB: usize = 1 << 20;
    let limit = (THREADS * MIB) as u64;
    let pool = BufferPool::builder().limit(limit).zero(false).build().unwrap();
    on_threads(1, |_, _| pool.acquire_exact(MIB).expect("there is a buffer for each"));
    assert_eq!(pool.statistics().total.freed, 0);
}

#[test]
fn a_pool_of_large_buffers_without_a_limit_has_as_many_as_were_in_use() {
    const MIB: usize = 1 << 20;
    let pool = BufferPool::builder().zero(false).build().unwrap();
    on_threads(1, |_, _| pool.acquire(MIB).unwrap());
    let allocated = pool.statistics().total.allocated;
    assert!(allocated <= THREADS as u64, "{allocated} buffers, where {THREADS} are enough");
}
