//! One live object per key: created on first use, gone with its last reference.
//!
//! For objects that are shared by key as long as they are used: peers by address, tenants by name, open files by path.
//!
//! ```
//! use std::net::{IpAddr, Ipv4Addr};
//! use tenure::registry::Registry;
//!
//! struct Peer { limit: u32 }
//!
//! let peers: Registry<IpAddr, Peer> = Registry::new();
//! let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
//!
//! let first = peers.acquire(&address, || Peer { limit: 100 });
//! let second = peers.acquire(&address, || unreachable!("it exists"));
//! assert_eq!(second.limit, 100);
//!
//! drop(first);
//! assert_eq!(peers.len(), 1);
//! drop(second); // the last one: the object leaves the registry, here and now
//! assert!(peers.get(&address).is_none());
//! ```
//!
//! Lookups take borrowed keys, as std's maps do. A key is cloned only to create its object. If creation may fail:
//!
//! ```
//! use std::fs::File;
//! use tenure::registry::{Registered, Registry};
//!
//! let files: Registry<String, File> = Registry::new();
//! let missing = files.try_acquire("/no/such/file", || File::open("/no/such/file"));
//! assert!(missing.is_err() && files.is_empty());
//!
//! let manifest = files.try_acquire("Cargo.toml", || File::open("Cargo.toml"))?;
//! let again = files.get("Cargo.toml").unwrap();
//! assert!(Registered::ptr_eq(&manifest, &again));
//! assert_eq!(Registered::key(&again), "Cargo.toml");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # How it works
//!
//! A lock-free map has an *entry* for each key: a count, the value and the key. A lookup may find an entry that is
//! about to go; the count decides whether the object still lives.
//!
//! - **An acquire** that finds no live entry inserts one. Of several at once one wins, and the others take references
//!   to its entry, even before the value exists.
//! - **The value** is created by the thread or task that inserted the entry. After an error, a panic, or if the task is
//!   dropped, another one that waits creates its own.
//! - **The last put** removes this very entry, as the key may have a new one. Then it drops the value. The memory is
//!   freed a *grace period* later.
//!
//! A thread waits for another only to get a value.
//!
//! # Cost
//!
//! | | atomic operations on shared lines | besides |
//! |---|---|---|
//! | [`get`](Registry::get), or [`acquire`](Registry::acquire) of what exists | the count's get | a hash, the map's lookup, a guard: two stores to the thread's own word |
//! | [`Registered::clone`] | the count's get | |
//! | drop of a [`Registered`] that is not the last | the count's put | |
//! | an acquire that creates, and the drop that ends it | the put's verdict; insertion and removal; two of the registry's own count; two statistics | an allocation, a clone of the key |
//!
//! An object may share its first line with its count. If requests read objects while other threads take and release them,
//! let the values own their lines: `Registry<u32, CachePadded<Route>>`, for 120 to 250 bytes more an object (see
//! [`cache_line`](crate::cache_line)).
//!
//! # Objects that linger
//!
//! A server whose requests come one after the other would create and destroy a tenant for each of them. In a registry
//! [with linger](Registry::with_linger) an object stays when no one uses it, until its place is wanted for another one,
//! or until the second [sweep](Registry::sweep) after its last use:
//!
//! ```
//! use tenure::registry::Registry;
//!
//! let tenants: Registry<u32, String> = Registry::with_linger(1_000);
//! drop(tenants.acquire(&7, || "tenant 7".to_owned()));
//! assert_eq!(*tenants.acquire(&7, || unreachable!("it is still there")), "tenant 7");
//!
//! tenants.sweep(); // once a minute, by some task
//! tenants.sweep();
//! assert!(tenants.get(&7).is_none());
//! ```
//!
//! The registry has a reference of its own to such an object. It has 1,000 places for them here, 8 bytes each, in which
//! objects come in the order of their first uses. One that finds no empty place takes that of an object which was not
//! used since the last lap or sweep. It passes eight that were, at most: the ninth goes, however recent its use. The
//! drop that makes room ends that object there and then, at the cost of up to nine exchanges and the destructor. What
//! only that object kept ends with it, and does not linger. With enough places, and a sweep now and then, no request
//! runs a destructor. A look-up costs as much as without linger; the first drop of a reference after a sweep or a lap
//! costs one more atomic operation.
//!
//! All objects end with the last handle to the registry, but for those in use. So a lingering object must not have a
//! handle to its own registry: neither would end.
//!
//! # Limits
//!
//! - **A hot key is a hot line.** Every acquire writes its count. If every request needs the object, keep a [`Registered`], or
//!   see [`revocable`](crate::revocable).
//! - **A new object may be created while the destructor of the old one runs.** If something must not exist twice, such
//!   as a lock file, let `create` wait until it is released.
//! - **Dead entries are freed late.** Each thread keeps up to 64, each as large as a `V`, and more while a thread is
//!   preempted in a lookup. Box a large
//!   `V`.
//! - **Keys are dropped late**, with that memory, on any thread. Their destructors must not panic.
//! - **The map keeps its buckets**: 48 to 96 bytes for each object of the largest number there ever was.
//! - **Comparing keys should be quick**: it runs under a guard, which delays freeing. It may look up other keys, but
//!   the 16,384th nested lookup of a thread panics.
//! - **`create` must not wait for its own key.** Acquiring it in the same thread panics. In the same task, or by a future
//!   that a blocking `create` runs to its end, it waits for ever. Two threads that each create what the other one wants
//!   deadlock.
//! - **A task that creates and is not polled holds up its key.** A blocking acquire on the thread that is to poll it
//!   waits for ever.
//! - **A wait that is given up leaves about 100 bytes** in the entry until the turn to create ends. If a `create` may hang
//!   while requests time out, give it a timeout too.
//! - **Creation and end are not a fast path**: a locked map of weak pointers is faster at them on one thread
//!   (`tenure bench registry/churn`). They write two lines that all creations share, and every 64 removals need a heavy
//!   barrier. Objects that come and go with each request should [linger](self#objects-that-linger).
//! - **A forgotten [`Registered`]** (`mem::forget`) leaks its object, and all of the registry's memory. So does a forgotten future of
//!   [`acquire_async`](Registry::acquire_async). If that future had the turn to create, it keeps it, and all acquires of the key
//!   wait for ever.
//! - **A [global allocator](crate#in-a-global-allocator)** may look up, drop references, and acquire keys that it alone creates. If the
//!   program creates the key too, its `create` may call the allocator, which then panics, or waits for ever if two threads
//!   wait for each other.
//! - **A [plugin](crate#plugins)** must not use a registry of the program.
//! - **A stackful coroutine** that is suspended in the comparison or destructor of a key must resume on the same thread.
//!
//! A forked child can use a registry. An acquire that it begins never waits for lost threads; one that began before the
//! fork may wait for ever. If a lost thread was creating an object, or a task was, the next acquire of the key creates
//! another. Their references, and entries that they were creating or had removed, leak. The destructor of a thread-local
//! may use a registry, however late it runs.
//!
//! # Instead of a map of weak pointers
//!
//! | | `Mutex<HashMap<K, Weak<V>>>` | a sharded map of `Weak` | a cache (moka) | `Registry` |
//! |---|---|---|---|---|
//! | a lookup that hits | lock, upgrade loop, unlock: two lines | read-lock a shard, upgrade loop, unlock: two lines | no lock, but it records each use | one get of the count, no lock |
//! | created once | under the lock of all keys | under a shard's lock | yes | by one thread or task; others wait for this key alone |
//! | an unused object | its entry stays, unless a destructor removes it | the same | the cache keeps it | leaves the map at once, without a sweep; or lingers |
//! | a destructor that uses the map | deadlocks if the lock is held | the same | | may do so |
//!
//! `tenure bench registry` measures them.
//!
//! # Threads
//!
//! Handles and references go to any thread, so keys and values have to be `Send` and `Sync`:
//!
//! ```compile_fail,E0277
//! use std::cell::Cell;
//! let objects = tenure::registry::Registry::<u32, Cell<u32>>::new(); // not `Sync`
//! ```
//! ```compile_fail,E0277
//! use std::sync::MutexGuard;
//! let objects = tenure::registry::Registry::<u32, MutexGuard<'static, u32>>::new(); // not `Send`
//! ```
//! ```compile_fail,E0277
//! use std::rc::Rc;
//! let objects = tenure::registry::Registry::<Rc<u32>, u32>::new(); // a key that is neither
//! ```
//! ```
//! fn may_go_anywhere<T: Send + Sync>(_: &T) {}
//! let objects = tenure::registry::Registry::<u32, u32>::new();
//! may_go_anywhere(&objects);
//! may_go_anywhere(&objects.acquire(&1, || 1));
//! ```

