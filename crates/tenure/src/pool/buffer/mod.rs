//! [`BufferPool`] and [`PooledBuf`]: byte buffers that are used again.
#![allow(missing_docs, reason = "methods have their documentation in `pool::buffers`")]

mod block;
mod builder;
mod erase;
mod part;
mod pooled;

pub use builder::BufferPoolBuilder;
pub use part::PooledBytes;
pub use pooled::PooledBuf;

use super::error::AcquireError;
use super::lifecycle::{Handle, Refused};
use super::list::{List, Magazines};
use super::statistics::Stats;
use crate::memory::{Atomic, Ordering};
#[cfg(feature = "std")]
use crate::wake::block_on;
use alloc::vec::Vec;
use block::{Blocks, OutOfMemory, Slot};
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};

/// A [`BufferPool`](super::BufferPool) with a list of the kind `L`.
pub struct BufferPool<L: List = Magazines>(Handle<Blocks, L>);

impl BufferPool {
    #[must_use]
    pub fn new() -> Self {
        BufferPoolBuilder::new().build_checked()
    }

    pub const fn builder() -> BufferPoolBuilder {
        BufferPoolBuilder::new()
    }
}

impl Default for BufferPool {
    fn default() -> Self {
        Self::new()
    }
}

impl<L: List> BufferPool<L> {
    #[inline(always)]
    pub fn acquire(&self, capacity: usize) -> Result<PooledBuf<L>, AcquireError> {
        let slot = self.acquire_slot(capacity, false)?;
        // SAFETY: the slot has a block, and was given to this call.
        Ok(unsafe { PooledBuf::new(slot, 0) })
    }

    #[inline(always)]
    pub fn acquire_zeroed(&self, len: usize) -> Result<PooledBuf<L>, AcquireError> {
        let slot = self.acquire_slot(len, false)?;
        // SAFETY: as above; its class was chosen for `len`.
        let mut buffer = unsafe { PooledBuf::new(slot, len) };
        if !self.0.contents.zero {
            buffer.fill(0);
        }
        Ok(buffer)
    }

    pub fn acquire_or_smaller(&self, capacity: usize) -> Result<PooledBuf<L>, AcquireError> {
        let slot = self.acquire_slot(capacity, true)?;
        // SAFETY: as in `acquire`.
        Ok(unsafe { PooledBuf::new(slot, 0) })
    }

    #[inline(always)]
    fn acquire_slot(&self, capacity: usize, or_smaller: bool) -> Result<&Slot<L>, AcquireError> {
        let class = self.0.classes.get(self.class_for(capacity));
        match class.and_then(|class| class.table.reuse()) {
            Some(slot) => Ok(slot),
            None => self.acquire_slowly(capacity, or_smaller),
        }
    }

    #[cold]
    #[inline(never)]
    fn acquire_slowly(&self, capacity: usize, or_smaller: bool) -> Result<&Slot<L>, AcquireError> {
        let asked = self.class_for(capacity);
        let Some(class) = self.0.classes.get(asked) else {
            return Err(AcquireError::TooLarge { asked: capacity, largest: self.largest() });
        };
        let smallest = if or_smaller { 0 } else { asked };
        let slot = self.0.acquire_slowly(asked, smallest);
        let slot = slot.map_err(|refused| self.error(&refused, capacity))?;
        // SAFETY: the slot has a block, which keeps the pool.
        if unsafe { slot.part.place.class() }.size != class.size {
            // Relaxed: a figure.
            class.counts.downgraded.fetch_add(1, Ordering::Relaxed);
        }
        Ok(slot)
    }

    fn error(&self, refused: &Refused<OutOfMemory>, capacity: usize) -> AcquireError {
        match refused {
            Refused::Closed => AcquireError::Closed,
            Refused::Limit => {
                let (limit, held) = (self.0.limit, self.0.held());
                AcquireError::LimitReached { limit, held, asked: capacity }
            }
            Refused::NoSlot => {
                let size = self.0.classes[self.class_for(capacity)].size as usize;
                AcquireError::TooManyBuffers { size }
            }
            &Refused::Failed(OutOfMemory(asked)) => AcquireError::OutOfMemory { asked },
        }
    }

    pub async fn acquire_async(&self, capacity: usize) -> Result<PooledBuf<L>, AcquireError> {
        let asked = self.class_for(capacity);
        if self.0.classes.get(asked).is_none_or(|class| class.size > self.0.limit) {
            return self.acquire(capacity);
        }
        let slot = self.0.acquire_in_turn(asked).await;
        let slot = slot.map_err(|refused| self.error(&refused, capacity))?;
        // SAFETY: as in `acquire`.
        Ok(unsafe { PooledBuf::new(slot, 0) })
    }

    #[cfg(feature = "std")]
    pub fn acquire_timeout(
        &self,
        capacity: usize,
        timeout: core::time::Duration,
    ) -> Result<PooledBuf<L>, AcquireError> {
        let acquired = block_on(self.acquire_async(capacity), timeout);
        acquired.unwrap_or_else(|| Err(self.error(&Refused::Limit, capacity)))
    }

    /// The first class whose buffers have as many bytes; the number of classes or more if there is none.
    #[inline(always)]
    fn class_for(&self, capacity: usize) -> usize {
        let above = capacity.saturating_sub(1) >> self.0.contents.smallest_shift;
        (usize::BITS - above.leading_zeros()) as usize
    }

    pub fn acquire_pair(
        &self,
        send_capacity: usize,
        recv_capacity: usize,
    ) -> Result<(PooledBuf<L>, PooledBuf<L>), AcquireError> {
        let send = self.acquire(send_capacity)?;
        let recv = self.acquire(recv_capacity)?;
        Ok((send, recv))
    }

    pub fn trim(&self) -> u64 {
        self.0.trim()
    }

    pub fn close(&self) {
        self.0.close();
    }

    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    #[must_use]
    pub fn largest(&self) -> usize {
        self.0.classes.last().map_or(0, |class| class.size as usize)
    }

    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        Some(self.0.limit).filter(|&limit| limit != u64::MAX)
    }

    #[must_use]
    pub fn stats(&self) -> Stats {
        let mut all = Stats::default();
        self.0.classes.iter().for_each(|class| all.add(&Self::stats_of(class)));
        all
    }

    #[must_use]
    pub fn class_stats(&self) -> Vec<Stats> {
        self.0.classes.iter().map(Self::stats_of).collect()
    }

    fn stats_of(class: &Class<L>) -> Stats {
        let usage = class.usage();
        let present = usage.made.saturating_sub(usage.ended);
        // Relaxed: a figure.
        let downgraded = class.counts.downgraded.load(Ordering::Relaxed);
        Stats { downgraded, ..Stats::new(&usage, present, class.size) }
    }
}

type Class<L> = super::lifecycle::Class<Blocks, L>;

/// Only wakers of users' code run in here, without a lock, so no panic leaves anything half done.
impl<L: List> UnwindSafe for BufferPool<L> {}
/// As above.
impl<L: List> RefUnwindSafe for BufferPool<L> {}

impl<L: List> Clone for BufferPool<L> {
    /// Another handle of the same pool.
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<L: List> fmt::Debug for BufferPool<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferPool")
            .field("list", &L::NAME)
            .field("classes", &self.0.classes.len())
            .field("largest", &self.largest())
            .field("limit", &self.limit())
            .field("bytes", &self.0.held())
            .field("closed", &self.is_closed())
            .finish()
    }
}
