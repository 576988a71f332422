//! What users see of the pool of [`generic`](super::generic) buffers.

#[cfg(feature = "bytes")]
mod bytes;
mod traits;

use super::{AcquireError, ConfigError, Stats, generic};
use alloc::vec::Vec;
use core::borrow::BorrowMut;
use core::fmt;
use core::ops::{Deref, DerefMut};
#[cfg(feature = "std")]
use std::io::{BufRead, Error, ErrorKind, Read, Result as IoResult, Write};

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
/// | acquire of an idle buffer | [that of a pool](super#what-it-costs). For classes larger than a [magazine](BufferPoolBuilder::magazine_bytes), compare-exchanges on lines that all threads write |
/// | acquire of a new one | the allocator, which zeroes the memory, and a few atomic operations on shared lines |
/// | acquire at the limit | a [`trim`](Self::trim) of as much as it takes: microseconds, and the deallocations; one acquire at a time |
/// | drop | that of the list, and zeroing what could have been written to: see [`PooledBuf`] |
/// | memory of a buffer | that of its class, aligned to its size, to 4 KiB at most; and about 70 bytes of description, for up to twice as many buffers as there ever were at once, as long as the pool |
/// | memory of a thread | about 400 bytes in each class that it uses, beside the buffers that it keeps |
///
/// Idle memory stays until it is trimmed or the pool is at its [limit](BufferPoolBuilder::limit): as much as was in use
/// at once, and what threads keep, with the default classes up to 3 MiB each.
#[derive(Clone)]
pub struct BufferPool(generic::BufferPool);

impl BufferPool {
    /// A pool with 16 size classes from 16 KiB to 512 MiB that zeroes its buffers and has no limit. Allocates 29 KiB of
    /// tables, and no buffer.
    #[must_use]
    pub fn new() -> Self {
        Self(generic::BufferPool::new())
    }

    /// Settings for a pool.
    pub const fn builder() -> BufferPoolBuilder {
        BufferPoolBuilder(generic::BufferPool::builder())
    }

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
    /// The process, as collections do, if there is no memory for the tables.
    #[inline(always)]
    pub fn acquire(&self, capacity: usize) -> Result<PooledBuf, AcquireError> {
        self.0.acquire(capacity).map(PooledBuf)
    }

    /// A buffer of `len` zeros, to be indexed or lent as a slice. In a pool that [does not
    /// zero](BufferPoolBuilder::zero) this call does.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire).
    #[inline(always)]
    pub fn acquire_zeroed(&self, len: usize) -> Result<PooledBuf, AcquireError> {
        self.0.acquire_zeroed(len).map(PooledBuf)
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
    pub fn acquire_or_smaller(&self, capacity: usize) -> Result<PooledBuf, AcquireError> {
        self.0.acquire_or_smaller(capacity).map(PooledBuf)
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
    pub async fn acquire_async(&self, capacity: usize) -> Result<PooledBuf, AcquireError> {
        self.0.acquire_async(capacity).await.map(PooledBuf)
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
    ) -> Result<PooledBuf, AcquireError> {
        self.0.acquire_timeout(capacity, timeout).map(PooledBuf)
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
    ) -> Result<(PooledBuf, PooledBuf), AcquireError> {
        let (send, recv) = self.0.acquire_pair(send_capacity, recv_capacity)?;
        Ok((PooledBuf(send), PooledBuf(recv)))
    }

    /// Gives all idle memory back to the allocator, also what other threads keep. Returns how many bytes. May miss what
    /// other threads acquire and release meanwhile.
    ///
    /// Cost: a deallocation for each idle buffer. Also an interrupt for each other
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
        self.0.largest()
    }

    /// The [limit](BufferPoolBuilder::limit) in bytes, if there is one.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        self.0.limit()
    }

    /// What the pool has done, and what it has. Cost: a load for each slot that it ever had: acquire and release write
    /// no shared counter.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.0.stats()
    }

    /// [`stats`](Self::stats) by size class, the smallest first.
    #[must_use]
    pub fn class_stats(&self) -> Vec<Stats> {
        self.0.class_stats()
    }
}

impl Default for BufferPool {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Settings of a [`BufferPool`]. Made by [`BufferPool::builder`].
///
/// ```
/// use tenure::pool::BufferPool;
///
/// let pool = BufferPool::builder()
///     .classes(4096, 8) // 4 KiB, 8 KiB ... 512 KiB
///     .limit(64 << 20)
///     .build()?;
/// assert_eq!(pool.acquire(5_000).unwrap().capacity(), 8_192);
/// assert_eq!(pool.largest(), 512 << 10);
///
/// // No thread keeps buffers to itself.
/// let pool = BufferPool::builder().magazine_bytes(0).build()?;
/// # drop(pool);
/// # Ok::<(), tenure::pool::ConfigError>(())
/// ```
#[must_use = "a builder does nothing until `build`"]
#[derive(Clone)]
pub struct BufferPoolBuilder(generic::BufferPoolBuilder);

impl BufferPoolBuilder {
    /// `count` size classes: the first of `smallest` bytes, a power of two from 64, each next one twice as large. By
    /// default 16 classes from 16 KiB.
    pub const fn classes(self, smallest: usize, count: usize) -> Self {
        Self(self.0.classes(smallest, count))
    }

    /// Whether a buffer is zeroed, as far as it was written to, before it becomes idle. Yes by default.
    ///
    /// If not, a buffer comes with what **earlier users** left in it: an error in the program then shows one user's
    /// data to another. It is never uninitialised memory.
    pub const fn zero(self, zero: bool) -> Self {
        Self(self.0.zero(zero))
    }

