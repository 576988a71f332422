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
//! let second = peers.acquire(&address, || unreachable!("it is there"));
//! assert_eq!(second.limit, 100);
//!
//! drop(first);
//! assert_eq!(peers.len(), 1);
//! drop(second); // the last one: the object leaves the registry, here and now
//! assert!(peers.get(&address).is_none());
//! ```
//!
//! Lookups take borrowed keys, as std's maps do. A key is cloned only when its object is created. If creating may fail, use
//! [`try_acquire`](Registry::try_acquire):
//!
//! ```
//! use std::fs::File;
//! use tenure::registry::{Ref, Registry};
//!
//! let files: Registry<String, File> = Registry::new();
//! let missing = files.try_acquire("/no/such/file", || File::open("/no/such/file"));
//! assert!(missing.is_err() && files.is_empty());
//!
//! let manifest = files.try_acquire("Cargo.toml", || File::open("Cargo.toml"))?;
//! let again = files.get("Cargo.toml").unwrap();
//! assert!(Ref::ptr_eq(&manifest, &again));
//! assert_eq!(Ref::key(&again), "Cargo.toml");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # How it works
//!
//! A lock-free map has an entry for each key: a count, the value and the key. The map itself holds no reference. A lookup
//! takes no lock; it may find an entry that is about to go, and the *count* decides whether the object still lives.
//!
//! - **A lookup** finds an entry, under a guard that keeps the entry's memory readable, and takes a reference. If the count
//!   is dead, there is no object.
//! - **An acquire** that finds a dead count removes that entry at once and inserts a new one. If several threads insert at
//!   once, one entry wins; the others find it, and take a reference before its value exists.
//! - **The value** is created by the first thread that gets the entry's own lock; the map is not locked. After an error or a
//!   panic the next thread tries. If all fail, the entry goes with the last of their references.
//! - **The last put** removes the entry: that very entry, since the key may have a new one by now. Then it drops the value,
//!   so the destructor may use the registry, or panic.
//! - **The memory** of an entry, with its count and key, is freed when that thread and the map are both done with it. The map
//!   is done when all guards are gone that existed when the entry was removed (a *grace period*).
//! - **The map** is one list in the order of hashes, with buckets that point into it. It grows without moving entries, so
//!   no thread waits for one that was preempted: see `map.rs`. A guard is two stores to a word of the thread's own: see
//!   `grace.rs`.
//!
//! Orderings: an entry becomes *ready* with Release, which lookups Acquire. Puts are Release, and the verdict that ends the
//! object is Acquire, as in [`count`](crate::count). The first to be done with an entry says so with Release, which the
//! second Acquires. The rules are numbered in `entry.rs`. `tests/models` runs the code on a model checker, and has a twin
//! that breaks each rule.
//!
//! # Cost
//!
//! | | atomic operations on shared lines | besides |
//! |---|---|---|
//! | [`get`](Registry::get), or [`acquire`](Registry::acquire) of what is there | the count's get | a hash, the map's lookup, a guard: two stores to a word of the thread's own |
//! | [`Ref::clone`] | the count's get | |
//! | drop of a [`Ref`] that is not the last | the count's put | with [`RcuRef`](crate::count::RcuRef) a guard, as above |
//! | an acquire that creates, and the drop that ends it | the put's verdict; insert and removal; two of the registry's own count; two statistics | an allocation, an uncontended lock, a clone of the key |
//!
//! `C` chooses the count; the default is [`TicketRef`]. `Registry<K, V, Isolated<TicketRef>>` puts the count on a
//! [line of its own](crate::line::Isolated), for 120 to 250 bytes more per object.
//!
//! | count | use it |
//! |---|---|
//! | `TicketRef` | for almost everything |
//! | `Isolated<TicketRef>` | if requests read fields of the object while other threads take and release it |
//! | `RcuRef` | if 4 bytes an entry matter: each put needs a guard, and dead entries wait longer |
//! | `IncNotZero` | as a baseline |
//!
//! ```
//! use tenure::count::TicketRef;
//! use tenure::line::Isolated;
//! use tenure::registry::Registry;
//!
//! let routes: Registry<u32, [u8; 6], Isolated<TicketRef>> = Registry::default();
//! assert_eq!(routes.acquire(&7, || [1; 6])[0], 1);
//! ```
//!
//! # Limits
//!
//! - **One hot key is one hot line.** All threads that acquire it write its count. If every request needs the object, keep a
//!   [`Ref`], or see [`lazy`](crate::lazy).
//! - **A new object may be created while the destructor of the old one still runs.** If something must not exist twice, such
//!   as a lock file, `create` has to wait until it is released.
//! - **The memory of dead entries is freed late**: after the guards of that moment, and after the removing thread has removed
//!   64 entries. So each thread keeps up to 64 dead entries of the size of `V` (the value itself is dropped), and more while a
//!   thread in a lookup is preempted. With `RcuRef` they wait for two grace periods: the registry's, and one that all
//!   registries of the process share. Box a large `V`.
//! - **The map keeps its buckets**: 48 to 96 bytes for each object of the largest number there ever was.
//! - **Keys are dropped late**, with that memory, on any thread. Their destructors must not panic.
//! - **Equality should be quick**: it runs under a guard, which delays freeing. It may look up other keys, but the 16,384th
//!   nested lookup on one thread panics.
//! - **`create` must not wait for its own key.** Acquiring the key in the same thread panics. Two threads that each create
//!   what the other one wants deadlock.
//! - **Creation and end are not a fast path**: a locked map of weak pointers is faster at them, on one thread and on many
//!   (`tenure bench registry/churn`). They write two lines that all creations share, and every 64 removals need a barrier
//!   that interrupts running threads. Use a registry for objects that are found more often than made.
//! - **A forgotten [`Ref`]** (`mem::forget`) keeps its object, and all of the registry's memory.
//!
//! # Forks and threads that end
//!
//! A process that forked while other threads used a registry goes on using it, and never waits for those threads. If one of
//! them was creating an object, the next acquire of its key creates another. The references they held leak in the child, and
//! so does the memory of entries they were creating or had removed.
//!
//! A destructor of a thread-local may use a registry, even for the first time, however late it runs.
//!
//! # Instead of a map of weak pointers
//!
//! | | `Mutex<HashMap<K, Weak<V>>>` | a sharded map of `Weak` | a cache (moka) | `Registry` |
//! |---|---|---|---|---|
//! | a lookup that hits | lock, upgrade loop, unlock: two lines | read-lock a shard, upgrade loop, unlock: two lines | no lock, but it records each use | one get of the count, no lock |
//! | created once | under the lock of all keys | under a shard's lock | yes | under the object's own lock |
//! | an unused object | its entry stays, unless a destructor removes it | the same | the cache keeps it | leaves the map at once, without a sweep |
//! | a destructor that uses the map | deadlocks if the lock is held | the same | | may do so |
//!
//! `tenure bench registry` measures them.
//!
//! # Threads
//!
//! Handles and references go to any thread; keys and values have to be `Send` and `Sync`:
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

