//! [`BufferPool`] and [`PooledBuf`]: byte buffers that are used again.

mod block;
mod builder;
#[cfg(feature = "bytes")]
mod bytes;
mod erase;
mod part;
mod pooled;
mod traits;

pub use builder::BufferPoolBuilder;
pub use part::PooledBytes;
pub use pooled::PooledBuf;

use super::error::AcquireError;
use super::lifecycle::{Handle, Refused};
use super::statistics::Stats;
use super::{DefaultList, FreeList};
use crate::memory::{Atomic, Ordering};
#[cfg(feature = "std")]
use crate::wake::block_on;
use alloc::vec::Vec;
use block::{Blocks, OutOfMemory, Slot};
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};

/// Byte buffers that are used again, in size classes.
///
/// For programs that need large buffers briefly, such as a pair for each connection: allocating and zeroing 16 KiB
/// takes longer than handling a small message in it. See the [words](super#words), and [when not to use a
/// pool](super#when-not-to-use-one). Clones are handles of the same pool.
///
/// ```
/// use std::io::Write;
/// use tenure::pool::BufferPool;
///
/// let pool = BufferPool::builder().limit(256 << 20).build()?; // 256 MiB
///
/// // A pair for a connection: both or none. They are empty: what is written is appended.
/// let (mut send, mut recv) = pool.acquire_pair(64 << 10, 64 << 10)?;
/// write!(send, "GET {}", "/")?;
///
/// // In place of a socket.
/// std::io::copy(&mut send, &mut recv)?;
/// assert_eq!(recv, b"GET /");
///
/// // Zeroed, and then free for the next user.
/// drop((send, recv));
/// let stats = pool.stats();
/// assert_eq!((stats.made, stats.in_use, stats.idle), (2, 0, 2));
/// assert_eq!(pool.trim(), 128 << 10); // bytes
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # What it does
///
/// | method | what it returns |
/// |---|---|
/// | [`acquire(capacity)`](Self::acquire) | an empty buffer with room for as much, or an error |
/// | [`acquire_zeroed(len)`](Self::acquire_zeroed) | a buffer of `len` zeros, or an error |
/// | [`acquire_pair(a, b)`](Self::acquire_pair) | two empty buffers, or an error |
/// | [`acquire_or_smaller(capacity)`](Self::acquire_or_smaller) | an empty buffer; at the limit perhaps a **smaller** one |
///
/// The steps are those of the send and receive buffers of SMC sockets in Linux:
///
/// | when | then |
/// |---|---|
/// | a buffer is acquired | it has the smallest size class with as many bytes; 16 KiB, 32 KiB ... 512 MiB unless [set otherwise](BufferPoolBuilder::classes) |
/// | the class has an idle buffer | that one; never one of a larger class |
/// | it has none | a new one |
/// | ... and the memory limit does not allow it | idle buffers of all classes and threads are freed until it does |
/// | ... and that is not enough | [`LimitReached`](AcquireError::LimitReached); from `acquire_or_smaller` first a buffer of the next smaller class, and so on, counted as *downgraded* |
/// | a buffer is dropped, on any thread | what could have been written to is zeroed, then the buffer is idle |
///
/// # What it costs
///
/// | operation | cost |
/// |---|---|
/// | acquire of an idle buffer | that of the [list](FreeList). For classes larger than a [magazine](BufferPoolBuilder::magazine_bytes), compare-exchanges on lines that all threads write |
/// | acquire of a new one | the allocator, which zeroes the memory, and a few atomic operations on shared lines |
/// | acquire at the limit | a [`trim`](Self::trim) of as much as it takes: microseconds, and the deallocations; one acquire at a time |
/// | drop | that of the list, and zeroing what could have been written to: see [`PooledBuf`] |
/// | memory of a buffer | that of its class, aligned to its size, to 4 KiB at most; and about 70 bytes of description, for up to twice as many buffers as there ever were at once, as long as the pool |
/// | memory of a thread | about 400 bytes in each class that it uses, beside the buffers that it keeps |
///
/// Idle memory stays until it is trimmed or the pool is at its [limit](BufferPoolBuilder::limit): as much as was in use
/// at once, and what threads keep, with the default classes up to 3 MiB each.
pub struct BufferPool<L: FreeList = DefaultList>(Handle<Blocks, L>);

impl BufferPool {
    /// A pool with 16 size classes from 16 KiB to 512 MiB that zeroes its buffers and has no limit. Allocates 29 KiB of
    /// tables, and no buffer.
    #[must_use]
    pub fn new() -> Self {
        BufferPoolBuilder::new().build_checked()
    }

    /// Settings for a pool.
    pub const fn builder() -> BufferPoolBuilder {
        BufferPoolBuilder::new()
    }
}

impl Default for BufferPool {
    fn default() -> Self {
        Self::new()
    }
}

impl<L: FreeList> BufferPool<L> {
    /// An empty buffer with room for `capacity` bytes or more, to append to: with tokio's `read_buf`, `write!`, or
    /// [`extend_from_slice`](PooledBuf::extend_from_slice).
    ///
    /// # Errors
    ///
    /// - [`TooLarge`](AcquireError::TooLarge) if `capacity` is more than [`largest`](Self::largest);
    /// - [`LimitReached`](AcquireError::LimitReached) at the [limit](BufferPoolBuilder::limit);
    /// - [`Closed`](AcquireError::Closed) after [`close`](Self::close);
    /// - [`OutOfMemory`](AcquireError::OutOfMemory) if the allocator fails;
    /// - [`TooManyBuffers`](AcquireError::TooManyBuffers) for more than 2^28 - 8 of a class.
    ///
    /// # Aborts
    ///
    /// As collections do, if there is no memory for the tables.
    #[inline(always)]
    pub fn acquire(&self, capacity: usize) -> Result<PooledBuf<L>, AcquireError> {
        let slot = self.acquire_slot(capacity, false)?;
        // SAFETY: the slot has a block, and was given to this call.
        Ok(unsafe { PooledBuf::new(slot, 0) })
    }

