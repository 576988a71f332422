//! The pools that users have do what the generic ones do: each method once.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tenure::pool::{AcquireError, BufferPool, SlotMut, SlotPool, SlotRef};

fn ready<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits"),
    }
}

#[test]
fn objects_are_taken_shared_found_discarded_and_trimmed() {
    let pool =
        SlotPool::builder(String::new).reset(String::clear).magazine_size(1).limit(2).build();
    assert!(pool.is_empty() && pool.limit() == 2);
    let mut object = pool.acquire().unwrap();
    object.push('a');
    let (key, other) = (SlotMut::key(&object), ready(pool.acquire_async()).unwrap());
    let refused = AcquireError::Exhausted { limit: 2 };
    assert_eq!(pool.acquire().unwrap_err(), refused);
    assert_eq!(pool.acquire_timeout(Duration::ZERO).unwrap_err(), refused);
    let shared = SlotMut::share(object);
    assert_eq!((&**pool.get(key).unwrap(), SlotRef::key(&shared)), ("a", key));
    drop(SlotRef::into_mut(shared.clone()).map(drop).unwrap_err());
    let object = SlotRef::into_mut(shared).unwrap();
    assert_eq!((pool.len(), pool.stats().in_use, pool.stats().made), (2, 2, 2));
    SlotMut::discard(object);
    drop(other);
    assert_eq!((pool.len(), pool.stats().idle), (1, 1));
    assert_eq!((pool.clone().trim(), pool.len()), (1, 0));
    assert!(!pool.is_closed());
    pool.close();
    assert!(pool.is_closed() && pool.acquire().unwrap_err() == AcquireError::Closed);
    assert_eq!(
        (*SlotPool::<u32>::default().acquire().unwrap(), SlotPool::<u32>::new().len()),
        (0, 0)
    );
    let pool = SlotPool::with(|| 1, |object| *object = 2);
    drop(pool.acquire().unwrap());
    assert_eq!(*pool.acquire().unwrap(), 2);
}

#[test]
fn buffers_are_taken_in_every_way_and_trimmed() {
    let pool = BufferPool::builder().classes(64, 2).limit(256).magazine_bytes(64).build().unwrap();
    assert_eq!((pool.largest(), pool.limit()), (128, Some(256)));
    let (send, recv) = pool.acquire_pair(64, 100).unwrap();
    assert_eq!((send.capacity(), recv.capacity()), (64, 128));
    let smaller = pool.acquire_or_smaller(128).unwrap();
    assert_eq!(smaller.capacity(), 64);
    let refused = AcquireError::LimitReached { limit: 256, held: 256, asked: 1 };
    assert_eq!(pool.acquire(1).unwrap_err(), refused);
    assert_eq!(pool.acquire_timeout(1, Duration::ZERO).unwrap_err(), refused);
    drop(send);
    assert_eq!(pool.acquire_zeroed(3).unwrap(), [0; 3]);
    assert_eq!(ready(pool.acquire_async(1)).unwrap().len(), 0);
    let classes = pool.class_stats();
    assert_eq!(
        (classes[0].size, classes[0].in_use, classes[1].size, classes[1].downgraded),
        (64, 1, 128, 1)
    );
    assert_eq!((pool.stats().in_use, pool.stats().bytes), (2, 256));
    assert_eq!((pool.clone().trim(), pool.stats().bytes), (64, 192));
    pool.close();
    assert!(pool.is_closed() && pool.acquire(1).unwrap_err() == AcquireError::Closed);
    assert_eq!(BufferPool::default().largest(), BufferPool::new().largest());
}
