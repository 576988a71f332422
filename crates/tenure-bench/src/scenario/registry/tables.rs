//! What is compared: the library's registry, and what programs take instead.

use crate::scenario::lazy::Value;
use dashmap::DashMap;
use dashmap::mapref::entry::Entry as Place;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::RandomState;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tenure::memory::Native;
use tenure::registry::{Ref, Registry, RegistryCount};

/// Objects by their keys.
pub(super) trait Table: Send + Sync + 'static {
    /// A reference to one.
    type Held: Send + Sync;

    fn new() -> Self;
    /// The object of that key, a new one if there is none.
    fn acquire(&self, key: u64) -> Self::Held;
    fn read(held: &Self::Held) -> u64;
}

/// The library's, with that count.
pub(super) struct Registered<C: RegistryCount>(Registry<u64, Value<Native>, C>);

impl<C: RegistryCount> Table for Registered<C> {
    type Held = Ref<u64, Value<Native>, C>;

    fn new() -> Self {
        Self(Registry::default())
    }
    #[inline(always)]
    fn acquire(&self, key: u64) -> Self::Held {
        self.0.acquire(&key, Value::new)
    }
    #[inline(always)]
    fn read(held: &Self::Held) -> u64 {
        held.read()
    }
}

/// An object that removes its entry from the map `M` when it goes.
pub(super) struct Object<M: Removes> {
    value: Value<Native>,
    key: u64,
    map: Arc<M>,
}

impl<M: Removes> Drop for Object<M> {
    fn drop(&mut self) {
        self.map.remove_dead(self.key);
    }
}

/// A map of weak pointers.
pub(super) trait Removes: Send + Sync + Sized + 'static {
    /// Removes the entry of that key, unless there is another object in it by now.
    fn remove_dead(&self, key: u64);
}

fn object<M: Removes>(map: &Arc<M>, key: u64) -> Arc<Object<M>> {
    Arc::new(Object { value: Value::new(), key, map: Arc::clone(map) })
}

/// Behind one lock.
#[derive(Default)]
pub(super) struct LockedMap(Mutex<HashMap<u64, Weak<Object<LockedMap>>>>);

impl LockedMap {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Weak<Object<Self>>>> {
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

/// A [`LockedMap`].
pub(super) struct Locked(Arc<LockedMap>);

impl Table for Locked {
    type Held = Arc<Object<LockedMap>>;

    fn new() -> Self {
        Self(Arc::default())
    }
    #[inline(always)]
    fn acquire(&self, key: u64) -> Self::Held {
        match self.0.lock().entry(key) {
            Entry::Occupied(mut found) => found.get().upgrade().unwrap_or_else(|| {
                let new = object(&self.0, key);
                found.insert(Arc::downgrade(&new));
                new
            }),
            Entry::Vacant(place) => {
                let new = object(&self.0, key);
                place.insert(Arc::downgrade(&new));
                new
            }
        }
    }
    #[inline(always)]
    fn read(held: &Self::Held) -> u64 {
        held.value.read()
    }
}

/// Behind many locks.
#[derive(Default)]
pub(super) struct ShardedMap(DashMap<u64, Weak<Object<ShardedMap>>, RandomState>);

impl Removes for ShardedMap {
    fn remove_dead(&self, key: u64) {
        self.0.remove_if(&key, |_, found| found.strong_count() == 0);
    }
}

/// A [`ShardedMap`]: a read lock for what is there.
pub(super) struct Sharded(Arc<ShardedMap>);

impl Table for Sharded {
    type Held = Arc<Object<ShardedMap>>;

    fn new() -> Self {
        Self(Arc::default())
    }
    #[inline(always)]
    fn acquire(&self, key: u64) -> Self::Held {
        let map = &self.0.0;
        if let Some(found) = map.get(&key).and_then(|found| found.upgrade()) {
            return found;
        }
        match map.entry(key) {
            Place::Occupied(mut found) => found.get().upgrade().unwrap_or_else(|| {
                let new = object(&self.0, key);
                found.insert(Arc::downgrade(&new));
                new
            }),
            Place::Vacant(place) => {
                let new = object(&self.0, key);
                place.insert(Arc::downgrade(&new));
                new
            }
        }
    }
    #[inline(always)]
    fn read(held: &Self::Held) -> u64 {
        held.value.read()
    }
}

/// moka's cache, with room for all objects.
pub(super) struct Cached(moka::sync::Cache<u64, Arc<Value<Native>>>);

impl Table for Cached {
    type Held = Arc<Value<Native>>;

    fn new() -> Self {
        Self(moka::sync::Cache::new(1 << 20))
    }
    #[inline(always)]
    fn acquire(&self, key: u64) -> Self::Held {
        self.0.get_with(key, || Arc::new(Value::new()))
    }
    #[inline(always)]
    fn read(held: &Self::Held) -> u64 {
        held.read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_one_object_per_key<T: Table>(address: fn(&T::Held) -> usize) -> T {
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
        let locked = has_one_object_per_key::<Locked>(arc);
        assert!(locked.0.lock().is_empty());
        let sharded = has_one_object_per_key::<Sharded>(arc);
        assert!(sharded.0.0.is_empty());
        let registered = has_one_object_per_key::<Registered<tenure::count::TicketRef>>(|held| {
            (&raw const **held).addr()
        });
        assert!(registered.0.is_empty());
        has_one_object_per_key::<Cached>(arc);
    }
}
