//! [`Closing`]: waits for the end of a value.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Wake;
use std::thread::{self, Thread};

/// Done when a closed value has been dropped: from [`Owner::close`](super::Owner::close).
///
/// A future; or [`wait`](Self::wait), without one. Dropping it waits for nothing.
#[must_use = "to close without waiting, drop the owner"]
pub struct Closing {
    state: Arc<Mutex<State>>,
}

enum State {
    Open(Option<Waker>),
    Ended,
}

/// For the thread that destroys.
pub(super) struct Ended(Arc<Mutex<State>>);

impl Closing {
    pub(super) fn new() -> (Self, Ended) {
        let state = Arc::new(Mutex::new(State::Open(None)));
        (Self { state: Arc::clone(&state) }, Ended(state))
    }

    /// Blocks the thread until the value has been dropped. For ever if this thread has a handle to it.
    pub fn wait(mut self) {
        struct Unpark(Thread);
        impl Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        while Pin::new(&mut self).poll(&mut Context::from_waker(&waker)).is_pending() {
            thread::park();
        }
    }
}

impl Future for Closing {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // A panic of a waker's leaves nothing half done.
        match &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Ended => Poll::Ready(()),
            State::Open(waker) => {
                match waker {
                    Some(waker) => waker.clone_from(context.waker()),
                    None => *waker = Some(context.waker().clone()),
                }
                Poll::Pending
            }
        }
    }
}

impl Ended {
    pub(super) fn tell(self) {
        let before = core::mem::replace(
            &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner),
            State::Ended,
        );
        // The lock is released.
        if let State::Open(Some(waker)) = before {
            waker.wake();
        }
    }
}

impl fmt::Debug for Closing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Closing").finish_non_exhaustive()
    }
}
