//! [`Builder`]: what a pool is like.

use super::{BufferPool, ConfigError};
use crate::pool::list::{DefaultList, FreeList};
use core::fmt;
use core::marker::PhantomData;

/// What a [`BufferPool`] is to be like. Made by [`BufferPool::builder`].
///
/// ```
/// use tenure::pool::{BufferPool, TaggedStack};
///
/// let pool = BufferPool::builder()
///     .classes(4096, 8) // 4 KiB, 8 KiB ... 512 KiB
///     .limit(64 << 20)
///     .build()?;
/// assert_eq!(pool.acquire(5_000).unwrap().capacity(), 8_192);
/// assert_eq!(pool.largest(), 512 << 10);
///
/// // A list in which no thread keeps buffers to itself.
/// let pool = BufferPool::builder().list::<TaggedStack>().build()?;
/// # drop(pool);
/// # Ok::<(), tenure::pool::buffer::ConfigError>(())
/// ```
#[must_use = "a builder does nothing until `build`"]
pub struct Builder<L = DefaultList> {
    pub(super) smallest: usize,
    pub(super) count: usize,
    pub(super) zero: bool,
    pub(super) limit: Option<u64>,
    pub(super) hoard: usize,
    list: PhantomData<fn() -> L>,
}

const SMALLEST: usize = 16 << 10;
const COUNT: usize = 16;
const HOARD: usize = 512 << 10;

impl Builder {
    pub(super) const fn new() -> Self {
        Self {
            smallest: SMALLEST,
            count: COUNT,
            zero: true,
            limit: None,
            hoard: HOARD,
            list: PhantomData,
        }
    }
}

impl<L> Builder<L> {
    /// The size classes: `count` of them, the first of `smallest` bytes, each twice as large as the one
    /// before. `smallest` is a power of two, 64 or more. 16 classes from 16 KiB by default.
    pub const fn classes(mut self, smallest: usize, count: usize) -> Self {
        self.smallest = smallest;
        self.count = count;
        self
    }

    /// Whether what was written to a buffer is zeroed before the buffer is idle. Yes by default.
    ///
    /// If not, a buffer comes with what **earlier users** left in it: an error in the program then shows one
    /// user's data to another. It is never uninitialised memory.
    pub const fn zero(mut self, zero: bool) -> Self {
        self.zero = zero;
        self
    }

    /// The most bytes that all buffers may have together, idle ones included. A buffer counts with its whole
    /// capacity, and not with the 70 bytes or so that say where it is. No limit by default.
    pub const fn limit(mut self, bytes: u64) -> Self {
        self.limit = Some(bytes);
        self
    }

    /// How many bytes of idle buffers one thread may keep to itself, **in each size class**; 512 KiB by default.
    ///
    /// For [lists](Self::list) that hoard, as [`Magazines`](crate::pool::Magazines) do; they keep 64 buffers of a
    /// class at most. Idle buffers of a class that is larger than `bytes` are in the depot, for all threads, and an
    /// acquire of one writes lines that are shared.
    pub const fn hoard(mut self, bytes: usize) -> Self {
        self.hoard = bytes;
        self
    }

    /// The [list](crate::pool::list) of idle buffers, one for each size class: [`DefaultList`] by default.
    pub const fn list<M: FreeList>(self) -> Builder<M> {
        let Self { smallest, count, zero, limit, hoard, list: _ } = self;
        Builder { smallest, count, zero, limit, hoard, list: PhantomData }
    }

    fn check(&self) -> Result<(), ConfigError> {
        let Self { smallest, count, .. } = *self;
        if !smallest.is_power_of_two() || smallest < 64 {
            return Err(ConfigError::SmallestClass { smallest });
        }
        // The largest allocation is less than half of the address space.
        let most = (usize::BITS - 1 - smallest.trailing_zeros()) as usize;
        if !(1..=most).contains(&count) {
            return Err(ConfigError::NumberOfClasses { smallest, count, most });
        }
        match self.limit {
            Some(limit) if limit < smallest as u64 => Err(ConfigError::Limit { limit, smallest }),
            _ => Ok(()),
        }
    }
}

impl<L: FreeList> Builder<L> {
    /// The pool. It allocates no buffer before one is asked for.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] says which setting makes no pool.
    pub fn build(self) -> Result<BufferPool<L>, ConfigError> {
        self.check()?;
        Ok(BufferPool::build(&self))
    }
}

impl<L> Clone for Builder<L> {
    fn clone(&self) -> Self {
        let Self { smallest, count, zero, limit, hoard, list } = *self;
        Self { smallest, count, zero, limit, hoard, list }
    }
}

impl<L: FreeList> fmt::Debug for Builder<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("smallest", &self.smallest)
            .field("count", &self.count)
            .field("zero", &self.zero)
            .field("limit", &self.limit)
            .field("hoard", &self.hoard)
            .field("list", &L::NAME)
            .finish()
    }
}
