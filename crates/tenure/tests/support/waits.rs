//! A future that is polled by hand, and a waker that remembers.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

#[derive(Default)]
struct Woken(Mutex<bool>);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        *self.0.lock().unwrap() = true;
    }
}

pub(crate) struct Waits<R> {
    future: Pin<Box<dyn Future<Output = R>>>,
    woken: Arc<Woken>,
}

impl<R> Waits<R> {
    pub(crate) fn new(future: impl Future<Output = R> + 'static) -> Self {
        Self { future: Box::pin(future), woken: Arc::default() }
    }

    /// As [`new`](Self::new), and has a place in the queue.
    #[allow(dead_code, reason = "each test uses a part")]
    pub(crate) fn queued(future: impl Future<Output = R> + 'static) -> Self {
        let mut waits = Self::new(future);
        assert!(waits.poll().is_none(), "it does not wait");
        waits
    }

    pub(crate) fn poll(&mut self) -> Option<R> {
        let waker = Waker::from(Arc::clone(&self.woken));
        match self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }

    /// Has another waker from now on, which remembers nothing yet.
    #[allow(dead_code, reason = "each test uses a part")]
    pub(crate) fn moves_to_another_task(&mut self) {
        self.woken = Arc::default();
        assert!(self.poll().is_none());
    }

    pub(crate) fn is_woken(&self) -> bool {
        *self.woken.0.lock().unwrap()
    }

    /// The result, for which it has been woken.
    pub(crate) fn result(mut self) -> R {
        assert!(self.is_woken(), "it is not woken");
        self.poll().expect("it is woken for nothing")
    }
}
