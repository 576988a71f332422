//! Byte buffers that are used again: [`BufferPool`] and [`PooledBuf`].
//!
//! For programs that need large buffers for a short time, a pair for each connection say. To allocate and zero
//! 16 KiB takes longer than to handle a small message in it, and a pool that walks all of its buffers for a free one
//! gets slower with every connection. Here a buffer is acquired and released in O(1), and with the default list
//! without an atomic read-modify-write. The [words](super#words) of pools, and
//! [when not to use one](super#when-not-to-use-one), are explained one level up.
//!
//! ```
//! use std::io::{Read, Write};
//! use tenure::pool::BufferPool;
//!
//! let pool = BufferPool::builder().limit(256 << 20).build()?; // 256 MiB
//!
//! // A pair for a connection: both or none.
//! let (mut send, mut recv) = pool.acquire_pair(64 << 10, 64 << 10)?;
//! send.clear();
//! write!(send, "GET {}", "/")?;
//!
//! // In place of a socket.
//! let count = send.read(&mut recv)?;
//! assert_eq!(recv[..count], *b"GET /");
//!
//! // Zeroed, and then free for the next.
//! drop((send, recv));
//! let total = pool.statistics().total;
//! assert_eq!((total.allocated, total.in_use, total.idle), (2, 0, 2));
//! assert_eq!(pool.trim(), 128 << 10); // bytes
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it does
//!
//! The semantics are those of the send and receive buffers of SMC sockets in Linux. There the list of buffers is
//! walked; here the idle ones are in a [`FreeList`] for each class.
//!
//! | when | then |
//! |---|---|
//! | `acquire(len)` | a buffer of the smallest size class that has `len` bytes; the classes are 16 KiB, 32 KiB ... 512 MiB unless [told otherwise](Builder::classes) |
//! | there is an idle buffer of the class | that one; never one of a larger class |
//! | there is none | a new one |
//! | ... and the memory limit does not allow it | idle buffers of all classes and threads are freed until it does |
//! | ... and that is not enough | one of the **next smaller class**, and so on: the buffer is **shorter than was asked for**, and counted as *downgraded*. [`acquire_exact`](BufferPool::acquire_exact) fails instead |
//! | ... and there is none of the smallest class either | [`LimitReached`](AcquireError::LimitReached) |
//! | the allocator has no memory | [`OutOfMemory`](AcquireError::OutOfMemory) at once |
//! | of a pair there is no second buffer | the first goes back, and the error is returned |
//! | a buffer is dropped, on whatever thread | what could have been written to is zeroed, then the buffer is idle |
//! | a thread ends | the idle buffers that it kept to itself are for all |
//! | `trim` | idle memory goes back to the allocator, what sleeping threads keep included |
//! | `close`, or the last handle is dropped | nothing is handed out; idle memory is freed now, buffers in use when they are dropped |
//!
//! Whoever depends on the length asked for compares it with the length that came:
//!
//! ```
//! use tenure::pool::BufferPool;
//!
//! let pool = BufferPool::builder().classes(1024, 3).limit(5 * 1024).build()?;
//! let whole = pool.acquire(4096)?;
//! let less = pool.acquire(4096)?; // 1 KiB is left.
//! assert_eq!((whole.len(), less.len()), (4096, 1024));
//! assert!(less.is_downgraded());
//! assert!(pool.acquire_exact(4096).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it costs
//!
//! | operation | cost |
//! |---|---|
//! | acquire, there is an idle buffer | that of the [list](super::list): a few loads and stores with the default one. For classes larger than the [hoard](Builder::hoard), compare-exchanges on lines that all threads write |
//! | acquire, there is none | the allocator, which zeroes the memory, and a few atomic operations on shared lines |
//! | acquire, at the limit | a [`trim`](BufferPool::trim) of as much as it takes: microseconds, and the deallocations; one acquire at a time |
//! | drop | that of the list, and zeroing what could have been written to: see [`PooledBuf`] |
//! | memory of a pool | 30 KiB of tables with 16 classes |
//! | memory of a buffer | that of its class, aligned to its size or to 4 KiB if that is less; and about 70 bytes that say where it is, for up to twice as many buffers as there ever were at once |
//! | memory of a thread | about 400 bytes in each class that it uses, beside the buffers that it keeps |
//!
//! # Limits
//!
//! Idle memory stays until it is trimmed, or until the pool is at its [limit](Builder::limit). There is as much of
//! it as was in use at once, and what threads keep to themselves: up to 512 KiB of each class for each thread unless
//! [told otherwise](Builder::hoard), which makes 3 MiB with the default classes. The bytes that say where
//! buffers are stay as long as the pool. In the child of a `fork`, the buffers that other threads held are leaked.
//!
//! [`LimitReached`](AcquireError::LimitReached) and downgrades [mean](super#what-a-refusal-means) that so many bytes
//! were in use at some moment of the call.

