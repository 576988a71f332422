//! [`SlotPool`]: objects of one type that are used again, and found by keys.
//!
//! For objects that are dear to make and needed often: connections with their buffers, parsers, request
//! contexts. An object stays constructed between its uses, so a `Vec` in it keeps its memory. The
//! [words](super#words) of pools, and [when not to use one](super#when-not-to-use-one), are explained one level up.
//!
//! ```
//! use tenure::pool::SlotPool;
//!
//! let pool = SlotPool::with(|| String::with_capacity(1024), String::clear);
//! let mut line = pool.acquire()?;
//! line.push_str("GET / HTTP/1.1");
//! drop(line); // cleared, and used again:
//! let line = pool.acquire()?;
//! assert!(line.is_empty() && line.capacity() >= 1024);
//! assert_eq!(pool.statistics().made, 1);
//! # Ok::<(), tenure::pool::slot::AcquireError>(())
//! ```
//!
//! # The life of an object
//!
//! ```text
//!               acquire                  share
//!   idle ─────────────────> SlotMut ──────────────> SlotRef, and its clones ──┐
//!    ▲                         │  ▲                    │          ▲           │ last drop
//!    │        drop: reset      │  └────────────────────┘          │           │
//!    ├─────────────────────────┘         into_mut           get(key)          │
//!    └────────────────────────────────────────────────────────────────────────┘
//!                                    reset
//! ```
//!
//! # Objects that are found by a key
//!
//! An event loop hands a word to the system, and gets it back with each event. Were the word the address of a
//! connection it could dangle, since events of a closed connection may still be under way. A [`SlotKey`] is a word
//! that cannot: a late event finds nothing, even if the slot of its connection has been given to another one.
//!
//! A key keeps nothing alive, and finds only what is [shared](SlotMut::share): here the [`SlotRef`] that `accept`
//! returns keeps the connection.
//!
//! ```
//! use std::sync::Mutex;
//! use tenure::pool::{SlotKey, SlotPool, SlotRef};
//!
//! #[derive(Default)]
//! struct Connection {
//!     peer: u32,
//!     received: Mutex<Vec<u8>>,
//! }
//!
//! impl Connection {
//!     fn reset(&mut self) {
//!         self.received.get_mut().unwrap().clear(); // keeps its memory
//!     }
//! }
//!
//! struct Server {
//!     connections: SlotPool<Connection>,
//! }
//!
//! impl Server {
//!     /// The connection, and the word that the system is to send with its events.
//!     fn accept(&self, peer: u32) -> Option<(SlotRef<Connection>, u64)> {
//!         let mut connection = self.connections.acquire().ok()?;
//!         connection.peer = peer; // nobody else sees it yet
//!         let user_data = connection.key().to_bits();
//!         Some((connection.share(), user_data))
//!     }
//!
//!     /// Any thread; any number of events of one connection at once.
//!     fn on_readable(&self, user_data: u64, bytes: &[u8]) -> bool {
//!         let Some(connection) = self.connections.get(SlotKey::from_bits(user_data)) else {
//!             return false; // closed meanwhile
//!         };
//!         connection.received.lock().unwrap().extend_from_slice(bytes);
//!         true
//!     }
//! }
//!
//! let connections = SlotPool::builder(Connection::default)
//!     .reset(Connection::reset)
//!     .limit(10_000)
//!     .build();
//! let server = Server { connections };
//!
//! let (first, user_data) = server.accept(1).unwrap();
//! assert!(server.on_readable(user_data, b"hello"));
//! drop(first);
//! let (second, _) = server.accept(2).unwrap(); // in the same slot
//! assert!(!server.on_readable(user_data, b"late")); // for the first: it is not found
//! assert!(second.peer == 2 && second.received.lock().unwrap().is_empty());
//! ```
//!
//! # Cost
//!
//! With [`Magazines`](super::Magazines), the default list. With the others an acquire and a drop of a [`SlotMut`]
//! cost what [their table](super::list) says.
//!
//! | operation | atomic read-modify-writes | lines written |
//! |---|---|---|
//! | [`acquire`](SlotPool::acquire) of an idle object | none | the thread's own, the slot's |
//! | [`acquire`](SlotPool::acquire) that makes one | about six, and `make` | several that all share |
//! | drop of a [`SlotMut`] | none | the thread's own, the slot's |
//! | [`SlotMut::share`], [`key`](SlotMut::key) | none | the slot's; none |
//! | [`get`](SlotPool::get) | one add | the slot's |
//! | [`get`](SlotPool::get) with a stale key | none, but for a race with the next use | none |
//! | [`SlotRef::clone`] | one add | the slot's |
//! | drop of a [`SlotRef`] | one subtraction; the last one two | the slot's |
//! | [`SlotRef::into_mut`] | one compare-exchange | the slot's |
//!
//! A slot takes the object and 32 bytes, rounded up to lines of 64: an object of up to 32 bytes takes one line.
//! There is room for up to twice as many slots as there ever were objects at once. Slots stay until the pool and
//! all of its guards are gone; idle objects go with [`trim`](SlotPool::trim).
//!
//! # How a key finds an object
//!
//! A slot has a number `uses`, odd while it is in use, which its owner alone writes; and a count of references,
//! a [`TicketRef`](crate::count::TicketRef), which is DEAD unless the object is shared. A lookup
//!
//! 1. compares `uses` with the key: a stale key is mostly noticed here, by loads;
//! 2. takes a reference, which fails on a DEAD count;
//! 3. compares `uses` again. While it holds a reference the use does not end. So if this comparison fails
//!    the slot was given to the next user between 1 and 2, the reference is one to *their* object, and is
//!    put. That may be the last put: the lookup then resets and releases what it never wanted.
//!
//! The store that shared the object comes after the store to `uses`, and taking the reference acquires it. So 3 sees
//! the use that the reference belongs to. 1 may see any other.
//!
//! The memory of the count is used again while late operations still touch it. That decides what count it can be:
//!
//! - Not [`RcuRef`](crate::count::RcuRef). A lookup that fails stores DEAD there: were the slot shared anew between
//!   its add and its store, the references of the new owner would be gone. And a put needs a second operation, in
//!   front of which a lookup may revive the object and be the last itself. The second operation then hits the
//!   next use of the slot, or memory that was freed with the pool.
//! - A [`TicketRef`](crate::count::TicketRef) counts those who may be the last, and says "last" to one of them
//!   when nobody else is to touch the count. A lookup that fails has added one to a DEAD count and leaves it there.
//!   Either the next sharing overwrites the count; or it came before the add, and then the lookup does not fail.
//!
//! [`into_mut`](SlotRef::into_mut) makes the count DEAD in the step that finds one reference and no ticket, so that
//! lookups fail from then on and none is under way.
//!
//! A slot that has been used 2^36 times is *retired*: its object is dropped and the slot left empty for
//! ever, so that no key ever names a second use. A slot that is used every 100 ns gets there in two hours. The pool
//! then makes another slot, of which it can have 2^28 - 8 in its life: at that rate they last sixty thousand years.
//!
//! # The end
//!
//! When the last handle is dropped, or by [`close`](SlotPool::close), idle objects are dropped and nothing is
//! handed out any more: [`acquire`](SlotPool::acquire) fails, and no key finds anything, even if its object is still
//! shared. Guards stay valid. An object is dropped when its last guard is, and the last object frees the slots.
//!
//! An object that holds a handle of its own pool, and keeps it while it is idle, keeps the pool from being closed
//! by itself, as a cycle of `Arc`s would: clear it in `reset`, or call `close`. A thread that ends while the last
//! handle is dropped elsewhere may be the one that closes the pool.
//!
//! # Panics
//!
//! A panic in `make` leaves the pool as it was. After a panic in `reset` the object is dropped, not used again.
//! After one in the drop of an object its slot is free. All of these go on to the caller: of `acquire`, of the drop
//! of the guard, of `trim` or `close`.
//!
//! # Threads
//!
//! A pool asks for `T: Send`, since an object that one thread made is used and dropped by others. To share an object
//! between threads, and to find it by a key, asks for `T: Sync` as well:
//!
//! ```
//! # use std::cell::Cell;
//! # use tenure::pool::{SlotMut, SlotPool, SlotRef};
//! fn is_send<T: Send>() {}
//! fn is_sync<T: Sync>() {}
//! is_send::<SlotPool<Cell<u8>>>();
//! is_sync::<SlotPool<Cell<u8>>>();
//! is_send::<SlotMut<Cell<u8>>>();
//! is_sync::<SlotMut<u8>>();
//! is_send::<SlotRef<u8>>();
//! is_sync::<SlotRef<u8>>();
//! ```
//! ```compile_fail,E0277
//! # use {std::rc::Rc, tenure::pool::SlotPool};
//! SlotPool::with(|| Rc::new(1), |_| ()); // error: `Rc` cannot be sent between threads
//! ```
//! ```compile_fail,E0277
//! # use {std::cell::Cell, tenure::pool::SlotMut};
//! # fn is_sync<T: Sync>() {}
//! is_sync::<SlotMut<Cell<u8>>>(); // error: it would share the `Cell`
//! ```
//! ```compile_fail,E0277
//! # use {std::cell::Cell, tenure::pool::SlotRef};
//! # fn is_send<T: Send>() {}
//! is_send::<SlotRef<Cell<u8>>>(); // error: clones of it share the `Cell`
//! ```
//! ```compile_fail,E0277
//! # use {std::cell::Cell, tenure::pool::SlotPool};
//! let pool = SlotPool::<Cell<u8>>::new();
//! let key = pool.acquire().unwrap().key();
//! pool.get(key); // error: might find what another thread uses
//! ```

