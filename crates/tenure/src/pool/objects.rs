//! What users see of the pool of [`generic`](super::generic) objects.

use super::{AcquireError, SlotKey, Stats, generic};
use core::fmt;
use core::ops::{Deref, DerefMut};

/// Objects that are made once, used again and again, and found by keys.
///
/// For objects that are expensive to make and needed often: connections with their buffers, parsers, request contexts.
/// An object stays constructed between its uses, so a `Vec` in it keeps its memory. See the [words](super#words), and
/// [when not to use a pool](super#when-not-to-use-one). Clones are handles of the same pool.
///
/// ```
/// use tenure::pool::SlotPool;
///
/// let pool = SlotPool::with(|| String::with_capacity(1024), String::clear);
/// let mut line = pool.acquire()?;
/// line.push_str("GET / HTTP/1.1");
/// drop(line); // cleared, and used again:
/// let line = pool.acquire()?;
/// assert!(line.is_empty() && line.capacity() >= 1024);
/// assert_eq!(pool.stats().made, 1);
/// # Ok::<(), tenure::pool::AcquireError>(())
/// ```
///
/// # The life of an object
///
/// ```text
///               acquire                  share
///   idle ─────────────────> SlotMut ──────────────> SlotRef, and its clones ──┐
///    ▲                         │  ▲                    │          ▲           │ last drop
///    │        drop: reset      │  └────────────────────┘          │           │
///    ├─────────────────────────┘         into_mut           get(key)          │
///    └────────────────────────────────────────────────────────────────────────┘
///                                    reset
/// ```
///
/// # Objects that are found by a key
///
/// An event loop hands a word to the system, and gets it back with each event. A connection's address could dangle
/// there; a [`SlotKey`] of a closed connection finds nothing, even if another one has its slot.
///
/// A key keeps nothing alive, and finds only [shared](SlotMut::share) objects: here the [`SlotRef`] keeps the
/// connection.
///
/// ```
/// use std::sync::Mutex;
/// use tenure::pool::{AcquireError, SlotKey, SlotMut, SlotPool};
///
/// #[derive(Default)]
/// struct Connection {
///     peer: u32,
///     received: Mutex<Vec<u8>>,
/// }
///
/// let connections = SlotPool::builder(Connection::default)
///     .reset(|connection| connection.received.get_mut().unwrap().clear()) // keeps its memory
///     .limit(10_000)
///     .build();
///
/// // The connection, and the word that the system returns with its events.
/// let accept = |peer| {
///     let mut connection = connections.acquire()?;
///     connection.peer = peer; // no other thread sees it yet
///     let user_data = SlotMut::key(&connection).to_bits();
///     Ok::<_, AcquireError>((SlotMut::share(connection), user_data))
/// };
///
/// // On any thread, for any number of events at once. `None`: closed meanwhile.
/// let on_readable = |user_data, bytes: &[u8]| {
///     let connection = connections.get(SlotKey::from_bits(user_data))?;
///     connection.received.lock().unwrap().extend_from_slice(bytes);
///     Some(connection.peer)
/// };
///
/// let (first, user_data) = accept(1)?;
/// assert_eq!(on_readable(user_data, b"hello"), Some(1));
/// drop(first);
/// let (second, _) = accept(2)?; // in the same slot
/// assert_eq!(on_readable(user_data, b"late"), None); // for the first: not found
/// assert!(second.received.lock().unwrap().is_empty());
/// # Ok::<(), AcquireError>(())
/// ```
///
/// # Cost
///
/// Acquiring an idle object and
/// dropping its [`SlotMut`] take no atomic read-modify-write, and write lines of the thread and of the slot. An acquire
/// that makes an object takes about six, on lines that all share, and `make`.
///
/// A slot takes the object and 32 bytes, rounded up to lines of 64. There are up to twice as many slots as there ever
/// were objects at once, until the pool and all of its guards are gone.
///
/// # The end
///
/// The end of the pool drops idle objects; others are dropped with their last guard, and the last one frees the slots.
/// An idle object with a handle of its own pool keeps the pool open, as a cycle of `Arc`s would: clear it in `reset`,
/// or call [`close`](SlotPool::close). A thread that ends while another drops the last handle may be the one that
/// closes.
///
/// # Panics
///
/// A panic in `make` leaves the pool as it was. After one in [`reset`](SlotPoolBuilder::reset) the object is dropped,
/// not used again. After one in an object's drop its slot is free. The panic goes on to the caller.
///
/// # Threads
///
/// One thread makes an object and others use and drop it, so a pool needs `T: Send`. Sharing an object between threads
/// and finding it by a key need `T: Sync` as well:
///
/// ```
/// # use std::cell::Cell;
/// # use tenure::pool::{SlotMut, SlotPool, SlotRef};
/// fn is_send<T: Send>() {}
/// fn is_sync<T: Sync>() {}
/// is_send::<SlotPool<Cell<u8>>>();
/// is_sync::<SlotPool<Cell<u8>>>();
/// is_send::<SlotMut<Cell<u8>>>();
/// is_sync::<SlotMut<u8>>();
/// is_send::<SlotRef<u8>>();
/// is_sync::<SlotRef<u8>>();
/// ```
/// ```compile_fail,E0277
/// # use {std::rc::Rc, tenure::pool::SlotPool};
/// SlotPool::with(|| Rc::new(1), |_| ()); // error: `Rc` cannot be sent between threads
/// ```
/// ```compile_fail,E0277
/// # use {std::cell::Cell, tenure::pool::SlotMut};
/// # fn is_sync<T: Sync>() {}
/// is_sync::<SlotMut<Cell<u8>>>(); // error: it would share the `Cell`
/// ```
/// ```compile_fail,E0277
/// # use {std::cell::Cell, tenure::pool::SlotRef};
/// # fn is_send<T: Send>() {}
/// is_send::<SlotRef<Cell<u8>>>(); // error: clones of it share the `Cell`
/// ```
/// ```compile_fail,E0277
/// # use {std::cell::Cell, tenure::pool::{SlotMut, SlotPool}};
/// let pool = SlotPool::<Cell<u8>>::new();
/// let key = SlotMut::key(&pool.acquire().unwrap());
/// pool.get(key); // error: might find what another thread uses
/// ```
pub struct SlotPool<T>(generic::SlotPool<T>);

