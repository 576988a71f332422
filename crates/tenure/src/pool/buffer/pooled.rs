//! [`PooledBuf`]: a buffer, and the way back to its pool.
#![allow(missing_docs, reason = "methods have their documentation in `pool::buffers`")]

use super::block::{self, Extent, Place, Slot};
use super::part::PooledBytes;
use crate::memory::Plain;
use crate::pool::list::{List, Magazines};
use core::ops::{Deref, DerefMut};
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::ptr::NonNull;
use core::slice;

/// A [`PooledBuf`](crate::pool::PooledBuf) of a pool with any list.
pub struct PooledBuf<L: List = Magazines> {
    /// Its contents keep the pool alive. Their bytes are all initialised. This is a holder of them.
    slot: NonNull<Slot<L>>,
}

// SAFETY: the buffer alone writes the block, which is bytes; threads share the pool anyway.
unsafe impl<L: List> Send for PooledBuf<L> {}
// SAFETY: as above; a shared reference only reads the bytes.
unsafe impl<L: List> Sync for PooledBuf<L> {}

/// A buffer is bytes, whatever happened while it was written to.
impl<L: List> UnwindSafe for PooledBuf<L> {}
/// As above.
impl<L: List> RefUnwindSafe for PooledBuf<L> {}

impl<L: List> PooledBuf<L> {
    /// # Safety
    ///
    /// The slot has a block of `len` bytes or more, and the caller, its only user, gives it to the new buffer.
    #[inline(always)]
    pub(super) unsafe fn new(slot: &Slot<L>, len: usize) -> Self {
        let mut this = Self { slot: NonNull::from(slot) };
        this.change(|extent| *extent = Extent { end: len, ..Extent::EMPTY });
        this
    }

    #[inline(always)]
    fn place(&self) -> &Place<L> {
        // SAFETY: the slot has a block, which keeps the pool.
        &unsafe { self.slot.as_ref() }.part.place
    }

    #[inline(always)]
    fn extent(&self) -> Extent {
        // SAFETY: only this buffer writes it, which is borrowed, before the last holder reads it.
        unsafe { self.place().extent.read() }
    }

    #[inline(always)]
    fn change(&mut self, change: impl FnOnce(&mut Extent)) {
        // SAFETY: only this buffer reads or writes it, and is borrowed exclusively.
        self.place().extent.with_mut(|extent| change(unsafe { &mut *extent }));
    }

    #[inline(always)]
    fn set_contents(&mut self, start: usize, end: usize) {
        self.change(|extent| (extent.start, extent.end) = (start, end));
    }

