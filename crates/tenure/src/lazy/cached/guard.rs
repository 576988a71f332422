//! [`CachedGuard`]: a read without a reader.

use crate::lazy::guard::guard;
use crate::lazy::seat::InUse;
use crate::lazy::{Seat, Shootdown};
use crate::memory::{Native, Threads};
use alloc::boxed::Box;
use core::marker::PhantomData;

/// A value that is [read](super::Cached::read) without a [`Reader`](super::Reader), up to the drop, on this thread.
///
/// Not counted. If the value is replaced meanwhile the guard keeps it; then its drop may be the one that drops the value.
pub struct CachedGuard<'c, T, M: Threads = Native> {
    in_use: InUse<'c, T, Shootdown, M>,
    /// Where the thread's own slot was in use. After `in_use`, which goes first.
    _seat: Option<Box<Seat<T, Shootdown, M>>>,
    /// The thread's slot is not another thread's.
    not_send: PhantomData<*mut ()>,
}

// SAFETY: through a shared reference the value is shared, and handles are taken; the drop is not there.
unsafe impl<T: Send + Sync, M: Threads> Sync for CachedGuard<'_, T, M> {}

impl<'c, T, M: Threads> CachedGuard<'c, T, M> {
    #[inline(always)]
    pub(super) fn new(
        in_use: InUse<'c, T, Shootdown, M>,
        seat: Option<Box<Seat<T, Shootdown, M>>>,
    ) -> Self {
        Self { in_use, _seat: seat, not_send: PhantomData }
    }
}

guard!([T, M: Threads] CachedGuard<'_, T, M>, in_use, Shootdown);
