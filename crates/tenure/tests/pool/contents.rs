//! What is in a pooled buffer, in every way of reading and writing it, and what is left for the next user.

use bytes::{Buf, BufMut};
use std::borrow::BorrowMut;
use std::collections::HashMap;
use std::io::{BufRead, ErrorKind, Read, Write};
use tenure::pool::{BufferPool, PooledBuf};

const SIZE: usize = 4_096;

fn pool(zero: bool) -> BufferPool {
    BufferPool::builder().classes(SIZE, 1).zero(zero).build().unwrap()
}

/// Leaves a buffer with `write`, and returns all bytes that the next user finds in it.
fn left_by(zero: bool, write: impl FnOnce(&mut PooledBuf)) -> Vec<u8> {
    let pool = pool(zero);
    let mut first = pool.acquire_zeroed(SIZE).unwrap();
    write(&mut first);
    drop(first);
    let mut next = pool.acquire(SIZE).unwrap();
    assert_eq!(pool.stats().reused, 1);
    next.spare_capacity_mut().to_vec()
}

type Way = (&'static str, fn(&mut PooledBuf));

/// Every way of writing, each of which leaves at least one byte that is not zero.
const WAYS: [Way; 17] = [
    ("deref_mut", |buffer| buffer.fill(1)),
    ("deref_mut, one byte", |buffer| buffer[SIZE - 1] = 1),
    ("deref_mut, then truncated", |buffer| {
        buffer.fill(1);
        buffer.truncate(3);
    }),
    ("deref_mut, then cleared", |buffer| {
        buffer.fill(1);
        buffer.clear();
    }),
    ("deref_mut, then consumed", |buffer| {
        buffer.fill(1);
        buffer.advance(SIZE);
    }),
    ("as_mut", |buffer| buffer.as_mut().fill(1)),
    ("borrow_mut", |buffer| BorrowMut::<[u8]>::borrow_mut(buffer).fill(1)),
    ("append", |buffer| {
        buffer.clear();
        assert_eq!(buffer.extend_from_slice(&[1; SIZE + 1]), SIZE);
    }),
    ("append, twice", |buffer| {
        buffer.clear();
        assert_eq!(buffer.extend_from_slice(&[1; 100]), 100);
        assert_eq!(buffer.extend_from_slice(&[1; SIZE]), SIZE - 100);
    }),
    ("resize", |buffer| {
        buffer.clear();
        buffer.resize(SIZE, 1);
    }),
    ("resize, after consuming", |buffer| {
        buffer.advance(SIZE - 10);
        buffer.resize(SIZE, 1);
    }),
    ("compact", |buffer| {
        buffer.fill(1);
        buffer.advance(1);
        buffer.compact();
    }),
    ("spare_capacity_mut, not committed", |buffer| {
        buffer.clear();
        buffer.spare_capacity_mut()[SIZE - 1] = 1;
    }),
    ("spare_capacity_mut, committed", |buffer| {
        buffer.truncate(10);
        buffer.spare_capacity_mut().fill(1);
        buffer.advance_mut(5);
    }),
    ("io::Write", |buffer| {
        buffer.clear();
        buffer.write_all(&[1; SIZE]).unwrap();
    }),
    ("BufMut::chunk_mut", |buffer| {
        buffer.clear();
        buffer.chunk_mut().write_byte(SIZE - 1, 1);
    }),
    ("BufMut::put", |buffer| {
        buffer.clear();
        buffer.put(&[1; 100][..]);
        buffer.put_slice(&[1; 100]);
        buffer.put_u64(u64::MAX);
        buffer.put_bytes(1, SIZE - 208);
    }),
];

#[test]
fn the_next_user_finds_zeros_whatever_the_last_one_wrote_and_however() {
    for (way, write) in WAYS {
        assert!(left_by(true, write).iter().all(|&byte| byte == 0), "{way}");
    }
}

#[test]
fn without_zeroing_the_next_user_finds_what_the_last_one_left() {
    // So the test above would have seen what is not zeroed.
    for (way, write) in WAYS {
        assert!(left_by(false, write).iter().any(|&byte| byte != 0), "{way}");
    }
}

#[test]
fn zeros_that_are_asked_for_are_zeros_without_zeroing_too() {
    let pool = pool(false);
    pool.acquire_zeroed(SIZE).unwrap().fill(1);
    assert_eq!(pool.acquire_zeroed(9).unwrap(), [0; 9]);
    assert_eq!(pool.acquire(9).unwrap().spare_capacity_mut()[8..10], [0, 1]);
}

#[test]
fn a_buffer_is_one_pointer() {
    assert_eq!(size_of::<PooledBuf>(), size_of::<usize>());
    assert_eq!(size_of::<Option<PooledBuf>>(), size_of::<usize>());
}

#[test]
fn it_grows_and_shrinks_as_a_vec_of_fixed_capacity() {
    let pool = pool(true);
    let mut buffer = pool.acquire_zeroed(10).unwrap();
    assert_eq!((buffer.len(), buffer.spare_capacity(), buffer.capacity()), (10, SIZE - 10, SIZE));
    buffer.resize(12, 7);
    assert_eq!(buffer, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 7]);
    buffer.truncate(100);
    assert_eq!(buffer.len(), 12);
    buffer.resize(11, 9);
    assert_eq!(buffer.len(), 11);
    buffer.advance(9);
    assert_eq!(buffer, [0, 7]);
    buffer.resize(SIZE, 1);
    assert_eq!(buffer[..4], [0, 7, 1, 1]);
    buffer.clear();
    assert!(buffer.is_empty() && buffer.spare_capacity() == SIZE);
}

