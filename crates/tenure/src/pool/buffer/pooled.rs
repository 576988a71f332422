//! [`PooledBuf`]: a buffer, and the way back to its pool.

use super::block::{self, Extent, Place, Slot};
use super::part::PooledBytes;
use crate::memory::Plain;
use crate::pool::{DefaultList, FreeList};
use core::borrow::BorrowMut;
use core::ops::{Deref, DerefMut};
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::ptr::NonNull;
use core::slice;
#[cfg(feature = "std")]
use std::io::{BufRead, Error, ErrorKind, Read, Result, Write};

/// A byte buffer of a [`BufferPool`](super::BufferPool), to which it returns when dropped.
///
/// ```text
///   0          start            end                capacity
///   ├─ consumed ─┼─── contents ───┼──── spare ────────┤
/// ```
///
/// A container of bytes, as `Vec<u8>` is: it dereferences to its contents. Bytes are appended at the end, as to a `Vec`
/// of fixed capacity ([`Write`](std::io::Write), `BufMut` with the feature `bytes`), and consumed from the front
/// ([`Read`](std::io::Read), [`BufRead`](std::io::BufRead), `Buf`). Consumed bytes become spare when all contents are
/// consumed, or by [`compact`](Self::compact).
///
/// ```
/// use std::io::Write;
/// use tenure::pool::BufferPool;
///
/// let pool = BufferPool::new();
/// let mut message = pool.acquire(100)?; // empty, with room for 100 bytes and more
/// write!(message, "{} bytes", 12)?;
/// assert_eq!(message, b"12 bytes");
///
/// let mut array = pool.acquire_zeroed(100)?; // 100 zeros
/// array[99] = 1;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It is one pointer wide: what else describes the buffer is in the pool.
///
/// # What the next user sees
///
/// Zeros, unless the pool [does not zero](super::BufferPoolBuilder::zero): before the buffer becomes idle, all that
/// this user could have written to is zeroed. That is what was appended, and what was lent as a mutable slice:
/// [`deref_mut`](Self::deref_mut) lends the contents, [`spare_capacity_mut`](Self::spare_capacity_mut) all spare bytes. So appending a
/// small message to a large buffer costs little; passing `&mut buffer[..]` to a `read` costs zeroing all of it.
///
/// A leaked buffer (`mem::forget`) stays in use. It keeps its own memory and the pool's tables, but no idle buffers.
pub struct PooledBuf<L: FreeList = DefaultList> {
    /// Its contents keep the pool alive. Their bytes are all initialised. This is a holder of them.
    slot: NonNull<Slot<L>>,
}

// SAFETY: the buffer alone writes the block, which is bytes; threads share the pool anyway.
unsafe impl<L: FreeList> Send for PooledBuf<L> {}
// SAFETY: as above; a shared reference only reads the bytes.
unsafe impl<L: FreeList> Sync for PooledBuf<L> {}

/// A buffer is bytes, whatever happened while it was written to.
impl<L: FreeList> UnwindSafe for PooledBuf<L> {}
/// As above.
impl<L: FreeList> RefUnwindSafe for PooledBuf<L> {}

impl<L: FreeList> PooledBuf<L> {
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