    /// A buffer of `len` zeros, to be indexed or lent as a slice. In a pool that [does not
    /// zero](BufferPoolBuilder::zero) this call does.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire).
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

    /// As [`acquire`](Self::acquire), but at the limit a **smaller** buffer if there is one: compare its
    /// [`capacity`](PooledBuf::capacity) with what you asked for.
    ///
    /// ```
    /// use tenure::pool::BufferPool;
    ///
    /// let pool = BufferPool::builder().classes(1024, 3).limit(5 * 1024).build()?;
    /// let whole = pool.acquire(4096)?;
    /// assert!(pool.acquire(4096).is_err()); // 1 KiB is left
    /// assert_eq!(pool.acquire_or_smaller(4096)?.capacity(), 1024);
    /// # drop(whole);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire); [`LimitReached`](AcquireError::LimitReached) if even the smallest class has no
    /// buffer. After [`OutOfMemory`](AcquireError::OutOfMemory) no smaller class is tried.
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

    /// As [`acquire`](Self::acquire), but at the limit it waits for its turn: first polled, first served.
    ///
    /// Drops of buffers, [`trim`](Self::trim) and [`close`](Self::close) wake the task, on any runtime. Dropping the
    /// future leaves the queue; a buffer that was meant for it goes to the next. While an acquire waits, room gathers
    /// for it: other acquires are refused, or wait behind it. So poll it or drop it: a future that is left alone keeps its
    /// turn. A forgotten future (`mem::forget`) keeps its turn for ever, and the pool loses what it grants that future: a
    /// buffer, or a part of the limit.
    ///
    /// A task that waits for a second buffer while it keeps a first may wait for ever, if others do so too.
    ///
    /// Cost: that of `acquire` below the limit. The first to wait takes all idle buffers out of their lists, and closes
    /// those until the last has had its turn: microseconds, as an acquire at the limit. In between a drop takes a lock;
    /// at other times drops do nothing for this.
    ///
    /// ```
    /// use tenure::pool::BufferPool;
    ///
    /// async fn greet(pool: BufferPool) -> Result<usize, tenure::pool::AcquireError> {
    ///     let mut buffer = pool.acquire_async(16 << 10).await?;
    ///     Ok(buffer.extend_from_slice(b"hello")) // empty before
    /// }
    /// # fn is_send<T: Send + 'static>(_: T) {}
    /// # is_send(greet(BufferPool::new()));
    /// ```
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire); [`LimitReached`](AcquireError::LimitReached) only if the limit never allows such
    /// a buffer.
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

    /// [`acquire_async`](Self::acquire_async) for threads: blocks for `timeout` at most.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure::pool::BufferPool;
    ///
    /// let pool = BufferPool::builder().classes(4096, 1).limit(4096).build()?;
    /// let only = pool.acquire(100)?;
    /// assert!(pool.acquire_timeout(100, Duration::from_millis(1)).is_err());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| drop(only));
    ///     pool.acquire_timeout(100, Duration::MAX).map(drop)
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire); [`LimitReached`](AcquireError::LimitReached) after `timeout`.
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

    /// Two empty buffers or none, such as for sending and receiving: two calls of [`acquire`](Self::acquire), of which
    /// the second may undo the first.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire).
    pub fn acquire_pair(
        &self,
        send_capacity: usize,
        recv_capacity: usize,
    ) -> Result<(PooledBuf<L>, PooledBuf<L>), AcquireError> {
        let send = self.acquire(send_capacity)?;
        let recv = self.acquire(recv_capacity)?;
        Ok((send, recv))
    }

    /// Gives all idle memory back to the allocator, also what other threads keep. Returns how many bytes. May miss what
    /// other threads acquire and release meanwhile.
    ///
    /// Cost: a deallocation for each idle buffer. With [`Magazines`](super::Magazines) also an interrupt for each other
    /// CPU that runs this process, for each class that threads keep buffers of, and for every 32 buffers of it.
    pub fn trim(&self) -> u64 {
        self.0.trim()
    }

    /// Ends the pool: acquires fail, and idle memory is freed. Until this returns other threads may still get idle
    /// buffers. Closing again does nothing, unless the process forked while another thread closed the pool: then it
    /// closes the pool in the child.
    pub fn close(&self) {
        self.0.close();
    }

    /// Whether the pool was [closed](Self::close), or another thread is closing it now.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// The most that can be acquired: bytes of a buffer of the largest size class.
    #[must_use]
    pub fn largest(&self) -> usize {
        self.0.classes.last().map_or(0, |class| class.size as usize)
    }

    /// The [limit](BufferPoolBuilder::limit) in bytes, if there is one.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        Some(self.0.limit).filter(|&limit| limit != u64::MAX)
    }

    /// What the pool has done, and what it has. Cost: a load for each slot that it ever had: acquire and release write
    /// no shared counter.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let mut all = Stats::default();
        self.0.classes.iter().for_each(|class| all.add(&Self::stats_of(class)));
        all
    }

    /// [`stats`](Self::stats) by size class, the smallest first.
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

/// Of users' code only wakers run in here, without a lock, so no panic leaves anything half done.
impl<L: FreeList> UnwindSafe for BufferPool<L> {}
/// As above.
impl<L: FreeList> RefUnwindSafe for BufferPool<L> {}

impl<L: FreeList> Clone for BufferPool<L> {
    /// Another handle of the same pool.
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<L: FreeList> fmt::Debug for BufferPool<L> {
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