mod blocks;
mod builder;
#[cfg(feature = "bytes")]
mod bytes;
mod erase;
mod error;
#[cfg(feature = "std")]
mod io;
mod pooled;
mod statistics;

pub use builder::Builder;
pub use error::{AcquireError, ConfigError};
pub use pooled::PooledBuf;
pub use statistics::{ClassStatistics, Counts, Statistics};

use super::list::{DefaultList, FreeList};
use crate::memory::Resident;
use crate::shared::Shared;
use alloc::sync::{Arc, Weak};
use blocks::Blocks;
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};

/// A pool of byte buffers, in size classes.
///
/// A handle: clones are handles of the same pool, which ends with the last of them. See the
/// [module](self) for what a pool does.
pub struct BufferPool<L: FreeList = DefaultList> {
    owner: Arc<Owner<L>>,
}

/// What the handles of a pool share.
struct Owner<L: FreeList> {
    blocks: Shared<Blocks<L>, L::Memory>,
}

impl<L: FreeList> Resident for Owner<L> {
    unsafe fn leave(&self, thread: usize) {
        // SAFETY: the caller's.
        unsafe { self.blocks.leave(thread) };
    }
}

impl<L: FreeList> Drop for Owner<L> {
    fn drop(&mut self) {
        self.blocks.close();
    }
}

impl BufferPool {
    /// A pool with 16 size classes from 16 KiB to 512 MiB, that zeroes its buffers and has no limit.
    ///
    /// Allocates 30 KiB of tables, and no buffer.
    #[must_use]
    pub fn new() -> Self {
        Self::build(&Builder::new())
    }

    /// Settings for a pool, which [`build`](Builder::build) makes.
    pub const fn builder() -> Builder {
        Builder::new()
    }
}

impl Default for BufferPool {
    fn default() -> Self {
        Self::new()
    }
}

impl<L: FreeList> BufferPool<L> {
    /// The pool that the settings, which have been checked, describe.
    fn build(like: &Builder<L>) -> Self {
        let owner = Arc::new_cyclic(|owner: &Weak<Owner<L>>| {
            let owner: Weak<dyn Resident> = owner.clone();
            Owner { blocks: Shared::new(Blocks::new(like, &owner)) }
        });
        Self { owner }
    }

    /// A buffer whose length is `len`, or **less if the memory limit asks for it**.
    ///
    /// The buffer is of the smallest size class that has `len` bytes: an idle one, or else a new one. If the
    /// [limit](Builder::limit) does not allow another one, the pool frees idle buffers, of all classes and
    /// in the hoards of all threads, until it does. If that is not enough it takes a buffer of the **next
    /// smaller** class, and so on; never one of a larger class. So compare its length with what you asked for, or
    /// ask [`PooledBuf::is_downgraded`]. If you cannot do with less, call [`acquire_exact`](Self::acquire_exact).
    ///
    /// The bytes are zero, unless the pool was [told not to zero](Builder::zero). With a `len` of 0 the buffer is
    /// empty, and of the smallest class: a buffer to append to.
    ///
    /// # Errors
    ///
    /// - [`TooLarge`](AcquireError::TooLarge) if `len` is more than [`largest`](Self::largest);
    /// - [`LimitReached`](AcquireError::LimitReached) if there is not even a buffer of the smallest class;
    /// - [`Closed`](AcquireError::Closed) after [`close`](Self::close);
    /// - [`OutOfMemory`](AcquireError::OutOfMemory) if the allocator fails, at once: no smaller class is tried;
    /// - [`TooManyBuffers`](AcquireError::TooManyBuffers) for more than 2^28 - 8 of a class.
    ///
    /// # Cost
    ///
    /// That of the list's [acquire](super::list) if there is an idle buffer of the class. Otherwise that of the
    /// allocator, which zeroes the whole capacity. At the limit that of a [`trim`](Self::trim) as well.
    ///
    /// # Aborts
    ///
    /// As collections do, if there is no memory for the tables that say where buffers are.
    #[inline(always)]
    pub fn acquire(&self, len: usize) -> Result<PooledBuf<L>, AcquireError> {
        self.acquire_with(len, true)
    }