    #[inline(always)]
    fn block(&self) -> NonNull<u8> {
        // SAFETY: the slot has a block, and this buffer owns it.
        unsafe { self.place().block() }
    }

    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        // SAFETY: the slot has a block, which keeps the pool.
        unsafe { self.place().class() }.size as usize
    }

    #[inline]
    #[must_use]
    pub fn spare_capacity(&self) -> usize {
        self.capacity() - self.extent().end
    }

    /// Whether there is no part: the bytes in front of the contents are this buffer's, too.
    #[inline(always)]
    fn is_whole(&self) -> bool {
        // SAFETY: the slot has a block, which keeps the pool.
        block::is_only_holder(unsafe { self.slot.as_ref() })
    }

    #[inline]
    pub fn clear(&mut self) {
        // Parts lie in front of the contents.
        let start = if self.is_whole() { 0 } else { self.extent().start };
        self.set_contents(start, start);
    }

    pub fn truncate(&mut self, len: usize) {
        self.change(|extent| extent.end = extent.end.min(extent.start.saturating_add(len)));
    }

    #[track_caller]
    pub fn resize(&mut self, len: usize, value: u8) {
        if len <= self.len() {
            return self.truncate(len);
        }
        let more = len - self.len();
        if more > self.spare_capacity() {
            self.compact();
        }
        let most = self.len() + self.spare_capacity();
        assert!(len <= most, "resize to {len} bytes, but the buffer has {most}");
        self.next(more).fill(value);
        self.lengthen(more);
    }

    #[inline]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) -> usize {
        let fits = self.spare_capacity();
        if bytes.len() > fits {
            self.append_all(&bytes[..fits]);
            return fits;
        }
        // The whole piece, not cut to `fits`: of a serialiser's short pieces the compiler knows the length.
        self.append_all(bytes);
        bytes.len()
    }

    /// Appends bytes that fit.
    #[inline(always)]
    fn append_all(&mut self, bytes: &[u8]) {
        self.next(bytes.len()).copy_from_slice(bytes);
        self.lengthen(bytes.len());
    }

    pub fn spare_capacity_mut(&mut self) -> &mut [u8] {
        self.next(self.spare_capacity())
    }

    #[track_caller]
    pub fn advance_mut(&mut self, count: usize) {
        let spare = self.spare_capacity();
        assert!(count <= spare, "advance_mut by {count} bytes, but there is room for {spare}");
        self.lengthen(count);
    }

    #[track_caller]
    pub fn advance(&mut self, count: usize) {
        let len = self.len();
        assert!(count <= len, "advance by {count} bytes, but there are {len}");
        if count == len {
            return self.clear();
        }
        self.change(|extent| extent.start += count);
    }

    #[track_caller]
    pub fn split_to(&mut self, count: usize) -> PooledBytes<L> {
        let len = self.len();
        assert!(count <= len, "{count} bytes split off, but there are {len}");
        // SAFETY: this is a holder. It writes only from its `start` on, which is behind these bytes from here on, until
        // it is the only holder.
        let part = unsafe { PooledBytes::new(self.slot, &self[..count]) };
        self.change(|extent| extent.start += count);
        part
    }

    pub fn compact(&mut self) {
        let Extent { start, end, .. } = self.extent();
        if start == 0 || !self.is_whole() {
            return;
        }
        self.set_contents(0, end - start);
        self.expose(0, end).copy_within(start.., 0);
    }

    /// The bytes from `start` to `end` of the block, to be written to.
    #[inline(always)]
    fn expose(&mut self, start: usize, end: usize) -> &mut [u8] {
        debug_assert!(start <= end && end <= self.capacity(), "the buffer ends");
        self.change(|extent| extent.exposed = extent.exposed.max(end));
        // SAFETY: the block is initialised, and from `start` on this buffer's alone: no part is there. All callers keep
        // `end` within the capacity.
        unsafe { slice::from_raw_parts_mut(self.block().add(start).as_ptr(), end - start) }
    }

    /// The next `len` bytes behind the contents; there are as many.
    #[inline(always)]
    fn next(&mut self, len: usize) -> &mut [u8] {
        let end = self.extent().end;
        self.expose(end, end + len)
    }

    /// The next `count` bytes are contents; there are as many.
    #[inline(always)]
    fn lengthen(&mut self, count: usize) {
        self.change(|extent| extent.end += count);
    }
}

impl<L: List> Drop for PooledBuf<L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this holder ends.
        unsafe { block::put(self.slot) };
    }
}

impl<L: List> Deref for PooledBuf<L> {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        let Extent { start, end, .. } = self.extent();
        // SAFETY: the block is initialised and this buffer's, and `start <= end <= capacity`.
        unsafe { slice::from_raw_parts(self.block().add(start).as_ptr(), end - start) }
    }
}

impl<L: List> DerefMut for PooledBuf<L> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        let Extent { start, end, .. } = self.extent();
        self.expose(start, end)
    }
}

#[cfg(test)]
mod tests {
    use crate::pool::generic::BufferPool;

    #[test]
    fn what_could_not_be_written_to_is_not_zeroed_again() {
        const SIZE: usize = 4_096;
        let pool = BufferPool::builder().classes(SIZE, 1).build().unwrap();
        let mut buffer = pool.acquire(0).unwrap();
        assert_eq!(buffer.extend_from_slice(b"small"), 5);
        assert_eq!(buffer.extent().exposed, 5);
        // SAFETY: the last byte of the block, which no slice reaches.
        unsafe { buffer.block().add(SIZE - 1).write(1) };
        drop(buffer);
        // Reading exposes nothing.
        let buffer = pool.acquire_zeroed(SIZE).unwrap();
        assert_eq!((buffer[4], buffer[SIZE - 1], buffer.extent().exposed), (0, 1, 0));
    }
}
