//! A buffer and its parts: the last holder, whichever it is, erases and releases what the buffer wrote.

use super::super::clocks::judge;
use super::super::memory::{InOrder, Loom, set_number};
use super::super::stage::{join_all, passes, spawn};
use tenure::memory::Threads;
use tenure::pool::generic::BufferPool;
use tenure::pool::list::TaggedStack;

const SIZE: usize = 64;

/// The buffer, which writes once more, ‖ a part and its clone go.
pub(super) fn holders_go<M: Threads>() {
    judge::<M>();
    set_number(0);
    let pool = BufferPool::builder().classes(SIZE, 1).limit(SIZE as u64);
    let pool = pool.list::<TaggedStack<M>>().build().unwrap();
    let mut buffer = pool.acquire(SIZE).unwrap();
    buffer.extend_from_slice(b"part");
    let part = buffer.split_to(4);
    let parts = [(1, part.clone()), (2, part)].map(|(number, part)| {
        spawn(move || {
            set_number(number);
            assert_eq!(part, b"part");
        })
    });
    buffer.extend_from_slice(b"rest");
    drop(buffer);
    join_all(parts);
    let mut buffer = pool.acquire(SIZE).expect("the buffer is lost");
    assert!(buffer.spare_capacity_mut().iter().all(|&byte| byte == 0), "it is not erased");
    drop(buffer);
    assert!(pool.acquire(SIZE).is_ok(), "its next user has no other holder to wait for");
}

tests! {
    the_last_of_a_buffer_and_its_parts_releases_it =>
        passes(Some(3), holders_go::<Loom>),
        passes(Some(3), holders_go::<InOrder>);
}