mod concurrent;
mod entry;
mod grace;
pub mod ground;
mod key;
mod map;
mod reference;
mod statistics;

pub use concurrent::Concurrent;
pub use ground::Ground;
pub use key::Key;
#[doc(hidden)]
pub use map::{Link, LockFree};
pub use reference::Ref;
pub use statistics::Statistics;

use crate::count::{RefCount, TicketRef};
use crate::line::Isolated;
use crate::shared::Shared;
use alloc::borrow::ToOwned;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::convert::Infallible;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::ptr::NonNull;
use entry::Entry;
use ground::Map;
use statistics::Counters;

/// One live object of type `V` for each key.
///
/// See the [module](self). `C` counts the references to an object: `Isolated<TicketRef>` keeps the count off the lines of
/// the object. A handle: clones are handles of the same registry.
pub struct Registry<K: Key, V, C: RefCount + 'static = TicketRef, G: Ground = Concurrent> {
    core: Shared<Core<K, V, C, G>, G::Memory>,
}

/// What handles and entries keep alive.
struct Core<K: Key, V, C: RefCount + 'static, G: Ground> {
    /// Read by every lookup, so not beside what creations write: that, and the count of this core's owners.
    map: Isolated<G::Map<Entry<K, V, C, G>>>,
    counters: Isolated<Counters<G::Memory>>,
}

