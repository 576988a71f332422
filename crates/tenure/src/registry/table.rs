//! The registry, by the count of its references.
#![allow(missing_docs, reason = "methods have their documentation in `registry`")]

use super::Core;
use super::entry::{By, Entry, Spare};
use super::linger::{ClosesRing, Ring};
use super::machine::{Machine, RegistryCount};
use super::map::{Map, order_of};
use super::registered::Registered;
use super::statistics::{Counters, Stats};
use super::turn::{Turn, Wait};
use crate::cache_line::CachePadded;
use crate::count::generic::TicketRef;
use crate::memory::{Atomic, Ordering};
use crate::shared::Shared;
use alloc::borrow::ToOwned;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::convert::Infallible;
use core::fmt;
use core::future::Future;
use core::hash::{BuildHasher, Hash};
use core::ptr::NonNull;
use std::hash::RandomState;

/// A [`Registry`](super::Registry) whose references are counted by `C`.
pub struct Registry<K, V, C: RegistryCount = TicketRef, S = RandomState> {
    pub(super) core: Shared<Core<K, V, C>, C::Machine>,
    hasher: S,
    /// If objects linger.
    closes: Option<Shared<ClosesRing<K, V, C>, C::Machine>>,
}

/// Buckets of a new map: as many as are allocated at once.
const BUCKETS: u32 = 8;

impl<K, V> Registry<K, V>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn with_linger(objects: usize) -> Self {
        Self::with_linger_and_hasher(objects, RandomState::default())
    }
}

impl<K, V, C: RegistryCount, S: BuildHasher + Default> Default for Registry<K, V, C, S>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    fn default() -> Self {
        Self::with_hasher(S::default())
    }
}

