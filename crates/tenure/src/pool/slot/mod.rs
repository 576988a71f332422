//! [`SlotPool`]: objects of one type that are used again, and found by keys.
//!
//! # How a key finds an object
//!
//! A slot has a number `uses`, odd while it is in use, which its owner alone writes; and a count of references, a
//! [`TicketRef`](crate::count::TicketRef), which is DEAD unless the object is shared. A lookup
//!
//! 1. compares `uses` with the key: loads notice most stale keys here;
//! 2. takes a reference, which fails on a DEAD count;
//! 3. compares `uses` again. While it holds a reference the use does not end. So if this comparison fails, the next
//!    user got the slot between 1 and 2, the reference is to *their* object, and is put. That may be the last put:
//!    the lookup then resets and releases an object that it never wanted.
//!
//! The store that shared the object comes after the store to `uses`, and taking the reference acquires it. So 3
//! sees the use that the reference belongs to. 1 may see any other.
//!
//! Late operations still touch the memory of a count that is used again, so it cannot be an
//! [`RcuRef`](crate::count::RcuRef): its lookup that fails stores DEAD, and would end the next owner's references;
//! and its put has a second operation, which hits the next use or freed memory if a lookup revives the object
//! before. A `TicketRef` says "last" to one thread when no other will touch the count. A lookup that fails leaves
//! one added to a DEAD count: the next sharing overwrites that; or it came first, and then the lookup does not
//! fail.
//!
//! [`into_mut`](SlotRef::into_mut) makes the count DEAD in the step that finds one reference and no ticket, so
//! lookups fail from then on and none is under way.
//!
//! A slot that has been used 2^36 times (every 100 ns for two hours) is *retired*: its object is dropped and the
//! slot left empty, so no key names a second use. The pool makes another one, of 2^28 - 8 in its life: sixty
//! thousand years' worth.

mod builder;
mod guard;
mod key;
mod objects;

pub use builder::SlotPoolBuilder;
pub use guard::{SlotMut, SlotRef};
pub use key::SlotKey;

use super::error::AcquireError;
use super::lifecycle::{Handle, Part, Refused};
use super::statistics::SlotStatistics;
use super::table::Table;
use super::{DefaultList, FreeList};
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use objects::Objects;