mod builder;
mod error;
mod guard;
mod key;
mod objects;
mod owner;
#[cfg(test)]
mod retirement;

pub use builder::Builder;
pub use error::{AcquireError, Statistics};
pub use guard::{SlotMut, SlotRef};
pub use key::SlotKey;

use super::list::{DefaultList, FreeList};
use alloc::sync::Arc;
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use objects::{Homecoming, Refused, find_hoarded, make};
use owner::Owner;

/// Objects that are made once and used again and again. See the [module](self).
///
/// A handle: clones are the same pool, which closes with the last of them.
pub struct SlotPool<T, L: FreeList = DefaultList>(Arc<Owner<T, L>>);

impl<T: Send + 'static> SlotPool<T> {
    /// A pool of `T::default()`s that are **not reset** between uses: an object comes as its last user left it.
    /// See [`with`](Self::with) for a pool that resets them.
    ///
    /// ```
    /// let pool = tenure::pool::SlotPool::<u32>::new();
    /// *pool.acquire()? += 1;
    /// assert_eq!(*pool.acquire()?, 1);
    /// # Ok::<(), tenure::pool::slot::AcquireError>(())
    /// ```
    #[must_use]
    pub fn new() -> Self
    where
        T: Default,
    {
        Self::builder(T::default).build()
    }

    /// A pool of what `make` makes. `reset` is called with an object when its use ends.
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

    /// Settings for a pool of what `make` makes, which [`build`](Builder::build) makes.
    pub fn builder(make: impl Fn() -> T + Send + Sync + 'static) -> Builder<T> {
        Builder::new(make)
    }
}