impl<K: Key, V: Send + Sync + 'static> Registry<K, V> {
    /// A registry without objects.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl<K: Key, V: Send + Sync + 'static, C: RefCount + 'static, S> Registry<K, V, C, Concurrent<S>>
where
    S: BuildHasher + Send + Sync + 'static,
{
    /// A registry whose keys are hashed by `hasher`.
    #[must_use]
    pub fn with_hasher(hasher: S) -> Self {
        Self::new_in(hasher)
    }
}

impl<K: Key, V: Send + Sync + 'static, C: RefCount + 'static, G: Ground<Hasher: Default>> Default
    for Registry<K, V, C, G>
{
    fn default() -> Self {
        Self::new_in(G::Hasher::default())
    }
}

impl<K: Key, V: Send + Sync + 'static, C: RefCount + 'static, G: Ground> Registry<K, V, C, G> {
    /// [`with_hasher`](Registry::with_hasher) on any ground.
    #[must_use]
    pub fn new_in(hasher: G::Hasher) -> Self {
        let map = Isolated::new(G::map(hasher));
        Self { core: Shared::new(Core { map, counters: Isolated::new(Counters::new()) }) }
    }
}

impl<K: Key, V, C: RefCount + 'static, G: Ground> Registry<K, V, C, G> {
    /// The object of that key, which `create` makes if there is none.
    ///
    /// `create` is called by exactly one of those that come at the same time, while the others of that key wait.
    ///
    /// # Panics
    ///
    /// If `create` does: nothing is left behind, and the next one that waits calls its own. And if `create`
    /// acquires the key that it is called for.
    #[inline]
    pub fn acquire<Q>(&self, key: &Q, create: impl FnOnce() -> V) -> Ref<K, V, C, G>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        match self.try_acquire(key, || Ok::<V, Infallible>(create())) {
            Ok(object) => object,
            Err(never) => match never {},
        }
    }

    /// [`acquire`](Self::acquire), with a `create` that may fail.
    ///
    /// # Errors
    ///
    /// That of `create`. Nothing is left behind, and the next one that waits calls its own.
    ///
    /// # Panics
    ///
    /// As [`acquire`](Self::acquire).
    #[inline]
    pub fn try_acquire<Q, E>(
        &self,
        key: &Q,
        create: impl FnOnce() -> Result<V, E>,
    ) -> Result<Ref<K, V, C, G>, E>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let hash = self.core.map.hash(key);
        match self.find(key, hash) {
            Some(object) => Ok(object),
            None => self.enter(key, hash, create),
        }
    }

    /// The object of that key, if there is one. Objects that are being created are not there yet.
    #[must_use]
    #[inline]
    pub fn get<Q>(&self, key: &Q) -> Option<Ref<K, V, C, G>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.find(key, self.core.map.hash(key))
    }

    /// The object of that key, whose hash is known.
    #[inline(always)]
    fn find<Q>(&self, key: &Q, hash: u64) -> Option<Ref<K, V, C, G>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        // SAFETY: dropped as this returns.
        let guard = unsafe { self.core.map.enter() };
        let found = self.core.map.find(key, hash, &guard)?;
        Self::reference(found)
    }

    /// A reference to what was found with a guard that exists still.
    #[inline(always)]
    fn reference(found: NonNull<Entry<K, V, C, G>>) -> Option<Ref<K, V, C, G>> {
        // SAFETY: the guard keeps the entry readable.
        if !unsafe { found.as_ref() }.is_ready() {
            return None;
        }
        Self::unready(found)
    }

    /// A reference to what was found, ready or not.
    #[inline(always)]
    fn unready(found: NonNull<Entry<K, V, C, G>>) -> Option<Ref<K, V, C, G>> {
        // SAFETY: the guard keeps the entry readable.
        let got = unsafe { Entry::count(found) }.get();
        // SAFETY: the reference was just got.
        got.is_acquired().then(|| unsafe { Ref::from_raw(found) })
    }

    /// Acquires what was not there, or was not ready.
    #[cold]
    #[inline(never)]
    fn enter<Q, E>(
        &self,
        key: &Q,
        hash: u64,
        create: impl FnOnce() -> Result<V, E>,
    ) -> Result<Ref<K, V, C, G>, E>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let (object, is_first) = self.insert_or_find(key.to_owned(), hash);
        if !object.entry().is_ready() {
            if !is_first {
                self.core.counters.waited();
            }
            object.entry().make_ready(&self.core, create)?;
        }
        Ok(object)
    }

    /// A reference to the entry of that key, which may not be ready, and whether it is new.
    fn insert_or_find(&self, key: K, hash: u64) -> (Ref<K, V, C, G>, bool) {
        let Core { map, counters } = &*self.core;
        let spare = Spare(Entry::allocate(key, hash, self.core.clone()));
        // SAFETY: dropped as this returns.
        let guard = unsafe { map.enter() };
        loop {
            // SAFETY: it is in no map, and has its map's part.
            let Err(found) = (unsafe { map.insert(spare.0, &guard) }) else {
                // Each entry has a reference, and so has each handle.
                map.fit(|| self.core.references());
                // SAFETY: the first reference, which nobody else has.
                return (unsafe { Ref::from_raw(spare.into_inserted()) }, true);
            };
            if let Some(object) = Self::unready(found) {
                if !object.entry().is_lost() {
                    return (object, false);
                }
                // Nobody will make its value. It waits for the references of threads that are not there.
            } else {
                counters.met_dying();
                // Does not wait for whoever was told of the last put, who may not run for long.
            }
            // SAFETY: it was found there, with that guard.
            unsafe { map.remove(found, &guard) };
        }
    }

    /// The number of objects. Where some come and go during the call, at least as many as there were all the time.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::try_from(self.core.counters.live()).unwrap_or(usize::MAX)
    }

    /// Whether there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// References to all objects that are there during the whole call, and perhaps to some that come or go meanwhile.
    ///
    /// Those that lose their last reference meanwhile are left out. Cost: a get for each object.
    #[must_use]
    pub fn snapshot(&self) -> Vec<Ref<K, V, C, G>> {
        let mut objects = Vec::with_capacity(self.len());
        // SAFETY: dropped as this returns.
        let guard = unsafe { self.core.map.enter() };
        self.core.map.for_each(&guard, |found| objects.extend(Self::reference(found)));
        objects
    }

    /// What happened so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.core.counters.read()
    }
}

