//! [`Closing`]: waits for the end of a value.

use crate::wake::{block_on, wake_all};
use alloc::collections::BTreeMap;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Done when a closed value has been dropped: from [`Owner::close`](super::Owner::close).
///
/// A future; or [`wait`](Self::wait), without one. Dropping it waits for nothing.
///
/// Not for the child of a fork that came later: a lost thread may hold its lock. Nor can that child drop the last
/// [`Shared`](super::Shared) of an owner that its parent was closing, or close that owner again.
pub struct Closing {
    state: Arc<State>,
    number: u64,
}

#[derive(Default)]
struct State(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    has_ended: bool,
    closings: u64,
    /// By the closing's number.
    wakers: BTreeMap<u64, Waker>,
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // No user's code runs under the lock: a panic leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of an owner: who waits for the end, from the first close on, which sets it before it kills the count.
pub(super) struct Ending(OnceLock<Arc<State>>);

impl Ending {
    pub(super) const fn new() -> Self {
        Self(OnceLock::new())
    }

    pub(super) fn closing(&self) -> Closing {
        let state = Arc::clone(self.0.get_or_init(Arc::default));
        let mut waiting = state.lock();
        waiting.closings += 1;
        let number = waiting.closings;
        drop(waiting);
        Closing { state, number }
    }

    /// For the thread that destroys.
    pub(super) fn ended(&self) -> Ended {
        Ended(self.0.get().cloned())
    }
}

pub(super) struct Ended(Option<Arc<State>>);

impl Ended {
    pub(super) fn tell(self) {
        let Some(state) = self.0 else { return };
        let mut waiting = state.lock();
        waiting.has_ended = true;
        let wakers = core::mem::take(&mut waiting.wakers);
        drop(waiting);
        wake_all(wakers.into_values());
    }
}

impl Closing {
    /// Blocks the thread until the value has been dropped. For ever if this thread has a handle to it.
    pub fn wait(self) {
        block_on(self, Duration::MAX);
    }
}

impl Future for Closing {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let waker = context.waker().clone();
        let mut waiting = self.state.lock();
        if waiting.has_ended {
            return Poll::Ready(());
        }
        let old = waiting.wakers.insert(self.number, waker);
        drop(waiting);
        drop(old);
        Poll::Pending
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        // Dropped when the lock is released.
        let _waker = self.state.lock().wakers.remove(&self.number);
    }
}

impl fmt::Debug for Closing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Closing").finish_non_exhaustive()
    }
}