mod collector;
mod entry;
mod linger;
mod machine;
mod map;
mod registered;
mod statistics;
mod table;
mod turn;
mod waiters;

pub use statistics::Stats;

/// The same by a count and on a machine, and its parts: for benchmarks and models.
#[doc(hidden)]
pub mod generic {
    pub use super::collector::{Collector, Guard};
    pub use super::machine::{Creator, Machine, RegistryCount};
    pub use super::map::{Element, Link, Map, order_of};
    pub use super::registered::Registered;
    pub use super::table::Registry;
}

use crate::cache_line::CachePadded;
use crate::count::generic::TicketRef;
use alloc::borrow::ToOwned;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::fmt;
use core::future::Future;
use core::hash::{BuildHasher, Hash};
use core::ops::Deref;
use entry::Entry;
use linger::Ring;
use machine::RegistryCount;
use map::Map;
use statistics::Counters;
use std::hash::RandomState;

/// What handles and entries keep alive.
struct Core<K, V, C: RegistryCount> {
    /// Read by every lookup. So not on the lines that creations write: the counters, and the count of the core's
    /// owners.
    map: CachePadded<Map<Entry<K, V, C>>>,
    counters: CachePadded<Counters<C::Machine>>,
    ring: Ring<K, V, C>,
}

/// One live object of type `V` for each key.
///
/// See the [module](self). Clones are handles of the same registry.
///
/// `S` hashes the keys, as in [`HashMap`](std::collections::HashMap). A key whose `Eq` or `Hash` lies finds the wrong object
/// or none, but breaks nothing else.
pub struct Registry<K, V, S = RandomState>(table::Registry<K, V, TicketRef, S>);