impl<T, L: FreeList> SlotPool<T, L> {
    /// An object for the caller alone: an idle one, or else a new one.
    ///
    /// Cost: no atomic read-modify-write if this thread has an idle one; two for every 32 objects if they come from
    /// the depot, and one for each that was idle during a trim or at the limit. Else that of `make`. At the limit, objects that other threads hoard are looked for:
    /// microseconds, and an interrupt for each other CPU that runs this process, whether one is found or not.
    ///
    /// # Errors
    ///
    /// - [`Exhausted`](AcquireError::Exhausted) if there are as many objects as there may [be](Builder::limit), and
    ///   none is idle: at some moment of the call all of them were in use, being acquired or released, being made,
    ///   or being dropped by a [`trim`](Self::trim);
    /// - [`Closed`](AcquireError::Closed) after [`close`](Self::close).
    ///
    /// # Panics
    ///
    /// If `make` does.
    #[inline(always)]
    pub fn acquire(&self) -> Result<SlotMut<T, L>, AcquireError> {
        let shared = &self.0.shared;
        let mut home = Homecoming::new(shared.as_raw());
        // SAFETY: the list tells of slots with objects that it does not keep.
        let push = |index| unsafe { home.push(index) };
        // SAFETY: the slot is this thread's.
        let reused = shared.shelf.reuse(push).map(|slot| unsafe { SlotMut::new(slot) });
        if !home.is_empty() {
            home.empty();
        }
        reused.map_or_else(|| self.acquire_other(), Ok)
    }

