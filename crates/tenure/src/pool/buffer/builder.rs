//! [`BufferPoolBuilder`]: size classes, limits, zeroing.
#![allow(missing_docs, reason = "methods have their documentation in `pool::buffers`")]

use super::BufferPool;
use super::block::Blocks;
use crate::pool::ConfigError;
use crate::pool::lifecycle::{Class, Handle, Pool};
use crate::pool::list::{List, Magazines};
use core::fmt;
use core::marker::PhantomData;

/// A [`BufferPoolBuilder`](crate::pool::BufferPoolBuilder) for any list.
#[must_use = "a builder does nothing until `build`"]
pub struct BufferPoolBuilder<L = Magazines> {
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
    pub const fn classes(mut self, smallest: usize, count: usize) -> Self {
        self.smallest = smallest;
        self.count = count;
        self
    }

    pub const fn zero(mut self, zero: bool) -> Self {
        self.zero = zero;
        self
    }

    pub const fn limit(mut self, bytes: u64) -> Self {
        self.limit = Some(bytes);
        self
    }

    pub const fn magazine_bytes(mut self, bytes: usize) -> Self {
        self.magazine_bytes = bytes;
        self
    }

    /// The list of idle buffers, one for each size class.
    pub const fn list<K: List>(self) -> BufferPoolBuilder<K> {
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

impl<L: List> BufferPoolBuilder<L> {
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

impl<L: List> fmt::Debug for BufferPoolBuilder<L> {
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