    /// Bytes of the buffer, whatever it contains: the size of its class.
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        // SAFETY: the slot has a block, which keeps the pool.
        unsafe { self.place().class() }.size as usize
    }

    /// Bytes that can be appended.
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

    /// Empties the buffer: all of it is spare; while a [part](Self::split_to) exists, all that was contents or spare.
    /// Zeroes nothing yet.
    #[inline]
    pub fn clear(&mut self) {
        // Parts lie in front of the contents.
        let start = if self.is_whole() { 0 } else { self.extent().start };
        self.set_contents(start, start);
    }

    /// Keeps the first `len` bytes of the contents. Does nothing if there are not more.
    pub fn truncate(&mut self, len: usize) {
        self.change(|extent| extent.end = extent.end.min(extent.start.saturating_add(len)));
    }

    /// Makes the contents `len` bytes long, added bytes `value`. [Compacts](Self::compact) if the spare bytes are too
    /// few.
    ///
    /// # Panics
    ///
    /// If `len` is more than the capacity: a pooled buffer does not grow. While a [part](Self::split_to) exists, if it
    /// is more than contents and [spare](Self::spare_capacity) bytes.
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

    /// Appends as many of the bytes as fit. Returns how many: **fewer than `bytes.len()` if the buffer gets full**. If
    /// that is an error, use `write_all` of [`Write`](std::io::Write). Consumed bytes are not spare before
    /// [`compact`](Self::compact).
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

    /// The spare bytes, to be written to and then made contents by [`advance_mut`](Self::advance_mut): zeros, or what this user left there, or
    /// with [`zero(false)`](super::BufferPoolBuilder::zero) an earlier user.
    ///
    /// All of them are zeroed on drop. If that is too much, [`resize`](Self::resize), write, and
    /// [`truncate`](Self::truncate).
    pub fn spare_capacity_mut(&mut self) -> &mut [u8] {
        self.next(self.spare_capacity())
    }

    /// Makes the first `count` spare bytes contents, as they are.
    ///
    /// # Panics
    ///
    /// If `count` is more than [`spare_capacity`](Self::spare_capacity).
    #[track_caller]
    pub fn advance_mut(&mut self, count: usize) {
        let spare = self.spare_capacity();
        assert!(count <= spare, "advance_mut by {count} bytes, but there is room for {spare}");
        self.lengthen(count);
    }

    /// Removes `count` bytes from the front of the contents.
    ///
    /// # Panics
    ///
    /// If `count` is more than the length.
    #[track_caller]
    pub fn advance(&mut self, count: usize) {
        let len = self.len();
        assert!(count <= len, "advance by {count} bytes, but there are {len}");
        if count == len {
            return self.clear();
        }
        self.change(|extent| extent.start += count);
    }

    /// Splits off the first `count` bytes of the contents, without a copy: to send a message on while the buffer is
    /// filled with the next.
    ///
    /// The buffer keeps what comes after. Bytes in front of its contents become spare again when no part is left: then
    /// by [`compact`](Self::compact), or when all contents are consumed. So a buffer may run full; then move the
    /// contents to another one.
    ///
    /// Parts are read only, unlike `BytesMut`'s: they are shared without a copy, and what they need of the pool is one
    /// count beside the buffer.
    ///
    /// ```
    /// use tenure::pool::BufferPool;
    ///
    /// let pool = BufferPool::new();
    /// let mut buffer = pool.acquire(100)?;
    /// buffer.extend_from_slice(b"first;sec");
    /// let first = buffer.split_to(6);
    /// buffer.extend_from_slice(b"ond");
    /// let second = std::thread::spawn(move || {
    ///     assert_eq!(first, b"first;");
    /// });
    /// assert_eq!(buffer, b"second");
    /// second.join().unwrap();
    /// buffer.compact();
    /// assert_eq!(buffer.spare_capacity(), buffer.capacity() - 6);
    /// # Ok::<(), tenure::pool::AcquireError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If `count` is more than the length, or for the 2^31st part.
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

    /// Moves the contents to the beginning, so that consumed bytes are spare. Does nothing while a [part](Self::split_to)
    /// exists. Cost: a copy of the contents.
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

impl<L: FreeList> Drop for PooledBuf<L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this holder ends.
        unsafe { block::put(self.slot) };
    }
}

impl<L: FreeList> Deref for PooledBuf<L> {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        let Extent { start, end, .. } = self.extent();
        // SAFETY: the block is initialised and this buffer's, and `start <= end <= capacity`.
        unsafe { slice::from_raw_parts(self.block().add(start).as_ptr(), end - start) }
    }
}

impl<L: FreeList> DerefMut for PooledBuf<L> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        let Extent { start, end, .. } = self.extent();
        self.expose(start, end)
    }
}

impl<L: FreeList> AsMut<[u8]> for PooledBuf<L> {
    fn as_mut(&mut self) -> &mut [u8] {
        self
    }
}

impl<L: FreeList> BorrowMut<[u8]> for PooledBuf<L> {
    fn borrow_mut(&mut self) -> &mut [u8] {
        self
    }
}

/// Consumes from the front. Never fails; `Ok(0)` if the buffer is empty.
#[cfg(feature = "std")]
impl<L: FreeList> Read for PooledBuf<L> {
    #[inline]
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let count = into.len().min(self.len());
        into[..count].copy_from_slice(&self[..count]);
        self.advance(count);
        Ok(count)
    }
}

/// Consumes from the front. [`consume`](BufRead::consume) panics if it has fewer bytes.
#[cfg(feature = "std")]
impl<L: FreeList> BufRead for PooledBuf<L> {
    #[inline]
    fn fill_buf(&mut self) -> Result<&[u8]> {
        Ok(self)
    }

    #[inline]
    fn consume(&mut self, count: usize) {
        self.advance(count);
    }
}

/// Appends what fits: `Ok(0)` if the buffer is full. Then `write_all` and `write!`, having appended what fits, fail
/// with `WriteZero`.
#[cfg(feature = "std")]
impl<L: FreeList> Write for PooledBuf<L> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        Ok(self.extend_from_slice(bytes))
    }

    /// As the provided method, without its loop.
    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        if self.extend_from_slice(bytes) < bytes.len() {
            return Err(Error::new(ErrorKind::WriteZero, "the pooled buffer is full"));
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::pool::BufferPool;

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