impl<K, V, C: RegistryCount, S: BuildHasher> Registry<K, V, C, S>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    #[must_use]
    pub fn with_hasher(hasher: S) -> Self {
        Self::with_linger_and_hasher(0, hasher)
    }

    #[must_use]
    pub fn with_linger_and_hasher(objects: usize, hasher: S) -> Self {
        let map = CachePadded::new(Map::new(BUCKETS, C::Machine::BATCH));
        let counters = CachePadded::new(Counters::new());
        let core = Shared::new(Core { map, counters, ring: Ring::new(objects) });
        let closes = (objects > 0).then(|| Shared::new(ClosesRing(core.clone())));
        Self { core, hasher, closes }
    }

    #[inline]
    pub fn acquire<Q>(&self, key: &Q, create: impl FnOnce() -> V) -> Registered<K, V, C>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        match self.try_acquire(key, || Ok::<V, Infallible>(create())) {
            Ok(object) => object,
            Err(never) => match never {},
        }
    }

    #[inline]
    pub fn try_acquire<Q, E>(
        &self,
        key: &Q,
        create: impl FnOnce() -> Result<V, E>,
    ) -> Result<Registered<K, V, C>, E>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let order = order_of(&self.hasher, key);
        match self.find(key, order) {
            Some(object) => Ok(object),
            None => self.insert_and_create(key.to_owned(), order, create),
        }
    }

    #[inline]
    pub async fn acquire_async<Q>(
        &self,
        key: &Q,
        create: impl Future<Output = V>,
    ) -> Registered<K, V, C>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let create = async { Ok::<V, Infallible>(create.await) };
        match self.try_acquire_async(key, create).await {
            Ok(object) => object,
            Err(never) => match never {},
        }
    }

    #[inline]
    pub async fn try_acquire_async<Q, E>(
        &self,
        key: &Q,
        create: impl Future<Output = Result<V, E>>,
    ) -> Result<Registered<K, V, C>, E>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let order = order_of(&self.hasher, key);
        if let Some(object) = self.find(key, order) {
            return Ok(object);
        }
        let turn = match self.insert_or_wait(key.to_owned(), order, By::Task) {
            Ok(turn) => turn,
            Err(wait) => match wait.await {
                Ok(object) => return Ok(object),
                Err(turn) => turn,
            },
        };
        Ok(turn.finish(create.await?))
    }

    #[must_use]
    #[inline]
    pub fn get<Q>(&self, key: &Q) -> Option<Registered<K, V, C>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.find(key, order_of(&self.hasher, key))
    }

    #[inline(always)]
    fn find<Q>(&self, key: &Q, order: u64) -> Option<Registered<K, V, C>>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        // SAFETY: dropped as this returns.
        let guard = unsafe { self.core.map.enter() };
        let found = self.core.map.find(key, order, &guard)?;
        // SAFETY: the guard keeps the entry readable.
        unsafe { Self::get_ready(found) }
    }

    /// A reference to an object that is ready and lives.
    ///
    /// # Safety
    ///
    /// The caller has the guard with which the entry was found.
    #[inline(always)]
    unsafe fn get_ready(found: NonNull<Entry<K, V, C>>) -> Option<Registered<K, V, C>> {
        // SAFETY: the guard keeps the entry readable.
        let entry = unsafe { found.as_ref() };
        let is_acquired = entry.is_ready() && entry.count.get().is_acquired();
        // SAFETY: the reference was just acquired, and the entry is ready.
        is_acquired.then(|| unsafe { Registered::from_raw(found) })
    }

    /// Acquires an object that was not there, or not ready.
    #[cold]
    #[inline(never)]
    fn insert_and_create<E>(
        &self,
        key: K,
        order: u64,
        create: impl FnOnce() -> Result<V, E>,
    ) -> Result<Registered<K, V, C>, E> {
        let turn = match self.insert_or_wait(key, order, By::Thread) {
            Ok(turn) => turn,
            Err(wait) => match wait.block() {
                Ok(object) => return Ok(object),
                Err(turn) => turn,
            },
        };
        Ok(turn.finish(create()?))
    }

    /// The turn to create a new entry's object, or a wait for one that was there.
    fn insert_or_wait(&self, key: K, order: u64, by: By) -> Result<Turn<K, V, C>, Wait<K, V, C>> {
        self.insert_or_find(key, order, by).map_err(|found| {
            if !found.entry().is_ready() {
                // Relaxed: a statistic.
                self.core.counters.waited.fetch_add(1, Ordering::Relaxed);
            }
            Wait::new(found, by)
        })
    }

    /// The turn to create a new entry's object. Otherwise a reference to the key's entry, which may not be ready.
    fn insert_or_find(
        &self,
        key: K,
        order: u64,
        by: By,
    ) -> Result<Turn<K, V, C>, Registered<K, V, C>> {
        let Core { map, counters, .. } = &*self.core;
        let spare = Spare::new(key, order, self.core.clone(), by);
        // SAFETY: dropped as this returns.
        let guard = unsafe { map.enter() };
        loop {
            // SAFETY: the spare is in no map, and goes with the map's share of it.
            let Err(found) = (unsafe { map.insert(spare.0, &guard) }) else {
                // Each entry and each handle has a reference to the core.
                map.fit(|| self.core.references());
                let inserted = spare.0;
                core::mem::forget(spare);
                // SAFETY: the first reference and the turn, which came with the spare.
                return Ok(unsafe { Turn::from_raw(inserted) });
            };
            // SAFETY: the guard keeps the entry readable.
            let entry = unsafe { found.as_ref() };
            if entry.count.get().is_acquired() {
                // SAFETY: the reference was just acquired. The caller waits until the entry is ready.
                let object = unsafe { Registered::from_raw(found) };
                if !entry.is_lost() {
                    return Err(object);
                }
                // Make room: lost threads have references, so it never dies, and never gets a value.
            } else {
                // Relaxed: a statistic.
                counters.met_dead.fetch_add(1, Ordering::Relaxed);
                // Make room: the thread of the last put does too, but may not run for long.
            }
            // SAFETY: it was found there, with this guard.
            unsafe { map.remove(found, &guard) };
        }
    }

    #[must_use]
    pub fn len(&self) -> usize {
        usize::try_from(self.core.counters.live()).unwrap_or(usize::MAX)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[must_use]
    pub fn snapshot(&self) -> Vec<Registered<K, V, C>> {
        let mut objects = Vec::with_capacity(self.len());
        // SAFETY: dropped as this returns.
        let guard = unsafe { self.core.map.enter() };
        // SAFETY: the guard keeps the entries readable.
        self.core.map.for_each(&guard, |found| objects.extend(unsafe { Self::get_ready(found) }));
        objects
    }

    pub fn sweep(&self) {
        self.core.ring.sweep();
    }

    pub fn trim(&self) {
        self.core.ring.trim();
    }

    #[must_use]
    pub fn stats(&self) -> Stats {
        self.core.counters.read()
    }
}

// SAFETY: as std's `Arc` of a map of `K` and `V`, beside an `S`.
unsafe impl<K: Send + Sync, V: Send + Sync, C: RegistryCount, S: Send> Send
    for Registry<K, V, C, S>
{
}
// SAFETY: as above.
unsafe impl<K: Send + Sync, V: Send + Sync, C: RegistryCount, S: Sync> Sync
    for Registry<K, V, C, S>
{
}

impl<K, V, C: RegistryCount, S: Clone> Clone for Registry<K, V, C, S> {
    fn clone(&self) -> Self {
        let (core, hasher) = (self.core.clone(), self.hasher.clone());
        Self { core, hasher, closes: self.closes.clone() }
    }
}

impl<K, V, C: RegistryCount, S> fmt::Debug for Registry<K, V, C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("len", &self.core.counters.live()).finish_non_exhaustive()
    }
}
