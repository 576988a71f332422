//! The library's registry, and what programs take instead.

use crate::scenario::workers::WorkerValue;
use dashmap::DashMap;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::RandomState;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tenure::count::generic::TicketRef;
use tenure::memory::Native;
use tenure::registry::generic::{Registered, Registry, RegistryCount};

pub(super) trait KeyedTable: Send + Sync + 'static {
    type Held: Send + Sync;

    fn new() -> Self;
    /// Makes the object if there is none.
    fn acquire(&self, key: u64) -> Self::Held;
    fn read(held: &Self::Held) -> u64;
}

pub(super) struct InRegistry<C: RegistryCount>(Registry<u64, WorkerValue<Native>, C>);

impl<C: RegistryCount> KeyedTable for InRegistry<C> {
    type Held = Registered<u64, WorkerValue<Native>, C>;

    fn new() -> Self {
        Self(Registry::default())
    }
    #[inline(always)]
    fn acquire(&self, key: u64) -> Self::Held {
        self.0.acquire(&key, WorkerValue::new)
    }
    #[inline(always)]
    fn read(held: &Self::Held) -> u64 {
        held.read()
    }
}

/// Objects stay, as there is room for all.
pub(super) struct Lingering(InRegistry<TicketRef>);

impl KeyedTable for Lingering {
    type Held = <InRegistry<TicketRef> as KeyedTable>::Held;

    fn new() -> Self {
        Self(InRegistry(Registry::with_linger(1 << 16)))
    }
    #[inline(always)]
    fn acquire(&self, key: u64) -> Self::Held {
        self.0.acquire(key)
    }
    #[inline(always)]
    fn read(held: &Self::Held) -> u64 {
        InRegistry::<TicketRef>::read(held)
    }
}

/// Removes its entry from a map of weak pointers when it ends.
pub(super) struct RemovedObject<M: Removes> {
    value: WorkerValue<Native>,
    key: u64,
    map: Arc<M>,
}

impl<M: Removes> Drop for RemovedObject<M> {
    fn drop(&mut self) {
        self.map.remove_dead(self.key);
    }
}

pub(super) trait Removes: Send + Sync + Sized + 'static {
    /// Unless the entry has another object by now.
    fn remove_dead(&self, key: u64);
}

#[inline(always)]
fn found<M: Removes>(
    map: &Arc<M>,
    key: u64,
    entry: &mut Weak<RemovedObject<M>>,
) -> Arc<RemovedObject<M>> {
    entry.upgrade().unwrap_or_else(|| {
        let new = Arc::new(RemovedObject { value: WorkerValue::new(), key, map: Arc::clone(map) });
        *entry = Arc::downgrade(&new);
        new
    })
}

#[derive(Default)]
pub(super) struct LockedMap(Mutex<HashMap<u64, Weak<RemovedObject<LockedMap>>>>);

impl LockedMap {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Weak<RemovedObject<Self>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Removes for LockedMap {
    fn remove_dead(&self, key: u64) {
        if let Entry::Occupied(found) = self.lock().entry(key)
            && found.get().strong_count() == 0
        {
            found.remove();
        }
    }
}

pub(super) type LockedTable = Arc<LockedMap>;

impl KeyedTable for LockedTable {
    type Held = Arc<RemovedObject<LockedMap>>;

    fn new() -> Self {
        Self::default()
    }
    #[inline(always)]
    fn acquire(&self, key: u64) -> Self::Held {
        found(self, key, self.lock().entry(key).or_default())
    }
    #[inline(always)]
    fn read(held: &Self::Held) -> u64 {
        held.value.read()
    }
}

#[derive(Default)]
pub(super) struct ShardedMap(DashMap<u64, Weak<RemovedObject<ShardedMap>>, RandomState>);

impl Removes for ShardedMap {
    fn remove_dead(&self, key: u64) {
        self.0.remove_if(&key, |_, found| found.strong_count() == 0);
    }
}

pub(super) type ShardedTable = Arc<ShardedMap>;

impl KeyedTable for ShardedTable {
    type Held = Arc<RemovedObject<ShardedMap>>;

    fn new() -> Self {
        Self::default()
    }
    #[inline(always)]
    fn acquire(&self, key: u64) -> Self::Held {
        // A read lock is enough for an object that is there.
        let there = self.0.get(&key).and_then(|found| found.upgrade());
        there.unwrap_or_else(|| found(self, key, &mut self.0.entry(key).or_default()))
    }
    #[inline(always)]
    fn read(held: &Self::Held) -> u64 {
        held.value.read()
    }
}

/// moka's cache, with room for all.
pub(super) struct MokaCache(moka::sync::Cache<u64, Arc<WorkerValue<Native>>>);

impl KeyedTable for MokaCache {
    type Held = Arc<WorkerValue<Native>>;

    fn new() -> Self {
        Self(moka::sync::Cache::new(1 << 20))
    }
    #[inline(always)]
    fn acquire(&self, key: u64) -> Self::Held {
        self.0.get_with(key, || Arc::new(WorkerValue::new()))
    }
    #[inline(always)]
    fn read(held: &Self::Held) -> u64 {
        held.read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_one_object_per_key<T: KeyedTable>(address: fn(&T::Held) -> usize) -> T {
        let table = T::new();
        let [first, again, other] = [1, 1, 2].map(|key| table.acquire(key));
        assert_eq!(address(&first), address(&again));
        assert_ne!(address(&first), address(&other));
        table
    }

    fn arc<T>(held: &Arc<T>) -> usize {
        Arc::as_ptr(held).addr()
    }

    #[test]
    fn every_table_has_one_object_per_key_and_forgets_those_that_nobody_holds() {
        let locked = has_one_object_per_key::<LockedTable>(arc);
        assert!(locked.lock().is_empty());
        let sharded = has_one_object_per_key::<ShardedTable>(arc);
        assert!(sharded.0.is_empty());
        let address = |held: &<Lingering as KeyedTable>::Held| (&raw const **held).addr();
        let registered = has_one_object_per_key::<InRegistry<TicketRef>>(address);
        assert!(registered.0.is_empty());
        let lingering = has_one_object_per_key::<Lingering>(address);
        assert_eq!(lingering.0.0.len(), 2);
        has_one_object_per_key::<MokaCache>(arc);
    }
}
