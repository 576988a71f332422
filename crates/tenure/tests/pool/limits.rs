//! A pool at its limit refuses only what is in use; one without a limit has no more than was in use.

use std::thread;
use tenure::memory::Native;
use tenure::pool::generic::{BufferPool, SlotPool};
use tenure::pool::list::{List, Magazines, TaggedStack};

const THREADS: usize = 4;
const MOST: usize = 3;
const TURNS: u64 = if cfg!(miri) { 50 } else { 30_000 };

/// Random, from a seed that is not 0.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 as usize % bound
    }
}

/// In each turn a thread drops what it has, and then acquires up to `most`.
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

fn threads_that_use_objects_within_the_limit_are_not_refused<L: List>(magazine: usize) {
    for most in [1, MOST] {
        let pool = SlotPool::builder(|| 0_u64).limit(THREADS * most).magazine_size(magazine);
        let pool = pool.list::<L>().build();
        on_threads(most, |_, _| pool.acquire().expect("there is an object for each"));
    }
}

/// A pool with a limit of `most` buffers of 4096 bytes.
fn buffers<L: List>(magazine: usize, classes: usize, most: usize) -> BufferPool<L> {
    let pool = BufferPool::builder().classes(4096 >> (classes - 1), classes);
    let pool = pool.limit((most * 4096) as u64).magazine_bytes(magazine).zero(false);
    pool.list().build().unwrap()
}

fn threads_that_use_buffers_within_the_limit_are_not_refused<L: List>(magazine: usize) {
    for most in [1, MOST] {
        let pool = buffers::<L>(magazine, 1, THREADS * most);
        on_threads(most, |_, _| pool.acquire(4096).expect("there is a buffer for each"));
    }
}

/// Idle buffers of one size have to make room for those of another, or are trimmed.
fn threads_that_use_buffers_of_any_size_within_the_limit_are_not_refused<L: List>(magazine: usize) {
    for most in [1, MOST] {
        let pool = buffers::<L>(magazine, 3, THREADS * most);
        on_threads(most, |thread, numbers| {
            if thread == 0 && numbers.below(64) == 0 {
                pool.trim();
            }
            let size = 1024 << numbers.below(3);
            pool.acquire(size).expect("there is room for each")
        });
    }
}

const FULL: usize = usize::MAX;

fn a_pool_without_a_limit_has_what_was_in_use_and_what_threads_may_keep<L: List>(
    magazine: usize,
    kept: usize,
) {
    let pool = SlotPool::builder(|| 0_u64).magazine_size(magazine).list::<L>().build();
    on_threads(MOST, |_, _| pool.acquire().unwrap());
    let most = THREADS * (MOST + kept);
    assert!(pool.len() <= most, "{} objects, where {most} are enough", pool.len());
}

macro_rules! limits {
    ($($name:ident: $list:ty, $magazine:expr, $kept:expr;)*) => {$(
        mod $name {
            use super::*;

            tests! {
                threads_that_use_objects_within_the_limit_are_not_refused =>
                    super::threads_that_use_objects_within_the_limit_are_not_refused::<$list>($magazine);
                threads_that_use_buffers_within_the_limit_are_not_refused =>
                    super::threads_that_use_buffers_within_the_limit_are_not_refused::<$list>($magazine);
                threads_that_use_buffers_of_any_size_within_the_limit_are_not_refused =>
                    super::threads_that_use_buffers_of_any_size_within_the_limit_are_not_refused::<$list>($magazine);
                a_pool_without_a_limit_has_what_was_in_use_and_what_threads_may_keep =>
                    super::a_pool_without_a_limit_has_what_was_in_use_and_what_threads_may_keep::<$list>($magazine, $kept);
            }
        }
    )*};
}

limits! {
    tagged_stack: TaggedStack, 0, 0;
    magazines: Magazines, FULL, 64;
    magazines_of_size_0: Magazines, 0, 0;
    magazines_of_one: Magazines<Native, 1>, FULL, 2;
    magazines_of_one_of_size_0: Magazines<Native, 1>, 0, 0;
}

/// In the default pool magazines have nothing above 512 KiB.
#[test]
fn threads_that_use_one_megabyte_each_are_not_refused() {
    const MIB: usize = 1 << 20;
    let limit = (THREADS * MIB) as u64;
    let pool = BufferPool::builder().limit(limit).zero(false).build().unwrap();
    on_threads(1, |_, _| pool.acquire(MIB).expect("there is a buffer for each"));
    assert_eq!(pool.stats().freed, 0);
}

#[test]
fn a_pool_of_large_buffers_without_a_limit_has_as_many_as_were_in_use() {
    const MIB: usize = 1 << 20;
    let pool = BufferPool::builder().zero(false).build().unwrap();
    on_threads(1, |_, _| pool.acquire(MIB).unwrap());
    let allocated = pool.stats().made;
    assert!(allocated <= THREADS as u64, "{allocated} buffers, where {THREADS} are enough");
}
