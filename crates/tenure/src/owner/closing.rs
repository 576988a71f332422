//! [`Closing`]: waits for the end of a value.

use crate::wake::{block_on, wake_all};
use alloc::boxed::Box;
use core::fmt;
use core::future::Future;
use core::mem;
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

/// No user code runs under this lock, nor does the allocator, which may be user code: either could wait for the lock.
#[derive(Default)]
struct State(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    has_ended: bool,
    closings: u64,
    places: Places,
}

/// A list of the closings that exist. It is short.
#[derive(Default)]
struct Places(Option<Box<Place>>);

struct Place {
    /// The closing's number.
    number: u64,
    waker: Option<Waker>,
    next: Places,
}

impl Places {
    fn find(&mut self, number: u64) -> Option<&mut Place> {
        let mut places = self.0.as_deref_mut();
        while let Some(place) = places {
            if place.number == number {
                return Some(place);
            }
            places = place.next.0.as_deref_mut();
        }
        None
    }

    fn remove(&mut self, number: u64) -> Option<Box<Place>> {
        let mut places = self;
        while places.0.as_ref()?.number != number {
            places = &mut places.0.as_mut()?.next;
        }
        let mut place = places.0.take()?;
        places.0 = place.next.0.take();
        Some(place)
    }
}

impl Iterator for Places {
    type Item = Option<Waker>;

    fn next(&mut self) -> Option<Option<Waker>> {
        let place = self.0.take()?;
        self.0 = place.next.0;
        Some(place.waker)
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // No user's code runs under the lock: a panic leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who waits for an owner's end, from the first close on, which sets it before it kills the count.
pub(super) struct Ending(OnceLock<Arc<State>>);

impl Ending {
    pub(super) const fn new() -> Self {
        Self(OnceLock::new())
    }

    pub(super) fn closing(&self) -> Closing {
        // Made before the cell is locked to be initialised.
        let state = self.0.get().cloned().unwrap_or_default();
        let state = Arc::clone(self.0.get_or_init(|| state));
        let mut place = Box::new(Place { number: 0, waker: None, next: Places::default() });
        let mut waiting = state.lock();
        waiting.closings += 1;
        let number = waiting.closings;
        place.number = number;
        place.next = mem::take(&mut waiting.places);
        waiting.places = Places(Some(place));
        drop(waiting);
        Closing { state, number }
    }

    /// What wakes those who wait, for the thread that destroys the value.
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
        let places = mem::take(&mut waiting.places);
        drop(waiting);
        wake_all(places.flatten());
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
        // Dropped when the lock is released: the waker of before, if it was polled.
        let mut waker = Some(context.waker().clone());
        let mut waiting = self.state.lock();
        if waiting.has_ended {
            return Poll::Ready(());
        }
        if let Some(place) = waiting.places.find(self.number) {
            mem::swap(&mut place.waker, &mut waker);
        }
        Poll::Pending
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        // Dropped when the lock is released.
        let _place = self.state.lock().places.remove(self.number);
    }
}

impl fmt::Debug for Closing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Closing").finish_non_exhaustive()
    }
}