impl<T: Send + 'static> SlotPool<T> {
    /// A pool of `T::default()`s that are **not reset** between uses; [`with`](Self::with) makes a pool that resets
    /// them.
    ///
    /// ```
    /// let pool = tenure::pool::SlotPool::<u32>::new();
    /// *pool.acquire()? += 1;
    /// assert_eq!(*pool.acquire()?, 1);
    /// # Ok::<(), tenure::pool::AcquireError>(())
    /// ```
    #[must_use]
    pub fn new() -> Self
    where
        T: Default,
    {
        Self(generic::SlotPool::new())
    }

    /// A pool of what `make` makes; `reset` prepares an object for its next use.
    #[must_use]
    pub fn with(
        make: impl Fn() -> T + Send + Sync + 'static,
        reset: impl Fn(&mut T) + Send + Sync + 'static,
    ) -> Self {
        Self(generic::SlotPool::with(make, reset))
    }

    /// Settings for a pool of what `make` makes.
    pub fn builder(make: impl Fn() -> T + Send + Sync + 'static) -> SlotPoolBuilder<T> {
        SlotPoolBuilder(generic::SlotPool::builder(make))
    }
}

impl<T> SlotPool<T> {
    /// An idle object, or else a new one, for the caller alone. Cost: see [above](Self#cost); at the limit
    /// microseconds, and an interrupt for each other CPU that runs this process.
    ///
    /// # Errors
    ///
    /// - [`Exhausted`](AcquireError::Exhausted) if the [limit](SlotPoolBuilder::limit) allows no other object and [none
    ///   is idle](super#what-a-refusal-means);
    /// - [`Closed`](AcquireError::Closed) after [`close`](Self::close).
    ///
    /// # Panics
    ///
    /// If `make` does.
    #[inline(always)]
    pub fn acquire(&self) -> Result<SlotMut<T>, AcquireError> {
        self.0.acquire().map(SlotMut)
    }

