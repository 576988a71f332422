//! [`wake_all`]: many wakers, some of which may panic; [`block_on`]: a future without a runtime.

use core::task::Waker;
#[cfg(feature = "std")]
use core::task::{Context, Poll};

/// Wakes all of them, whichever panics. A second panic aborts, as in other destructors.
pub(crate) fn wake_all(wakers: impl Iterator<Item = Waker>) {
    struct Rest<I: Iterator<Item = Waker>>(I);

    impl<I: Iterator<Item = Waker>> Drop for Rest<I> {
        fn drop(&mut self) {
            self.0.by_ref().for_each(Waker::wake);
        }
    }

    Rest(wakers).0.by_ref().for_each(Waker::wake);
}

/// The result of `future`, unless it takes longer.
#[cfg(feature = "std")]
pub(crate) fn block_on<R>(
    future: impl Future<Output = R>,
    timeout: core::time::Duration,
) -> Option<R> {
    use std::task::Wake;
    use std::thread::{self, Thread};
    use std::time::Instant;

    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: alloc::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = core::pin::pin!(future);
    // Few have to wait, and need a waker and the time.
    if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        return Some(result);
    }
    // `None`: for ever.
    let end = Instant::now().checked_add(timeout);
    let waker = Waker::from(alloc::sync::Arc::new(Unpark(thread::current())));
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(result);
        }
        match end.map(|end| end.saturating_duration_since(Instant::now())) {
            Some(left) if left.is_zero() => return None,
            Some(left) => thread::park_timeout(left),
            None => thread::park(),
        }
    }
}