#[test]
fn what_was_consumed_is_room_again_after_compact_or_at_the_end() {
    let pool = pool(true);
    let mut buffer = pool.acquire(0).unwrap();
    buffer.resize(SIZE, 3);
    buffer.advance(SIZE - 1);
    assert_eq!((buffer.len(), buffer.spare_capacity()), (1, 0));
    buffer.compact();
    assert_eq!((buffer.len(), buffer.spare_capacity()), (1, SIZE - 1));
    buffer.advance(1);
    assert_eq!((buffer.len(), buffer.spare_capacity()), (0, SIZE));
}

#[test]
fn bytes_put_into_the_room_are_contents_when_they_are_committed() {
    let pool = pool(true);
    let mut buffer = pool.acquire_zeroed(2).unwrap();
    let count = (&b"from a socket"[..]).read(buffer.spare_capacity_mut()).unwrap();
    assert_eq!(buffer.len(), 2);
    buffer.advance_mut(count);
    assert_eq!(buffer, b"\0\0from a socket");
}

#[test]
fn reading_consumes_from_the_front_and_writing_appends_until_it_is_full() {
    let pool = pool(true);
    let mut buffer = pool.acquire(0).unwrap();
    buffer.write_all(b"one\ntwo\nrest").unwrap();
    buffer.flush().unwrap();
    let mut line = String::new();
    assert_eq!(buffer.read_line(&mut line).unwrap(), 4);
    let mut three = [0; 3];
    buffer.read_exact(&mut three).unwrap();
    assert_eq!((line.as_str(), &three), ("one\n", b"two"));
    assert_eq!(buffer.fill_buf().unwrap(), b"\nrest");
    let mut rest = Vec::new();
    assert_eq!(buffer.read_to_end(&mut rest).unwrap(), 5);
    assert_eq!(buffer.read(&mut three).unwrap(), 0);

    let error = buffer.write_all(&[1; SIZE + 1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WriteZero);
    assert_eq!(error.to_string(), "the pooled buffer is full");
    assert_eq!(buffer.write(b"more").unwrap(), 0);
    assert_eq!(buffer.len(), SIZE);
}

#[test]
fn it_is_a_buf_and_a_buf_mut() {
    let pool = pool(true);
    let mut buffer = pool.acquire(0).unwrap();
    assert_eq!(buffer.remaining_mut(), SIZE);
    buffer.put_u16(0x0102);
    buffer.put(&b"abc"[..]);
    buffer.put_bytes(b'z', 2);
    assert_eq!((buffer.remaining(), buffer.remaining_mut()), (7, SIZE - 7));
    assert_eq!(buffer.get_u16(), 0x0102);
    assert_eq!(buffer.chunk(), b"abczz");
    buffer.chunk_mut()[..2].copy_from_slice(b"!?");
    // SAFETY: the two bytes were written.
    unsafe { BufMut::advance_mut(&mut buffer, 2) };
    assert_eq!(buffer.copy_to_bytes(7), &b"abczz!?"[..]);
    assert!(!buffer.has_remaining());
}

#[test]
fn a_frozen_buffer_is_shared_without_a_copy_and_returns_with_the_last_reference() {
    let pool = pool(true);
    let mut buffer = pool.acquire(0).unwrap();
    buffer.extend_from_slice(b"head body");
    buffer.advance(5);
    let place = buffer.as_ptr();
    let whole = buffer.freeze();
    assert_eq!((whole.as_ptr(), &whole[..]), (place, &b"body"[..]));
    let part = whole.slice(1..);
    drop(whole);
    pool.close();
    std::thread::spawn(move || assert_eq!(part, "ody")).join().unwrap();
    assert_eq!(pool.stats().in_use, 0);
    assert_eq!(pool.stats().bytes, 0);
}

#[test]
fn it_is_compared_and_hashed_as_the_slice_that_it_borrows() {
    let pool = pool(true);
    let mut map = HashMap::new();
    let mut key = pool.acquire(0).unwrap();
    key.extend_from_slice(b"key");
    let mut same = pool.acquire_zeroed(3).unwrap();
    same.copy_from_slice(b"key");
    assert!(key == same && key == b"key"[..] && key == b"key" && key == *b"key");
    assert!(key != *b"kez");
    map.insert(key, 1);
    assert_eq!(map.get(&b"key"[..]), Some(&1));
    assert_eq!(same.as_ref(), b"key");
}

#[test]
fn parts_are_read_while_the_buffer_is_filled_and_come_home_with_the_last_holder() {
    let pool = pool(true);
    for buffer_first in [false, true] {
        let mut buffer = pool.acquire(SIZE).unwrap();
        buffer.extend_from_slice(b"head;body");
        let head = buffer.split_to(5);
        let none = buffer.split_to(0);
        assert_eq!((&*head, &*buffer), (&b"head;"[..], &b"body"[..]));
        // Nothing writes to the part: neither a full buffer nor an empty one starts in front of its end.
        buffer.compact();
        buffer.extend_from_slice(&[1; SIZE]);
        assert_eq!((buffer.len(), buffer.spare_capacity()), (SIZE - 5, 0));
        let all = buffer.len();
        buffer.advance(all);
        buffer.clear();
        assert_eq!((buffer.spare_capacity(), buffer.extend_from_slice(b"more")), (SIZE - 5, 4));
        let clone = head.clone();
        assert!(clone == head && head == *b"head;" && head.as_ptr() == clone.as_ptr());
        assert_eq!(format!("{head:?}"), "PooledBytes { len: 5, .. }");
        drop((head, none));
        let other = std::thread::spawn(move || {
            assert_eq!(clone, b"head;");
            if buffer_first { Some(clone) } else { None }
        });
        if buffer_first {
            drop(buffer);
            assert_eq!(pool.stats().in_use, 1);
            drop(other.join().unwrap());
        } else {
            other.join().unwrap();
            // All of it is spare again.
            buffer.clear();
            assert_eq!(buffer.spare_capacity(), SIZE);
            buffer.extend_from_slice(b"again");
            drop(buffer);
        }
        assert_eq!(pool.stats().in_use, 0);
        assert_eq!(pool.acquire(SIZE).unwrap().spare_capacity_mut(), [0; SIZE]);
        assert_eq!(pool.stats().made, 1);
    }
}

fn panics(buffer: &mut PooledBuf, act: fn(&mut PooledBuf)) -> String {
    let act = std::panic::AssertUnwindSafe(|| act(buffer));
    *std::panic::catch_unwind(act).unwrap_err().downcast::<String>().unwrap()
}

#[test]
fn what_does_not_fit_is_refused_with_both_figures() {
    let pool = pool(true);
    let mut buffer = pool.acquire_zeroed(SIZE - 1).unwrap();
    for (act, message) in [
        (
            (|it| it.resize(SIZE + 1, 0)) as fn(&mut PooledBuf),
            "resize to 4097 bytes, but the buffer has 4096",
        ),
        (|it| drop(it.split_to(SIZE)), "4096 bytes split off, but there are 4095"),
        (|it| it.advance_mut(2), "advance_mut by 2 bytes, but there is room for 1"),
        (|it| it.advance(SIZE), "advance by 4096 bytes, but there are 4095"),
        (|it| it.consume(SIZE), "advance by 4096 bytes, but there are 4095"),
        (|it| it.advance(SIZE), "advance by 4096 bytes, but there are 4095"),
        (|it| it.put_slice(&[0; 2]), "put of 2 bytes, but there is room for 1"),
        (|it| it.put_bytes(0, 2), "put of 2 bytes, but there is room for 1"),
        (
            // SAFETY: all of the room is initialised, and too much is refused.
            |it| unsafe { BufMut::advance_mut(it, 2) },
            "advance_mut by 2 bytes, but there is room for 1",
        ),
    ] {
        assert_eq!(panics(&mut buffer, act), message);
        assert_eq!(buffer.len(), SIZE - 1);
    }
}