/// Objects that are made once, used again and again, and found by keys.
///
/// For objects that are expensive to make and needed often: connections with their buffers, parsers, request
/// contexts. An object stays constructed between its uses, so a `Vec` in it keeps its memory. See the
/// [words](super#words), and [when not to use a pool](super#when-not-to-use-one).
///
/// The pool is a handle: clones are handles of the same pool, which closes with the last of them.
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
/// assert_eq!(pool.statistics().made, 1);
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
/// An event loop hands a word to the system, and gets it back with each event. The address of a connection could
/// dangle there. A [`SlotKey`] cannot: an event of a closed connection finds nothing, even if another one has the
/// slot by then.
///
/// A key keeps nothing alive, and finds only [shared](SlotMut::share) objects: here the [`SlotRef`] keeps the
/// connection.
///
/// ```
/// use std::sync::Mutex;
/// use tenure::pool::{SlotKey, SlotMut, SlotPool, SlotRef};
///
/// #[derive(Default)]
/// struct Connection {
///     peer: u32,
///     received: Mutex<Vec<u8>>,
/// }
///
/// impl Connection {
///     fn reset(&mut self) {
///         self.received.get_mut().unwrap().clear(); // keeps its memory
///     }
/// }
///
/// struct Server {
///     connections: SlotPool<Connection>,
/// }
///
/// impl Server {
///     /// The connection, and the word that the system returns with its events.
///     fn accept(&self, peer: u32) -> Option<(SlotRef<Connection>, u64)> {
///         let mut connection = self.connections.acquire().ok()?;
///         connection.peer = peer; // no other thread sees it yet
///         let user_data = SlotMut::key(&connection).to_bits();
///         Some((SlotMut::share(connection), user_data))
///     }
///
///     /// Any thread; any number of events of one connection at once.
///     fn on_readable(&self, user_data: u64, bytes: &[u8]) -> bool {
///         let Some(connection) = self.connections.get(SlotKey::from_bits(user_data)) else {
///             return false; // closed meanwhile
///         };
///         connection.received.lock().unwrap().extend_from_slice(bytes);
///         true
///     }
/// }
///
/// let connections = SlotPool::builder(Connection::default)
///     .reset(Connection::reset)
///     .limit(10_000)
///     .build();
/// let server = Server { connections };
///
/// let (first, user_data) = server.accept(1).unwrap();
/// assert!(server.on_readable(user_data, b"hello"));
/// drop(first);
/// let (second, _) = server.accept(2).unwrap(); // in the same slot
/// assert!(!server.on_readable(user_data, b"late")); // for the first: not found
/// assert!(second.peer == 2 && second.received.lock().unwrap().is_empty());
/// ```
///
/// # Cost
///
/// With [`Magazines`](super::Magazines), the default list. [`FreeList`] says what others cost.
///
/// | operation | atomic read-modify-writes | lines written |
/// |---|---|---|
/// | [`acquire`](SlotPool::acquire) of an idle object | none | the thread's own, the slot's |
/// | [`acquire`](SlotPool::acquire) that makes one | about six, and `make` | several that all share |
/// | drop of a [`SlotMut`] | none | the thread's own, the slot's |
/// | [`SlotMut::share`], [`key`](SlotMut::key) | none | the slot's; none |
/// | [`get`](SlotPool::get) | one add | the slot's |
/// | [`get`](SlotPool::get) with a stale key | none, unless it races with the next use | none |
/// | [`SlotRef::clone`] | one add | the slot's |
/// | drop of a [`SlotRef`] | one subtraction; the last one two | the slot's |
/// | [`SlotRef::into_mut`] | one compare-exchange | the slot's |
///
/// A slot takes the object and 32 bytes, rounded up to lines of 64: an object of up to 32 bytes takes one line.
/// There are up to twice as many slots as there ever were objects at once. Slots stay until the pool and all of its
/// guards are gone; [`trim`](SlotPool::trim) drops idle objects.
///
/// # The end
///
/// When the last handle is dropped, or by [`close`](SlotPool::close), idle objects are dropped, acquires fail, and
/// no key finds anything. Guards stay valid. An object is dropped with its last guard, and the last object frees
/// the slots.
///
/// An object that holds a handle of its own pool while it is idle keeps the pool open, as a cycle of `Arc`s would:
/// clear it in `reset`, or call `close`. A thread that ends while another drops the last handle may be the one that
/// closes.
///
/// # Panics
///
/// A panic in `make` leaves the pool as it was. After a panic in `reset` the object is dropped, not used again.
/// After one in the drop of an object its slot is free. The panic goes on to the caller: of `acquire`, of the
/// guard's drop, of `trim` or `close`.
///
/// # Threads
///
/// A pool needs `T: Send`, because one thread makes an object and others use and drop it. To share an object between
/// threads, and to find it by a key, needs `T: Sync` as well:
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
    /// A pool of `T::default()`s that are **not reset** between uses: an object comes as its last user left it.
    /// [`with`](Self::with) makes a pool that resets them.
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
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use tenure::pool::SlotPool;
    ///
    /// let pool: SlotPool<HashMap<u32, u32>> = SlotPool::with(HashMap::new, HashMap::clear);
    /// ```
    #[must_use]
    pub fn with(make: impl Fn() -> T + Send + Sync + 'static, reset: fn(&mut T)) -> Self {
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

    /// An object for the caller alone: an idle one, or else a new one.
    ///
    /// Cost: see [above](Self#cost). At the limit, the magazines of other threads are searched: microseconds, and
    /// an interrupt for each other CPU that runs this process.
    ///
    /// # Errors
    ///
    /// - [`Exhausted`](AcquireError::Exhausted) if there are as many objects as the [limit](SlotPoolBuilder::limit)
    ///   allows, and none is idle: at some moment of the call all were in use, or being acquired, released, made or
    ///   dropped by a [`trim`](Self::trim);
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
        match self.0.acquire_slowly(0, 0) {
            // SAFETY: the slot was given to this call.
            Ok(slot) => Ok(unsafe { SlotMut::new(slot) }),
            Err(Refused::Closed) => Err(AcquireError::Closed),
            Err(Refused::Limit | Refused::NoSlot) => {
                Err(AcquireError::Exhausted { limit: self.limit() })
            }
            Err(Refused::Failed(never)) => match never {},
        }
    }

    /// The object that is shared under that key. `None` if its use has ended, if it is not
    /// [shared](SlotMut::share), or if the pool is closed.
    ///
    /// [`SlotKey`] says what a key of another pool finds, or one made of other bits.
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

    /// Drops all idle objects, also those that other threads keep. Returns how many.
    ///
    /// Objects that other threads release or acquire at the same time may stay. Objects that are being dropped
    /// count for the limit until they are gone.
    ///
    /// Cost: microseconds, and the drops. With [`Magazines`](super::Magazines) an interrupt for each other CPU that
    /// runs this process.
    ///
    /// # Panics
    ///
    /// If the drop of an object panics; the other objects have been dropped by then.
    pub fn trim(&self) -> usize {
        self.0.trim() as usize
    }

    /// Ends the pool: acquires fail from now on, and idle objects are dropped.
    ///
    /// Objects in use stay valid, and are dropped with their last guard. Keys find nothing, even if their objects
    /// are still shared. Dropping the last handle does the same. Closing twice does nothing more, unless the
    /// process forked while another thread closed the pool: then it closes the pool in the child.
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

    /// How many objects there may be at once, in use and idle: the [limit](SlotPoolBuilder::limit) of the builder, or
    /// 2^28 - 8.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.0.limit as usize
    }

    /// How many objects there are, in use and idle.
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

    /// What the pool did so far, and what it has.
    ///
    /// Cost: a load for each slot, of which there are as many as objects ever were at once: acquiring and releasing
    /// write no shared counter. The pool's `Debug` costs the same.
    #[must_use]
    pub fn statistics(&self) -> SlotStatistics {
        SlotStatistics::new(&self.0.classes[0].usage(), self.0.held())
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
            .field("statistics", &self.statistics())
            .finish()
    }
}

// A panic in users' code leaves no pool half changed. An object that it left half changed goes back, through `reset` if
// there is one, and a key finds it while it is shared: hence `RefUnwindSafe`.
impl<T: RefUnwindSafe, L: FreeList> UnwindSafe for SlotPool<T, L> {}
impl<T: RefUnwindSafe, L: FreeList> RefUnwindSafe for SlotPool<T, L> {}
