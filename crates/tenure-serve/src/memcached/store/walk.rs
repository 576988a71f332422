//! Looking at all items, some at a time.

use tenure::count::RefCount;

use super::{SHARDS, Visit};
use crate::memcached::item::ItemRef;

/// Places that are looked at with the lock of a shard held.
const STEP: u32 = 32;

/// How far a walk came.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::memcached) struct Place {
    shard: usize,
    at: u32,
}

impl<C: RefCount + 'static> Visit<'_, C> {
    /// Shows some of the items from a place on that are not over. Returns where to go on, unless these were the last.
    ///
    /// What is stored or goes meanwhile may be missed. All others are shown once, but for a shard most of whose items go meanwhile:
    /// its items move together, and may be missed or shown again.
    pub(in crate::memcached) fn walk(
        &self,
        from: Place,
        mut show: impl FnMut(&ItemRef<C>),
    ) -> Option<Place> {
        let Place { shard, at } = from;
        let queue = self.store.shards.get(shard)?.queue.lock().expect("no panic under this lock");
        for item in queue.at_places(at..at.saturating_add(STEP)) {
            if self.store.gone(item, self.now).is_none() {
                show(item);
            }
        }
        if at.saturating_add(STEP) < queue.places() {
            return Some(Place { shard, at: at + STEP });
        }
        (shard + 1 < SHARDS).then_some(Place { shard: shard + 1, at: 0 })
    }
}
