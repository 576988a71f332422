//! [`PooledBytes`]: a part of a buffer, that outlives it.

use super::block::{self, Slot};
use crate::pool::{DefaultList, FreeList};
use core::ops::Deref;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::ptr::NonNull;
use core::slice;

/// Bytes that were split off a [`PooledBuf`](super::PooledBuf) by [`split_to`](super::PooledBuf::split_to), shared by
/// its clones and read only.
///
/// The memory returns to the pool with the last of the buffer and its parts, on any thread. With the feature `bytes`,
/// `Bytes::from_owner` makes it a `Bytes`.
///
/// Cost: a clone is an atomic add on a word that all parts of the buffer share, a drop a load and a subtraction. The last
/// one zeroes and releases the buffer.
pub struct PooledBytes<L: FreeList = DefaultList> {
    /// A holder of its block.
    slot: NonNull<Slot<L>>,
    first: NonNull<u8>,
    len: usize,
}

// SAFETY: the bytes are only read, until the last holder goes. Threads share the pool anyway.
unsafe impl<L: FreeList> Send for PooledBytes<L> {}
// SAFETY: as above.
unsafe impl<L: FreeList> Sync for PooledBytes<L> {}

/// Bytes that no one writes.
impl<L: FreeList> UnwindSafe for PooledBytes<L> {}
/// As above.
impl<L: FreeList> RefUnwindSafe for PooledBytes<L> {}

impl<L: FreeList> PooledBytes<L> {
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

impl<L: FreeList> Deref for PooledBytes<L> {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: initialised and not written to, while there is this holder.
        unsafe { slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }
}

impl<L: FreeList> Clone for PooledBytes<L> {
    fn clone(&self) -> Self {
        // SAFETY: this is a holder, and as it says the bytes are not written to.
        unsafe { Self::new(self.slot, self) }
    }
}

impl<L: FreeList> Drop for PooledBytes<L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this holder ends.
        unsafe { block::put(self.slot) };
    }
}
