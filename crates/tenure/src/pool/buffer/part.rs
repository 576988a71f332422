//! [`PooledBytes`]: a part of a buffer, that outlives it.

use super::block::{self, Slot};
use crate::pool::list::{List, Magazines};
use core::ops::Deref;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::ptr::NonNull;
use core::slice;

/// [`PooledBytes`](crate::pool::PooledBytes) of a pool with any list.
pub struct PooledBytes<L: List = Magazines> {
    /// A holder of its block.
    slot: NonNull<Slot<L>>,
    first: NonNull<u8>,
    len: usize,
}

// SAFETY: the bytes are only read, until the last holder goes. Threads share the pool anyway.
unsafe impl<L: List> Send for PooledBytes<L> {}
// SAFETY: as above.
unsafe impl<L: List> Sync for PooledBytes<L> {}

/// Bytes that no one writes.
impl<L: List> UnwindSafe for PooledBytes<L> {}
/// As above.
impl<L: List> RefUnwindSafe for PooledBytes<L> {}

impl<L: List> PooledBytes<L> {
    /// # Safety
    ///
    /// The slot has a block, and the caller is a holder. No thread writes to the bytes, which are initialised, while
    /// there is this or another holder.
    pub(super) unsafe fn new(slot: NonNull<Slot<L>>, bytes: &[u8]) -> Self {
        // SAFETY: the caller is a holder.
        block::hold(unsafe { slot.as_ref() });
        Self { slot, first: NonNull::from(bytes).cast(), len: bytes.len() }
    }
}

impl<L: List> Deref for PooledBytes<L> {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: initialised and not written to, while there is this holder.
        unsafe { slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }
}

impl<L: List> Clone for PooledBytes<L> {
    fn clone(&self) -> Self {
        // SAFETY: this is a holder, and as it says the bytes are not written to.
        unsafe { Self::new(self.slot, self) }
    }
}

impl<L: List> Drop for PooledBytes<L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this holder ends.
        unsafe { block::put(self.slot) };
    }
}
