//! [`Reader`]: the fastest way to read a [`Cached`](super::Cached).

use super::Published;
use crate::lazy::guard::guard;
use crate::lazy::seat::InUse;
use crate::lazy::shootdown::Object;
use crate::lazy::{Seat, Shootdown};
use crate::memory::{Native, Threads};
use crate::shared::Shared;
use core::fmt;
use core::ptr::NonNull;

/// A handle to a [`Cached`](super::Cached) for one thread at a time.
///
/// ```
/// use tenure::lazy::Cached;
///
/// let cached = Cached::new(1);
/// let mut reader = cached.reader();
/// assert_eq!(*reader.read(), 1);
/// cached.store(2);
/// assert_eq!(*reader.read(), 2);
/// ```
///
/// It keeps no value alive between reads, however long they are apart.
pub struct Reader<T, M: Threads = Native> {
    /// Before `published`: the handle that keeps the domain anyway.
    seat: Seat<T, Shootdown, M>,
    published: Shared<Published<T, M>, M>,
}

impl<T, M: Threads> Reader<T, M> {
    pub(super) fn new(published: Shared<Published<T, M>, M>) -> Self {
        Self { seat: published.domain.seat(), published }
    }

    /// Reads the value.
    ///
    /// Loads the shared pointer, and loads and stores words on the reader's own line. The first read of a new value takes
    /// an atomic read-modify-write there.
    #[inline(always)]
    pub fn read(&mut self) -> ReadGuard<'_, T, M> {
        // SAFETY: `&mut self` is the owner of the seat, and the guard borrows it.
        ReadGuard(unsafe { self.published.protect(self.seat.slot()) })
    }
}

impl<T, M: Threads> Clone for Reader<T, M> {
    /// A reader of its own, for another thread.
    fn clone(&self) -> Self {
        Self::new(self.published.clone())
    }
}

impl<T, M: Threads> fmt::Debug for Reader<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("seat", &self.seat).finish()
    }
}

/// The guard of [`Reader::read`]: the value as it was read, until the drop.
///
/// Not counted. If the value is replaced meanwhile the guard keeps it, and its drop may be the one that drops the value.
#[must_use = "the value is in use until the guard is dropped"]
pub struct ReadGuard<'r, T, M: Threads = Native>(InUse<'r, T, Shootdown, M>);

impl<T, M: Threads> ReadGuard<'_, T, M> {
    pub(super) fn block(&self) -> NonNull<Object<T, M, false>> {
        self.0.block()
    }
}

guard!([T, M: Threads] ReadGuard<'_, T, M>, 0, Shootdown, "A [`Context`](crate::lazy::Context) of the value, unless it has been replaced meanwhile and its last context is gone. One atomic add on its count.\n\nTo keep a value for long, or to send it elsewhere, ask [`Cached::context`](super::Cached::context) for it at once.");
