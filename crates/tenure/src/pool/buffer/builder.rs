//! [`BufferPoolBuilder`]: size classes, limits, zeroing.

use super::BufferPool;
use super::block::Blocks;
use crate::pool::lifecycle::{Class, Handle, Pool};
use crate::pool::{ConfigError, DefaultList, FreeList};
use core::fmt;
use core::marker::PhantomData;

/// Settings of a [`BufferPool`]. Made by [`BufferPool::builder`].
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
/// // In this list no thread keeps buffers to itself.
/// let pool = BufferPool::builder().list::<TaggedStack>().build()?;
/// # drop(pool);
/// # Ok::<(), tenure::pool::ConfigError>(())
/// ```
#[must_use = "a builder does nothing until `build`"]
pub struct BufferPoolBuilder<L = DefaultList> {
    smallest: usize,
    count: usize,
    zero: bool,
    limit: Option<u64>,
    magazine_bytes: usize,
    list: PhantomData<fn() -> L>,
}

const SMALLEST: usize = 16 << 10;
const COUNT: usize = 16;
const MAGAZINE_BYTES: usize = 512 << 10;

impl BufferPoolBuilder {
    pub(super) const fn new() -> Self {
        Self {
            smallest: SMALLEST,
            count: COUNT,
            zero: true,
            limit: None,
            magazine_bytes: MAGAZINE_BYTES,
            list: PhantomData,
        }
    }
}

impl<L> BufferPoolBuilder<L> {
    /// `count` size classes: the first of `smallest` bytes, a power of two from 64, each next one twice as large. By
    /// default 16 classes from 16 KiB.
    pub const fn classes(mut self, smallest: usize, count: usize) -> Self {
        self.smallest = smallest;
        self.count = count;
        self
    }

    /// Whether a buffer is zeroed, as far as it was written to, before it becomes idle. Yes by default.
    ///
    /// If not, a buffer comes with what **earlier users** left in it: an error in the program then shows one user's
    /// data to another. It is never uninitialised memory.
    pub const fn zero(mut self, zero: bool) -> Self {
        self.zero = zero;
        self
    }

    /// The most bytes of all buffers together, idle ones included. A buffer counts with its whole capacity, but not
    /// with the 70 bytes or so that describe it. No limit by default.
    pub const fn limit(mut self, bytes: u64) -> Self {
        self.limit = Some(bytes);
        self
    }

    /// How many bytes of idle buffers one thread may keep, **in each size class**; 512 KiB by default.
    ///
    /// For [`Magazines`](crate::pool::Magazines), which keep at most 64 buffers of a class. Larger buffers than this
    /// are in the depot, and an acquire of one writes shared lines.
    pub const fn magazine_bytes(mut self, bytes: usize) -> Self {
        self.magazine_bytes = bytes;
        self
    }

    /// The list of idle buffers, one for each size class: [`DefaultList`] by default.
    pub const fn list<K: FreeList>(self) -> BufferPoolBuilder<K> {
        let Self { smallest, count, zero, limit, magazine_bytes, list: _ } = self;
        BufferPoolBuilder { smallest, count, zero, limit, magazine_bytes, list: PhantomData }
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

impl<L: FreeList> BufferPoolBuilder<L> {
    /// The pool. It allocates its first buffer for the first acquire.
    ///
    /// # Errors
    ///
    /// [`ConfigError`], for the first setting that makes no pool.
    pub fn build(self) -> Result<BufferPool<L>, ConfigError> {
        self.check()?;
        Ok(self.build_checked())
    }

    pub(super) fn build_checked(self) -> BufferPool<L> {
        let Self { smallest, count, zero, limit, magazine_bytes, list: _ } = self;
        let blocks = Blocks { smallest_shift: smallest.trailing_zeros(), zero };
        BufferPool(Handle::new(|owner| {
            let sizes = (0..count).map(|class| smallest << class);
            let class = |size| Class::new(size as u64, magazine_bytes / size, owner.clone());
            Pool::new(blocks, sizes.map(class).collect(), limit.unwrap_or(u64::MAX))
        }))
    }
}

impl<L> Clone for BufferPoolBuilder<L> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<L: FreeList> fmt::Debug for BufferPoolBuilder<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferPoolBuilder")
            .field("smallest", &self.smallest)
            .field("count", &self.count)
            .field("zero", &self.zero)
            .field("limit", &self.limit)
            .field("magazine_bytes", &self.magazine_bytes)
            .field("list", &L::NAME)
            .finish()
    }
}