    /// A buffer whose length is `len`: as [`acquire`](Self::acquire), but never of a smaller class.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire); and [`LimitReached`](AcquireError::LimitReached) where that would return a
    /// buffer of a smaller class.
    #[inline]
    pub fn acquire_exact(&self, len: usize) -> Result<PooledBuf<L>, AcquireError> {
        self.acquire_with(len, false)
    }

    #[inline(always)]
    fn acquire_with(&self, len: usize, fall_back: bool) -> Result<PooledBuf<L>, AcquireError> {
        let blocks = &self.owner.blocks;
        let slot = match blocks.reuse(blocks.class_for(len)) {
            Some(slot) => slot,
            None => blocks.acquire_slowly(len, fall_back)?,
        };
        // SAFETY: the slot has a block, and is in use from now on, by the buffer.
        Ok(unsafe { PooledBuf::new(slot, len) })
    }

    /// Two buffers or none, for sending and receiving say: as two calls of [`acquire`](Self::acquire). The first
    /// buffer goes back to the pool if there is no second.
    ///
    /// Either may be [downgraded](PooledBuf::is_downgraded).
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire), for either of them.
    pub fn acquire_pair(
        &self,
        send_len: usize,
        recv_len: usize,
    ) -> Result<(PooledBuf<L>, PooledBuf<L>), AcquireError> {
        let send = self.acquire(send_len)?;
        let recv = self.acquire(recv_len)?;
        Ok((send, recv))
    }

    /// Gives all idle memory back to the allocator, what other threads hoard included. Returns how many bytes
    /// that was.
    ///
    /// For a timer, or for when memory runs short. May miss what other threads acquire and release at that moment.
    ///
    /// Cost: a deallocation for each idle buffer. With [`Magazines`](super::Magazines) also an interrupt for each
    /// other CPU that runs this process, for each class that some thread has hoarded buffers of, and for every 32
    /// buffers of such a class.
    pub fn trim(&self) -> u64 {
        self.owner.blocks.trim()
    }

    /// Ends the pool: from now on no handle hands out anything, and idle memory is freed.
    ///
    /// Buffers that are in use stay valid, and are freed when they are dropped. Dropping the last handle does the
    /// same.
    ///
    /// The pool is closed when a call of this returns: until then other threads may still get idle buffers. Closing
    /// again finds nothing left to do, unless the process forked while another thread closed the pool: then it
    /// closes the pool in the child.
    pub fn close(&self) {
        self.owner.blocks.close();
    }

    /// Whether the pool was [closed](Self::close), or another thread is closing it now.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.owner.blocks.is_closed()
    }

    /// Bytes of a buffer of the largest size class: the most that can be acquired.
    #[must_use]
    pub fn largest(&self) -> usize {
        self.owner.blocks.largest()
    }

    /// The [limit](Builder::limit) in bytes, if there is one.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        self.owner.blocks.limit()
    }

    /// What the pool did so far, and what it has. See [`Statistics`].
    ///
    /// Cost: a load for each slot, of which there are as many as buffers ever were at once: acquiring and releasing
    /// write no shared counter.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.owner.blocks.statistics()
    }
}

/// No code of users runs in here, so no panic leaves anything half done.
impl<L: FreeList> UnwindSafe for BufferPool<L> {}
/// As above.
impl<L: FreeList> RefUnwindSafe for BufferPool<L> {}

impl<L: FreeList> Clone for BufferPool<L> {
    /// Another handle of the same pool.
    fn clone(&self) -> Self {
        Self { owner: Arc::clone(&self.owner) }
    }
}

impl<L: FreeList> fmt::Debug for BufferPool<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blocks = &self.owner.blocks;
        f.debug_struct("BufferPool")
            .field("list", &L::NAME)
            .field("classes", &blocks.classes.len())
            .field("largest", &blocks.largest())
            .field("limit", &blocks.limit())
            .field("bytes", &blocks.held())
            .field("closed", &blocks.is_closed())
            .finish()
    }
}