impl<K, V> Registry<K, V>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    /// A registry without objects.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A registry in which up to `objects` objects [linger](self#objects-that-linger), 2^24 at most.
    ///
    /// Allocates a place of 8 bytes for each. Every sweep scans all places.
    #[must_use]
    pub fn with_linger(objects: usize) -> Self {
        Self(table::Registry::with_linger(objects))
    }
}

impl<K, V, S: BuildHasher + Default> Default for Registry<K, V, S>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    fn default() -> Self {
        Self::with_hasher(S::default())
    }
}

impl<K, V, S: BuildHasher> Registry<K, V, S>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    /// A registry whose keys are hashed by `hasher`.
    #[must_use]
    pub fn with_hasher(hasher: S) -> Self {
        Self(table::Registry::with_hasher(hasher))
    }

    /// [`with_linger`](Registry::with_linger), with keys that are hashed by `hasher`.
    #[must_use]
    pub fn with_linger_and_hasher(objects: usize, hasher: S) -> Self {
        Self(table::Registry::with_linger_and_hasher(objects, hasher))
    }

    /// The object of that key, which `create` makes if there is none.
    ///
    /// If several threads acquire a key at once, one calls its `create`, and the others wait.
    ///
    /// # Panics
    ///
    /// If `create` does: nothing is left behind, and the next waiting thread calls its own. Or if `create` acquires its
    /// own key.
    #[inline]
    pub fn acquire<Q>(&self, key: &Q, create: impl FnOnce() -> V) -> Registered<K, V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        Registered(self.0.acquire(key, create))
    }

    /// [`acquire`](Self::acquire), with a `create` that may fail.
    ///
    /// # Errors
    ///
    /// That of `create`. Nothing is left behind, and the next waiting thread calls its own.
    ///
    /// # Panics
    ///
    /// As [`acquire`](Self::acquire).
    #[inline]
    pub fn try_acquire<Q, E>(
        &self,
        key: &Q,
        create: impl FnOnce() -> Result<V, E>,
    ) -> Result<Registered<K, V>, E>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        self.0.try_acquire(key, create).map(Registered)
    }

    /// [`acquire`](Self::acquire) with a future that creates. It runs if there is no object, and only one at a time does.
    ///
    /// If the task that runs it is dropped, the next one that waits runs its own. Needs no runtime, and waits also for
    /// an `acquire` of another thread, as that does for this. A forgotten future (`mem::forget`) keeps what it has been
    /// granted: a reference, or the turn to create, for which all others wait.
    ///
    /// ```
    /// use tenure::registry::{Registered, Registry};
    ///
    /// struct Tenant { limit: u32 }
    ///
    /// async fn limit_of(tenants: &Registry<u64, Tenant>, id: u64) -> u32 {
    ///     let load = async { Tenant { limit: 100 } }; // asks a database
    ///     tenants.acquire_async(&id, load).await.limit
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// If the future does: nothing is left behind, and the next waiting task runs its own. A future that acquires its
    /// own key waits for itself.
    #[inline]
    pub async fn acquire_async<Q>(
        &self,
        key: &Q,
        create: impl Future<Output = V>,
    ) -> Registered<K, V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        Registered(self.0.acquire_async(key, create).await)
    }

    /// [`acquire_async`](Self::acquire_async), with a future that may fail.
    ///
    /// # Errors
    ///
    /// That of `create`. Nothing is left behind, and the next waiting task runs its own.
    ///
    /// # Panics
    ///
    /// As [`acquire_async`](Self::acquire_async).
    #[inline]
    pub async fn try_acquire_async<Q, E>(
        &self,
        key: &Q,
        create: impl Future<Output = Result<V, E>>,
    ) -> Result<Registered<K, V>, E>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        self.0.try_acquire_async(key, create).await.map(Registered)
    }

    /// The object of that key, if there is one. An object that is being created is not there yet.
    #[must_use]
    #[inline]
    pub fn get<Q>(&self, key: &Q) -> Option<Registered<K, V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.get(key).map(Registered)
    }

    /// The number of objects, with those that linger. If some come and go during the call, at least as many as there
    /// were all the time.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// References to all objects that are there during the whole call, and perhaps to some that come or go meanwhile.
    ///
    /// Cost: a get for each object. Their drops count as a use of every object that [lingers](self#objects-that-linger).
    #[must_use]
    pub fn snapshot(&self) -> Vec<Registered<K, V>> {
        self.0.snapshot().into_iter().map(Registered).collect()
    }

    /// Ends the lingering objects that were not used since the last sweep. Used is what a reference to was dropped.
    ///
    /// Called once a minute, say, by a task that has time: an object that no one uses stays for one to two minutes.
    ///
    /// Cost: a look at each place for a lingering object, and at the object.
    pub fn sweep(&self) {
        self.0.sweep();
    }

    /// Ends all lingering objects that are not in use. Those in use linger again, once a reference is dropped: so do
    /// those that only lingering objects used.
    pub fn trim(&self) {
        self.0.trim();
    }

    /// What happened so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.0.stats()
    }
}

