//! [`PooledBuf`] and the crate `bytes`.

use super::PooledBuf;
use ::bytes::buf::UninitSlice;
use ::bytes::{Buf, BufMut, Bytes};

impl PooledBuf {
    /// The contents, shared without a copy: the buffer returns to its pool with the last [`Bytes`] that refers to it.
    ///
    /// Cost: an allocation of about 100 bytes, for the count of `Bytes`. To go on filling the rest of the buffer, see
    /// [`split_to`](Self::split_to).
    ///
    /// ```
    /// use tenure::pool::BufferPool;
    ///
    /// let pool = BufferPool::new();
    /// let mut buffer = pool.acquire(100).unwrap();
    /// buffer.extend_from_slice(b"to all of them");
    /// let message = buffer.freeze();
    /// let them = message.slice(3..);
    /// drop(message);
    /// assert_eq!(them, "all of them");
    /// assert_eq!(pool.stats().in_use, 1);
    /// drop(them);
    /// assert_eq!(pool.stats().in_use, 0);
    /// ```
    #[must_use]
    pub fn freeze(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

/// Consumes from the front.
impl Buf for PooledBuf {
    #[inline]
    fn remaining(&self) -> usize {
        self.len()
    }

    #[inline]
    fn chunk(&self) -> &[u8] {
        self
    }

    #[inline]
    fn advance(&mut self, count: usize) {
        self.advance(count);
    }
}

// SAFETY: `chunk_mut` is the spare bytes, which `remaining_mut` counts, and which do not move when `advance_mut` makes
// them contents.
/// Appends, and panics if that does not fit. [`chunk_mut`](BufMut::chunk_mut) counts as writing to all spare bytes,
/// which are zeroed on drop; `put` and `put_*` count what they write.
unsafe impl BufMut for PooledBuf {
    #[inline]
    fn remaining_mut(&self) -> usize {
        self.spare_capacity()
    }

    #[inline]
    unsafe fn advance_mut(&mut self, count: usize) {
        self.advance_mut(count);
    }

    #[inline]
    fn chunk_mut(&mut self) -> &mut UninitSlice {
        UninitSlice::new(self.spare_capacity_mut())
    }

    #[inline]
    fn put<T: Buf>(&mut self, mut from: T)
    where
        Self: Sized,
    {
        while from.has_remaining() {
            let count = from.chunk().len();
            self.put_slice(from.chunk());
            from.advance(count);
        }
    }

    #[inline]
    #[track_caller]
    fn put_slice(&mut self, bytes: &[u8]) {
        let spare = self.spare_capacity();
        let len = bytes.len();
        assert!(len <= spare, "put of {len} bytes, but there is room for {spare}");
        self.extend_from_slice(bytes);
    }

    #[inline]
    #[track_caller]
    fn put_bytes(&mut self, value: u8, count: usize) {
        let spare = self.spare_capacity();
        assert!(count <= spare, "put of {count} bytes, but there is room for {spare}");
        self.resize(self.len() + count, value);
    }
}
