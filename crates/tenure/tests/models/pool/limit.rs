use super::super::memory::{InOrder, Loom, set_number};
use super::super::stage::{passes, spawn};
use tenure::memory::Threads;
use tenure::pool::generic::BufferPool;
use tenure::pool::list::TaggedStack;

/// A thread releases a small buffer and then takes a large one, up to the limit ‖ an acquire of a small one. At each
/// moment a small buffer is idle, or there is room for one.
pub(super) fn acquired_at_the_limit<M: Threads>() {
    const SMALL: usize = 64;
    set_number(0);
    let pool = BufferPool::builder().classes(SMALL, 2).limit(3 * SMALL as u64);
    let pool = pool.list::<TaggedStack<M>>().build().unwrap();
    let small = pool.acquire(SMALL).unwrap();
    // Spawned, so that loom tries which stores it sees.
    let asking = {
        let pool = pool.clone();
        spawn(move || {
            set_number(1);
            pool.acquire(SMALL).is_ok()
        })
    };
    drop(small);
    let large = pool.acquire(2 * SMALL);
    assert!(asking.join().unwrap(), "{IDLE_OR_ROOM}");
    drop(large);
}

/// An acquire ‖ a trim of the only buffer, which is idle: it is found, or there is room for another.
fn acquired_under_a_trim<M: Threads>() {
    const SIZE: usize = 64;
    set_number(0);
    let pool = BufferPool::builder().classes(SIZE, 1).limit(SIZE as u64);
    let pool = pool.list::<TaggedStack<M>>().build().unwrap();
    drop(pool.acquire(SIZE).unwrap());
    let trims = {
        let pool = pool.clone();
        spawn(move || {
            set_number(1);
            pool.trim();
        })
    };
    assert!(pool.acquire(SIZE).is_ok(), "{IDLE_OR_ROOM}");
    trims.join().unwrap();
}

pub(super) const IDLE_OR_ROOM: &str = "a buffer is idle, or there is room for one";

tests! {
    an_acquire_at_the_limit_is_refused_for_a_reason =>
        passes(Some(3), acquired_at_the_limit::<Loom>),
        passes(Some(3), acquired_at_the_limit::<InOrder>);
    an_acquire_under_a_trim_is_not_refused =>
        passes(Some(3), acquired_under_a_trim::<Loom>),
        passes(Some(3), acquired_under_a_trim::<InOrder>);
}