    /// The most bytes of all buffers together, idle ones included. A buffer counts with its whole capacity, but not
    /// with the 70 bytes or so that describe it. No limit by default.
    pub const fn limit(self, bytes: u64) -> Self {
        Self(self.0.limit(bytes))
    }

    /// How many bytes of idle buffers one thread may keep, **in each size class**; 512 KiB by default.
    ///
    /// At most 64 buffers of a class. Larger buffers than this are in the depot, and an acquire of one writes shared lines.
    pub const fn magazine_bytes(self, bytes: usize) -> Self {
        Self(self.0.magazine_bytes(bytes))
    }

    /// The pool. It allocates its first buffer for the first acquire.
    ///
    /// # Errors
    ///
    /// [`ConfigError`], for the first setting that makes no pool.
    pub fn build(self) -> Result<BufferPool, ConfigError> {
        self.0.build().map(BufferPool)
    }
}

impl fmt::Debug for BufferPoolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

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
pub struct PooledBuf(generic::PooledBuf);

impl PooledBuf {
    /// Bytes of the buffer, whatever it contains: the size of its class.
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// Bytes that can be appended.
    #[inline]
    #[must_use]
    pub fn spare_capacity(&self) -> usize {
        self.0.spare_capacity()
    }

    /// Empties the buffer: all of it is spare; while a [part](Self::split_to) exists, all that was contents or spare.
    /// Zeroes nothing yet.
    #[inline]
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Keeps the first `len` bytes of the contents. Does nothing if there are not more.
    pub fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
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
        self.0.resize(len, value);
    }

    /// Appends as many of the bytes as fit. Returns how many: **fewer than `bytes.len()` if the buffer gets full**. If
    /// that is an error, use `write_all` of [`Write`](std::io::Write). Consumed bytes are not spare before
    /// [`compact`](Self::compact).
    #[inline]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) -> usize {
        self.0.extend_from_slice(bytes)
    }

    /// The spare bytes, to be written to and then made contents by [`advance_mut`](Self::advance_mut): zeros, or what this user left there, or
    /// with [`zero(false)`](super::BufferPoolBuilder::zero) an earlier user.
    ///
    /// All of them are zeroed on drop. If that is too much, [`resize`](Self::resize), write, and
    /// [`truncate`](Self::truncate).
    pub fn spare_capacity_mut(&mut self) -> &mut [u8] {
        self.0.spare_capacity_mut()
    }

    /// Makes the first `count` spare bytes contents, as they are.
    ///
    /// # Panics
    ///
    /// If `count` is more than [`spare_capacity`](Self::spare_capacity).
    #[track_caller]
    pub fn advance_mut(&mut self, count: usize) {
        self.0.advance_mut(count);
    }

    /// Removes `count` bytes from the front of the contents.
    ///
    /// # Panics
    ///
    /// If `count` is more than the length.
    #[track_caller]
    pub fn advance(&mut self, count: usize) {
        self.0.advance(count);
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
    pub fn split_to(&mut self, count: usize) -> PooledBytes {
        PooledBytes(self.0.split_to(count))
    }

    /// Moves the contents to the beginning, so that consumed bytes are spare. Does nothing while a [part](Self::split_to)
    /// exists. Cost: a copy of the contents.
    pub fn compact(&mut self) {
        self.0.compact();
    }
}

impl Deref for PooledBuf {
    type Target = [u8];
    #[inline(always)]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for PooledBuf {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl AsMut<[u8]> for PooledBuf {
    fn as_mut(&mut self) -> &mut [u8] {
        self
    }
}

impl BorrowMut<[u8]> for PooledBuf {
    fn borrow_mut(&mut self) -> &mut [u8] {
        self
    }
}

/// Consumes from the front. Never fails; `Ok(0)` if the buffer is empty.
#[cfg(feature = "std")]
impl Read for PooledBuf {
    #[inline]
    fn read(&mut self, into: &mut [u8]) -> IoResult<usize> {
        let count = into.len().min(self.len());
        into[..count].copy_from_slice(&self[..count]);
        self.advance(count);
        Ok(count)
    }
}

/// Consumes from the front. [`consume`](BufRead::consume) panics if it has fewer bytes.
#[cfg(feature = "std")]
impl BufRead for PooledBuf {
    #[inline]
    fn fill_buf(&mut self) -> IoResult<&[u8]> {
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
impl Write for PooledBuf {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> IoResult<usize> {
        Ok(self.extend_from_slice(bytes))
    }

    /// The provided method, without its loop.
    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> IoResult<()> {
        if self.extend_from_slice(bytes) < bytes.len() {
            return Err(Error::new(ErrorKind::WriteZero, "the pooled buffer is full"));
        }
        Ok(())
    }

    fn flush(&mut self) -> IoResult<()> {
        Ok(())
    }
}

/// Bytes that were split off a [`PooledBuf`](super::PooledBuf) by [`split_to`](super::PooledBuf::split_to), shared by
/// its clones and read only.
///
/// The memory returns to the pool with the last of the buffer and its parts, on any thread. With the feature `bytes`,
/// `Bytes::from_owner` makes it a `Bytes`.
///
/// Cost: a clone is an atomic add on a word that all parts of the buffer share, a drop a load and a subtraction. The last
/// one zeroes and releases the buffer.
#[derive(Clone)]
pub struct PooledBytes(generic::PooledBytes);

impl Deref for PooledBytes {
    type Target = [u8];
    #[inline(always)]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}