    #[cold]
    #[inline(never)]
    fn acquire_other(&self) -> Result<SlotMut<T, L>, AcquireError> {
        let shared = &self.0.shared;
        loop {
            if shared.is_closed() {
                return Err(AcquireError::Closed);
            }
            let refused = match make(shared) {
                // SAFETY: the slot is this thread's.
                Ok(slot) => return Ok(unsafe { SlotMut::new(slot) }),
                Err(refused) => refused,
            };
            if let Some(slot) = find_hoarded(shared) {
                // SAFETY: the slot is this thread's.
                return Ok(unsafe { SlotMut::new(slot) });
            }
            // At some moment since `make` looked, no object was idle. If none has gone either there were as many as
            // there may be at that moment, all of them in somebody's hands.
            match refused {
                Refused::Limit(tally) if shared.tally() != tally => {}
                _ if shared.is_closed() => return Err(AcquireError::Closed),
                _ => return Err(AcquireError::Exhausted { limit: shared.limit() as usize }),
            }
        }
    }

    /// The object that is shared under that key. `None` if its use has ended, if it has not been
    /// [shared](SlotMut::share), or if the pool is closed.
    ///
    /// [`SlotKey`] says what a key of another pool finds, or one that was made of other bits.
    ///
    /// Cost: two loads and one atomic add; loads alone where the key is stale.
    #[inline]
    #[must_use]
    pub fn get(&self, key: SlotKey) -> Option<SlotRef<T, L>>
    where
        T: Sync,
    {
        let shared = &self.0.shared;
        let slot = shared.shelf.find(key.index())?;
        // 1: see the module's text.
        if slot.uses() != key.uses() || shared.is_closed() {
            return None;
        }
        // Acquire, in there: pairs with the Release of sharing. 3 must come after it and see the same use.
        if !slot.part.count.get_acquire().is_acquired() {
            return None;
        }
        // SAFETY: the reference was taken above.
        let found = unsafe { SlotRef::new(slot) };
        // 3: who fails here drops what it found.
        (slot.uses() == key.uses()).then_some(found)
    }

    /// Drops all idle objects, those included that other threads hoard. Returns how many.
    ///
    /// Objects that other threads release or acquire at the same time may stay. Objects that are being dropped count
    /// for the limit until they are gone.
    ///
    /// Cost: microseconds, and the drops. With [`Magazines`](super::Magazines) an interrupt for each other CPU
    /// that runs this process.
    ///
    /// # Panics
    ///
    /// If the drop of an object panics; the other objects have been dropped by then.
    pub fn trim(&self) -> usize {
        objects::trim(&self.0.shared)
    }

    /// Ends the pool: from now on no handle hands out anything, and idle objects are dropped.
    ///
    /// Objects that are in use stay valid, and are dropped when their last guard is. Keys find nothing, even if
    /// their objects are still shared. Dropping the last handle does the same. Closing twice does nothing more, unless
    /// the process forked while another thread closed the pool: then it closes the pool in the child.
    ///
    /// # Panics
    ///
    /// As [`trim`](Self::trim).
    pub fn close(&self) {
        objects::close(&self.0.shared);
    }

    /// Whether the pool was [closed](Self::close), or another thread is closing it now.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.shared.is_closed()
    }

    /// How many objects there may be at once, in use and idle: what [`Builder::limit`] was told, and no more than
    /// 2^28 - 8.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.0.shared.limit() as usize
    }

    /// How many objects there are, in use and idle.
    ///
    /// Cost: one load.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.shared.present() as usize
    }

    /// Whether there is no object, in use or idle.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the pool did so far, and what it has. See [`Statistics`].
    ///
    /// Cost: a load for each slot, of which there are as many as objects ever were at once: acquiring and releasing
    /// write no shared counter. The pool's `Debug` costs the same.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let objects = &*self.0.shared;
        let (mut used, mut in_use) = (0, 0);
        for slot in objects.shelf.slots() {
            let uses = slot.uses();
            used += uses.div_ceil(2);
            in_use += uses % 2;
        }
        let (made, present) = (objects.made(), u64::from(objects.present()));
        let (reused, idle) = (used.saturating_sub(made), present.saturating_sub(in_use));
        Statistics { made, reused, in_use, idle }
    }
}

impl<T, L: FreeList> Clone for SlotPool<T, L> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
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

// A panic in users' code leaves no pool half changed. An object that it left half changed goes back, through `reset` where
// there is one, and a key finds it while it is shared: so it has to bear being looked at.
impl<T: RefUnwindSafe, L: FreeList> UnwindSafe for SlotPool<T, L> {}
impl<T: RefUnwindSafe, L: FreeList> RefUnwindSafe for SlotPool<T, L> {}
