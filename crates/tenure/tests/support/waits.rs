//! A future that is polled by hand, a waker that remembers, and one that panics.
#![allow(dead_code, reason = "each test uses a part")]

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// How often it was woken.
#[derive(Default)]
pub(crate) struct Woken(Mutex<u32>);

impl Woken {
    pub(crate) fn times(&self) -> u32 {
        *self.0.lock().unwrap()
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        *self.0.lock().unwrap() += 1;
    }
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("in a waker");
    }
}

pub(crate) fn waker_that_panics() -> Waker {
    Waker::from(Arc::new(Panics))
}

pub(crate) struct Waits<R> {
    future: Pin<Box<dyn Future<Output = R> + Send>>,
    pub(crate) woken: Arc<Woken>,
}

impl<R> Waits<R> {
    pub(crate) fn new(future: impl Future<Output = R> + Send + 'static) -> Self {
        Self { future: Box::pin(future), woken: Arc::default() }
    }

    /// As [`new`](Self::new), and has a place in the queue.
    pub(crate) fn queued(future: impl Future<Output = R> + Send + 'static) -> Self {
        let mut waits = Self::new(future);
        assert!(waits.poll().is_none(), "it does not wait");
        waits
    }

    pub(crate) fn poll(&mut self) -> Option<R> {
        self.poll_by(&Waker::from(Arc::clone(&self.woken)))
    }

    pub(crate) fn poll_by(&mut self, waker: &Waker) -> Option<R> {
        match self.future.as_mut().poll(&mut Context::from_waker(waker)) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }

    /// Has another waker from now on, which remembers nothing yet.
    pub(crate) fn moves_to_another_task(&mut self) {
        self.woken = Arc::default();
        assert!(self.poll().is_none());
    }

    pub(crate) fn is_woken(&self) -> bool {
        self.woken.times() > 0
    }

    /// The result, for which it has been woken.
    pub(crate) fn result(mut self) -> R {
        assert!(self.is_woken(), "it is not woken");
        self.poll().expect("it is woken for nothing")
    }
}
