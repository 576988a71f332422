//! The buffers of connections: one pool, whose free list is chosen when the server starts. The choice among three types
//! of [`BufferPool`] costs a branch for each use of a buffer.

use std::fmt;
use std::ops::Deref;

use tenure::pool::list::Scan;
use tenure::pool::{
    AcquireError, BufferPool, BufferStatistics, ConfigError, Magazines, PooledBuf, TaggedStack,
};

/// Bytes of a buffer by default: the smallest size class of SMC sockets.
pub const DEFAULT_BYTES: usize = 16 << 10;

/// More than a server of this crate asks for.
const CLASSES: usize = 8;

choice! {
    /// Which free list a pool has.
    PoolKind, "a pool is scan, tagged or magazines";
    /// The baseline: all buffers are walked for a free one.
    Scan = "scan",
    /// One list for all threads.
    Tagged = "tagged",
    /// Each thread keeps some free buffers.
    #[default]
    Magazines = "magazines",
}

/// The same call for each variant, whose [`Buffer`] `$wrap` makes.
macro_rules! each {
    ($kind:ident, $value:expr, |$inner:ident, $wrap:ident| $call:expr) => {
        match $value {
            $kind::Scan($inner) => {
                let $wrap = Buffer::Scan;
                $call
            }
            $kind::Tagged($inner) => {
                let $wrap = Buffer::Tagged;
                $call
            }
            $kind::Magazines($inner) => {
                let $wrap = Buffer::Magazines;
                $call
            }
        }
    };
}

/// A pool of buffers.
#[derive(Clone)]
pub enum Buffers {
    /// With [`PoolKind::Scan`].
    Scan(BufferPool<Scan>),
    /// With [`PoolKind::Tagged`].
    Tagged(BufferPool<TaggedStack>),
    /// With [`PoolKind::Magazines`].
    Magazines(BufferPool<Magazines>),
}

impl Buffers {
    /// A pool whose smallest buffers have `bytes`.
    ///
    /// # Errors
    ///
    /// `bytes` is no power of two, or less than 64.
    pub fn new(kind: PoolKind, bytes: usize) -> Result<Self, ConfigError> {
        let settings = BufferPool::builder().classes(bytes, CLASSES);
        Ok(match kind {
            PoolKind::Scan => Self::Scan(settings.list().build()?),
            PoolKind::Tagged => Self::Tagged(settings.list().build()?),
            PoolKind::Magazines => Self::Magazines(settings.list().build()?),
        })
    }

    /// An empty buffer of the smallest class. Fails as [`BufferPool::acquire`].
    #[inline]
    pub fn acquire(&self) -> Result<Buffer, AcquireError> {
        each!(Self, self, |pool, wrap| pool.acquire(0).map(wrap))
    }

    /// Two empty buffers of the smallest class, or none. Fails as [`BufferPool::acquire_pair`].
    #[inline]
    pub fn acquire_pair(&self) -> Result<(Buffer, Buffer), AcquireError> {
        each!(Self, self, |pool, wrap| pool.acquire_pair(0, 0).map(|(a, b)| (wrap(a), wrap(b))))
    }

    /// Frees idle buffers.
    pub fn trim(&self) {
        each!(Self, self, |pool, _wrap| pool.trim());
    }

    /// The pool's statistics.
    #[must_use]
    pub fn statistics(&self) -> BufferStatistics {
        each!(Self, self, |pool, _wrap| pool.statistics())
    }
}

impl fmt::Debug for Buffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Buffers").field(&self.statistics().total).finish()
    }
}

/// Written bytes, and room for more. Its drop zeroes it and gives it back.
#[derive(Debug)]
pub enum Buffer {
    /// From [`Buffers::Scan`].
    Scan(PooledBuf<Scan>),
    /// From [`Buffers::Tagged`].
    Tagged(PooledBuf<TaggedStack>),
    /// From [`Buffers::Magazines`].
    Magazines(PooledBuf<Magazines>),
}

impl Buffer {
    /// Appends what fits, and returns how many bytes that was.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) -> usize {
        each!(Self, self, |buffer, _wrap| buffer.append(bytes))
    }

    /// Bytes of room.
    #[inline]
    #[must_use]
    pub fn spare(&self) -> usize {
        each!(Self, self, |buffer, _wrap| buffer.spare())
    }

    /// The room, to be written to and then [committed](Self::commit).
    #[inline]
    pub fn spare_mut(&mut self) -> &mut [u8] {
        each!(Self, self, |buffer, _wrap| buffer.spare_mut())
    }

    /// Counts `count` bytes of the room as written. Panics if there is less.
    #[inline]
    pub fn commit(&mut self, count: usize) {
        each!(Self, self, |buffer, _wrap| buffer.commit(count));
    }

    /// Drops the first `count` bytes. Panics if there are fewer.
    #[inline]
    pub fn consume(&mut self, count: usize) {
        each!(Self, self, |buffer, _wrap| buffer.consume_front(count));
    }

    /// Moves the bytes to the front: what was consumed is room again.
    #[inline]
    pub fn compact(&mut self) {
        each!(Self, self, |buffer, _wrap| buffer.compact());
    }

    /// Drops all bytes.
    #[inline]
    pub fn clear(&mut self) {
        each!(Self, self, |buffer, _wrap| buffer.clear());
    }
}

impl Deref for Buffer {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        each!(Self, self, |buffer, _wrap| buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_of_every_pool_is_filled_consumed_and_given_back() {
        for (kind, name) in PoolKind::ALL {
            assert_eq!((kind.to_string().as_str(), name.parse()), (name, Ok(kind)));
            let pool = Buffers::new(kind, 4096).unwrap();
            let (mut send, recv) = pool.acquire_pair().unwrap();
            assert_eq!((send.len(), recv.len(), send.spare()), (0, 0, 4096));
            assert_eq!(send.append(b"hello"), 5);
            send.spare_mut()[0] = b'!';
            send.commit(1);
            send.consume(4);
            assert_eq!((&*send, send.spare()), (&b"o!"[..], 4090));
            send.compact();
            assert_eq!((&*send, send.spare()), (&b"o!"[..], 4094));
            assert_eq!(pool.statistics().total.in_use, 2);
            drop((send, recv));
            assert_eq!(pool.statistics().total.in_use, 0);
        }
        assert!("list".parse::<PoolKind>().is_err());
    }
}