impl<K, V, S: Clone> Clone for Registry<K, V, S> {
    /// Another handle of the same registry.
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K, V, S> fmt::Debug for Registry<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A reference to an object of a [`Registry`].
///
/// One pointer. A clone is one atomic addition, a drop one subtraction. The last drop, on any thread, removes the object
/// from the registry and runs its destructor. A reference may outlive the registry's handles.
pub struct Registered<K, V>(registered::Registered<K, V, TicketRef>);

impl<K, V> Registered<K, V> {
    /// The key of the object.
    #[must_use]
    pub fn key(this: &Self) -> &K {
        registered::Registered::key(&this.0)
    }

    /// Whether both refer to one object.
    #[must_use]
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        registered::Registered::ptr_eq(&this.0, &other.0)
    }

    /// The number of references at some moment of the call. While the object [lingers](super#objects-that-linger) the
    /// registry has one.
    #[must_use]
    pub fn count(this: &Self) -> u32 {
        registered::Registered::count(&this.0)
    }
}

impl<K, V> Deref for Registered<K, V> {
    type Target = V;
    #[inline(always)]
    fn deref(&self) -> &V {
        &self.0
    }
}

impl<K, V> Clone for Registered<K, V> {
    #[inline(always)]
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

smart_pointer! { V: [K, V] Registered<K, V>; }