// SAFETY: as std's `Arc` of a map of what is `Send` and `Sync`, as keys always are.
unsafe impl<K: Key, V: Send + Sync, C: RefCount + 'static, G: Ground> Send
    for Registry<K, V, C, G>
{
}
// SAFETY: as above.
unsafe impl<K: Key, V: Send + Sync, C: RefCount + 'static, G: Ground> Sync
    for Registry<K, V, C, G>
{
}

/// An entry that is in no map yet.
struct Spare<K: Key, V, C: RefCount + 'static, G: Ground>(NonNull<Entry<K, V, C, G>>);

impl<K: Key, V, C: RefCount + 'static, G: Ground> Spare<K, V, C, G> {
    /// The entry, which a map has taken.
    fn into_inserted(self) -> NonNull<Entry<K, V, C, G>> {
        let entry = self.0;
        core::mem::forget(self);
        entry
    }
}

impl<K: Key, V, C: RefCount + 'static, G: Ground> Drop for Spare<K, V, C, G> {
    fn drop(&mut self) {
        // SAFETY: no map took it, and nobody else knows of it.
        unsafe { Entry::discard(self.0) };
    }
}

impl<K: Key, V, C: RefCount + 'static, G: Ground> Clone for Registry<K, V, C, G> {
    fn clone(&self) -> Self {
        Self { core: self.core.clone() }
    }
}

impl<K: Key, V, C: RefCount + 'static, G: Ground> fmt::Debug for Registry<K, V, C, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("len", &self.len()).finish_non_exhaustive()
    }
}