    /// As [`acquire`](Self::acquire), but at the limit it waits for its turn: first come, first served. Dropping the
    /// future leaves the queue, and an object that was meant for it goes to the next. If the future is forgotten
    /// (`mem::forget`), the pool loses that object. See [`BufferPool::acquire_async`](super::BufferPool::acquire_async).
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire); [`Exhausted`](AcquireError::Exhausted) only if the limit is 0.
    ///
    /// # Panics
    ///
    /// If `make` does.
    pub async fn acquire_async(&self) -> Result<SlotMut<T>, AcquireError> {
        self.0.acquire_async().await.map(SlotMut)
    }

    /// [`acquire_async`](Self::acquire_async) for threads: blocks for `timeout` at most.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire); [`Exhausted`](AcquireError::Exhausted) after `timeout`.
    ///
    /// # Panics
    ///
    /// If `make` does.
    #[cfg(feature = "std")]
    pub fn acquire_timeout(
        &self,
        timeout: core::time::Duration,
    ) -> Result<SlotMut<T>, AcquireError> {
        self.0.acquire_timeout(timeout).map(SlotMut)
    }

    /// The object that is [shared](SlotMut::share) under that key. `None` if its use has ended, if it is not shared, or
    /// if the pool is closed. Keys of other pools or bits: see [`SlotKey`].
    ///
    /// Cost: two loads and one atomic add; loads alone if the key is stale.
    #[inline]
    #[must_use]
    pub fn get(&self, key: SlotKey) -> Option<SlotRef<T>>
    where
        T: Sync,
    {
        self.0.get(key).map(SlotRef)
    }

    /// Drops all idle objects, also those that other threads keep. Returns how many. May miss what other threads
    /// release or acquire meanwhile.
    ///
    /// Cost: microseconds, and the drops. An interrupt for each other CPU that
    /// runs this process.
    ///
    /// # Panics
    ///
    /// If the drop of an object panics, after all others.
    pub fn trim(&self) -> usize {
        self.0.trim()
    }

    /// Ends the pool: acquires fail from now on, keys find nothing, and idle objects are dropped. Closing again does
    /// nothing, unless the process forked while another thread closed the pool: then it closes the pool in the child.
    ///
    /// # Panics
    ///
    /// As [`trim`](Self::trim).
    pub fn close(&self) {
        self.0.close();
    }

    /// Whether the pool was [closed](Self::close), or another thread is closing it now.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// The most objects at once, in use and idle: the builder's [limit](SlotPoolBuilder::limit), or 2^28 - 8.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.0.limit()
    }

    /// Objects in use and idle.
    ///
    /// Cost: one load.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no object, in use or idle.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What the pool has done, and what it has. Cost: a load for each slot that it ever had: acquire and release write
    /// no shared counter. The pool's `Debug` costs the same.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.0.stats()
    }
}

impl<T> Clone for SlotPool<T> {
    /// Another handle of the same pool.
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Default + Send + 'static> Default for SlotPool<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for SlotPool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Settings of a [`SlotPool`]. Made by [`SlotPool::builder`].
///
/// ```
/// use tenure::pool::SlotPool;
///
/// let pool = SlotPool::builder(|| Vec::<u8>::with_capacity(4096))
///     .reset(Vec::clear)
///     .limit(1_000)
///     .magazine_size(0) // no thread keeps objects to itself
///     .build();
/// assert!(pool.acquire()?.capacity() >= 4096);
/// # Ok::<(), tenure::pool::AcquireError>(())
/// ```
#[must_use = "a builder does nothing until `build`"]
pub struct SlotPoolBuilder<T>(generic::SlotPoolBuilder<T>);

impl<T> SlotPoolBuilder<T> {
    /// Prepares an object for its next user, on the thread that drops the last guard; by default nothing does. It may
    /// use the pool. If it panics, the object is dropped and the panic goes on.
    ///
    /// A function, such as `Vec::clear`, or a closure. Cost: an indirect call; a type parameter in its place would be
    /// one of every pool and guard.
    pub fn reset(self, reset: impl Fn(&mut T) + Send + Sync + 'static) -> Self {
        Self(self.0.reset(reset))
    }

    /// How many idle objects one thread may keep. 64 at most and by
    /// default.
    pub fn magazine_size(self, objects: usize) -> Self {
        Self(self.0.magazine_size(objects))
    }

    /// The most objects at once, in use and idle; 2^28 - 8 at most and by default. With 0 every acquire is refused.
    pub fn limit(self, objects: usize) -> Self {
        Self(self.0.limit(objects))
    }
}

impl<T: Send + 'static> SlotPoolBuilder<T> {
    /// The pool. It makes its first object for the first acquire.
    #[must_use]
    pub fn build(self) -> SlotPool<T> {
        SlotPool(self.0.build())
    }
}

impl<T> fmt::Debug for SlotPoolBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An object of a [`SlotPool`](super::SlotPool), for its owner alone. Goes back to the pool when dropped.
///
/// One pointer, and no reference count. It may be sent to any thread, and outlive the pool's handles. A leaked guard
/// (`mem::forget`) leaves its object in use.
///
/// It dereferences to the object, so its own operations are functions, not methods: `SlotMut::key(&guard)`.
///
/// # Variance
///
/// Invariant in `T`, unlike a `Box`: the pool hands out what is written through it as a `T` again, and would get a
/// dangling reference if a `SlotMut<&'static str>` could become a `SlotMut<&'a str>`.
///
/// ```compile_fail
/// # use tenure::pool::SlotMut;
/// fn shorten<'a>(guard: SlotMut<&'static str>) -> SlotMut<&'a str> {
///     guard // error: lifetime may not live long enough
/// }
/// ```
///
/// # Panics
///
/// If the pool's [`reset`](super::SlotPoolBuilder::reset) does, on drop.
pub struct SlotMut<T>(generic::SlotMut<T>);

