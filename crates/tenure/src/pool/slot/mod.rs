//! [`SlotPool`]: objects of one type that are used again, and found by keys.
//!
//! # How a key finds an object
//!
//! A slot has a number `uses`, odd while it is in use, which its owner alone writes; and a count of references, a
//! [`TicketRef`](crate::count::TicketRef), which is DEAD unless the object is shared. A lookup
//!
//! 1. compares `uses` with the key, which stops most stale keys at the cost of loads;
//! 2. takes a reference, which fails on a DEAD count;
//! 3. compares `uses` again. While it holds a reference the use does not end. So if this comparison fails, the next
//!    user got the slot between 1 and 2: the reference is to *their* object, and is put. That may be the last put: the
//!    lookup then resets and releases an object that it never wanted.
//!
//! The store that shared the object comes after the store to `uses`, and taking the reference acquires it: 3 sees the
//! use that the reference belongs to. 1 may see any other.
//!
//! Late operations still touch the memory of a count that is used again, so it cannot be an
//! [`RcuRef`](crate::count::RcuRef): a failed lookup stores DEAD, which would end the next owner's references; and a
//! put has a second operation, which hits the next use or freed memory if a lookup revives the object before it. A
//! `TicketRef` says "last" to one thread when no other will touch the count. A failed lookup leaves one added to a DEAD
//! count, which the next sharing overwrites; an addition after that does not fail.
//!
//! [`into_mut`](SlotRef::into_mut) makes the count DEAD in the step that finds one reference and no ticket, so no
//! lookup is under way, and later ones fail.
//!
//! A slot that has been used 2^36 times (every 100 ns for two hours) is *retired*: its object is dropped and the slot
//! left empty, so no key names a second use. The pool makes another, of 2^28 - 8 in its life: sixty thousand years'
//! worth.

mod builder;
mod guard;
mod key;
mod objects;

pub use builder::SlotPoolBuilder;
pub use guard::{SlotMut, SlotRef};
pub use key::SlotKey;

use super::error::AcquireError;
use super::lifecycle::{Handle, Part, Refused};
use super::statistics::Stats;
use super::table::Table;
use super::{DefaultList, FreeList};
#[cfg(feature = "std")]
use crate::wake::block_on;
use core::convert::Infallible;
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use objects::Objects;

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
/// With [`Magazines`](super::Magazines), the default (for others see [`FreeList`]), acquiring an idle object and
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
pub struct SlotPool<T, L: FreeList = DefaultList>(Handle<Objects<T>, L>);

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
        Self::builder(T::default).build()
    }

    /// A pool of what `make` makes; `reset` prepares an object for its next use.
    #[must_use]
    pub fn with(
        make: impl Fn() -> T + Send + Sync + 'static,
        reset: impl Fn(&mut T) + Send + Sync + 'static,
    ) -> Self {
        Self::builder(make).reset(reset).build()
    }

    /// Settings for a pool of what `make` makes.
    pub fn builder(make: impl Fn() -> T + Send + Sync + 'static) -> SlotPoolBuilder<T> {
        SlotPoolBuilder::new(make)
    }
}

impl<T, L: FreeList> SlotPool<T, L> {
    #[inline(always)]
    fn table(&self) -> &Table<Part<Objects<T>, L>, L> {
        &self.0.classes[0].table
    }

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
    pub fn acquire(&self) -> Result<SlotMut<T, L>, AcquireError> {
        // SAFETY: the slot was given to this call.
        let reused = self.table().reuse().map(|slot| unsafe { SlotMut::new(slot) });
        reused.map_or_else(|| self.acquire_slowly(), Ok)
    }

    #[cold]
    #[inline(never)]
    fn acquire_slowly(&self) -> Result<SlotMut<T, L>, AcquireError> {
        let slot = self.0.acquire_slowly(0, 0).map_err(|refused| self.error(&refused))?;
        // SAFETY: the slot was given to this call.
        Ok(unsafe { SlotMut::new(slot) })
    }

    fn error(&self, refused: &Refused<Infallible>) -> AcquireError {
        match refused {
            Refused::Closed => AcquireError::Closed,
            Refused::Limit | Refused::NoSlot => AcquireError::Exhausted { limit: self.limit() },
            Refused::Failed(never) => match *never {},
        }
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
    pub async fn acquire_async(&self) -> Result<SlotMut<T, L>, AcquireError> {
        if self.limit() == 0 {
            return self.acquire();
        }
        let slot = self.0.acquire_in_turn(0).await.map_err(|refused| self.error(&refused))?;
        // SAFETY: as in `acquire`.
        Ok(unsafe { SlotMut::new(slot) })
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
    ) -> Result<SlotMut<T, L>, AcquireError> {
        let acquired = block_on(self.acquire_async(), timeout);
        acquired.unwrap_or_else(|| Err(self.error(&Refused::Limit)))
    }

    /// The object that is [shared](SlotMut::share) under that key. `None` if its use has ended, if it is not shared, or
    /// if the pool is closed. Keys of other pools or bits: see [`SlotKey`].
    ///
    /// Cost: two loads and one atomic add; loads alone if the key is stale.
    #[inline]
    #[must_use]
    pub fn get(&self, key: SlotKey) -> Option<SlotRef<T, L>>
    where
        T: Sync,
    {
        let slot = self.table().find(key.index())?;
        // 1: see the module's text.
        if slot.uses() != key.uses() || self.is_closed() {
            return None;
        }
        // Acquire, in there: pairs with the Release of sharing. 3 must come after it and see the same use.
        if !slot.part.place.count.get_acquire().is_acquired() {
            return None;
        }
        // SAFETY: the reference was taken above.
        let found = unsafe { SlotRef::new(slot) };
        // 3: if this fails, what was found is dropped.
        (slot.uses() == key.uses()).then_some(found)
    }

    /// Drops all idle objects, also those that other threads keep. Returns how many. May miss what other threads
    /// release or acquire meanwhile.
    ///
    /// Cost: microseconds, and the drops. With [`Magazines`](super::Magazines) an interrupt for each other CPU that
    /// runs this process.
    ///
    /// # Panics
    ///
    /// If the drop of an object panics, after all others.
    pub fn trim(&self) -> usize {
        self.0.trim() as usize
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
        self.0.limit as usize
    }

    /// Objects in use and idle.
    ///
    /// Cost: one load.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.held() as usize
    }

    /// Whether there is no object, in use or idle.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the pool has done, and what it has. Cost: a load for each slot that it ever had: acquire and release write
    /// no shared counter. The pool's `Debug` costs the same.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats::new(&self.0.classes[0].usage(), self.0.held(), size_of::<T>() as u64)
    }
}

impl<T, L: FreeList> Clone for SlotPool<T, L> {
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

impl<T, L: FreeList> fmt::Debug for SlotPool<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotPool")
            .field("list", &L::NAME)
            .field("closed", &self.is_closed())
            .field("statistics", &self.stats())
            .finish()
    }
}

// A panic in users' code may leave an object half changed. It goes back, through `reset` if there is one, and a key
// finds it while it is shared: hence `RefUnwindSafe`.
impl<T: RefUnwindSafe, L: FreeList> UnwindSafe for SlotPool<T, L> {}
impl<T: RefUnwindSafe, L: FreeList> RefUnwindSafe for SlotPool<T, L> {}