impl<T> SlotMut<T> {
    /// The name of this use, by which the pool finds the object once it is [shared](Self::share). Good until the object
    /// goes back to the pool. Cost: one load.
    #[must_use]
    #[inline]
    pub fn key(this: &Self) -> SlotKey {
        generic::SlotMut::key(&this.0)
    }

    /// Shares the object: from now on its [key](Self::key) finds it. Cost: one store.
    ///
    /// ```
    /// use tenure::pool::{SlotMut, SlotPool};
    ///
    /// let pool = SlotPool::<u32>::new();
    /// let mut object = pool.acquire()?;
    /// *object = 7;
    /// let key = SlotMut::key(&object);
    /// assert!(pool.get(key).is_none());
    /// let shared = SlotMut::share(object);
    /// assert_eq!(*pool.get(key).unwrap(), 7);
    /// # drop(shared);
    /// # Ok::<(), tenure::pool::AcquireError>(())
    /// ```
    #[inline]
    #[must_use = "the object goes back to the pool with the last `SlotRef`"]
    pub fn share(this: Self) -> SlotRef<T> {
        SlotRef(generic::SlotMut::share(this.0))
    }

    /// Drops the object, for example a broken one, instead of giving it back to the pool.
    ///
    /// # Panics
    ///
    /// If the drop of `T` does. The slot is free nevertheless.
    pub fn discard(this: Self) {
        generic::SlotMut::discard(this.0);
    }
}

/// An object of a [`SlotPool`](super::SlotPool) that several share. Goes back to the pool with the last of them.
///
/// A clone is one atomic add on the count beside the object, a drop one subtraction, the last drop a compare-exchange
/// more. The count may share a line with the object: if many threads read it while others clone and drop references,
/// put it into a [`CachePadded`](crate::cache_line::CachePadded).
///
/// It dereferences to the object, so its own operations are functions: `SlotRef::key(&guard)`.
///
/// # Variance
///
/// Invariant in `T`, unlike an `Arc`: the last one can become a [`SlotMut`](Self::into_mut).
///
/// ```compile_fail
/// # use tenure::pool::SlotRef;
/// fn shorten<'a>(guard: SlotRef<&'static str>) -> SlotRef<&'a str> {
///     guard // error: lifetime may not live long enough
/// }
/// ```
///
/// # Panics
///
/// If the pool's [`reset`](super::SlotPoolBuilder::reset) does, on the last drop.
pub struct SlotRef<T>(generic::SlotRef<T>);

impl<T> SlotRef<T> {
    /// The name of this use: that of the [`SlotMut`] before. Cost: one load.
    #[must_use]
    #[inline]
    pub fn key(this: &Self) -> SlotKey {
        generic::SlotRef::key(&this.0)
    }

    /// The object for the caller alone, if this is the only reference. No key finds it until it is shared again. Cost:
    /// one compare-exchange.
    ///
    /// # Errors
    ///
    /// The reference itself, if there are others. A [lookup](super::SlotPool::get) under way counts as one, even by a
    /// stale key: this may fail, and succeed a moment later.
    ///
    /// ```
    /// use tenure::pool::{SlotMut, SlotPool, SlotRef};
    ///
    /// let pool = SlotPool::<Vec<u8>>::new();
    /// let shared = SlotMut::share(pool.acquire()?);
    /// let (key, other) = (SlotRef::key(&shared), shared.clone());
    /// let shared = SlotRef::into_mut(shared).unwrap_err(); // there is another one
    /// drop(other);
    /// let mut mine = SlotRef::into_mut(shared).unwrap();
    /// mine.push(1);
    /// assert!(SlotMut::key(&mine) == key && pool.get(key).is_none());
    /// # Ok::<(), tenure::pool::AcquireError>(())
    /// ```
    pub fn into_mut(this: Self) -> Result<SlotMut<T>, Self> {
        generic::SlotRef::into_mut(this.0).map(SlotMut).map_err(Self)
    }
}

impl<T> Clone for SlotRef<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Deref for SlotMut<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for SlotMut<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Deref for SlotRef<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

shown! {
    T: [T] SlotMut<T>;
    T: [T] SlotRef<T>;
}
