//! A shard with its lock held: what changes the map, the queue of the eviction and the memory in use, together.

use std::sync::MutexGuard;

use tenure::count::RefCount;
use tenure::memory::Ordering;

use super::room::Mine;
use super::{Entry, Key, Outcome, Visit};
use crate::memcached::classes::Event;
use crate::memcached::counters::Counter;
use crate::memcached::item::{ItemRef, Recipe, state};
use crate::memcached::number::{self, Decimal};
use crate::memcached::queue::Queue;

/// What an item costs beside its allocation: the map's entry and slot, the queue's node, what the allocator adds.
pub(super) const OVERHEAD: usize = 80;

/// Bytes that a worker has unlinked before it asks for the end of the grace period. The collector waits for a number
/// of items, and they may be large.
const FLUSH_BYTES: u64 = 1 << 20;

/// What became of an addition.
#[must_use]
pub(in crate::memcached) enum Delta<C: RefCount + 'static> {
    Value(u64, ItemRef<C>),
    NotFound,
    NonNumeric,
    Mismatch,
    NoMemory,
}

/// A visit with the lock of a shard.
pub(in crate::memcached) struct Locked<'v, 'a, C: RefCount + 'static> {
    visit: &'v Visit<'a, C>,
    shard: usize,
    queue: MutexGuard<'v, Queue<ItemRef<C>>>,
    /// Bytes of items that were unlinked.
    unlinked: usize,
    /// Whether the item of a key was over.
    pub(super) over: bool,
}

impl<'v, 'a, C: RefCount + 'static> Locked<'v, 'a, C> {
    /// Takes the lock of a key.
    pub(super) fn new(visit: &'v Visit<'a, C>, key: Key<'_>) -> Self {
        let shard = visit.store.shard(key.hash);
        let queue = visit.store.shards[shard].queue.lock().expect("no panic under this lock");
        Self { visit, shard, queue, unlinked: 0, over: false }
    }

    pub(super) fn charge(item: &ItemRef<C>) -> u64 {
        (item.size() + OVERHEAD) as u64
    }

    /// The item of a key of this shard. One that is over is unlinked.
    pub(in crate::memcached) fn find(&mut self, key: Key<'_>) -> Option<&'v ItemRef<C>> {
        let visit = self.visit;
        let item = visit.peek(key)?;
        if let Some(reason) = visit.store.gone(item, visit.now) {
            visit.worker.count(reason);
            self.unlink(item);
            self.over = true;
            return None;
        }
        Some(item)
    }

    /// Links an item whose key has none, and returns its number.
    pub(in crate::memcached) fn link(&mut self, new: &ItemRef<C>) -> u64 {
        let store = self.visit.store;
        let cas = self.stamp(new);
        if self.queue.len() == 0 {
            self.queue.catch_up(store.hands.laps());
        }
        new.set_place(self.queue.push(new.share()));
        store.map.insert(Entry(new.share()), (), &self.visit.guard);
        // Relaxed: a number that is compared with the limit.
        store.used.fetch_add(Self::charge(new), Ordering::Relaxed);
        self.visit.worker.classes().count(new.sort(), Event::Linked);
        self.make_room(new);
        cas
    }

    /// Evicts until what is in use is within the limit, but not the item that is new.
    fn make_room(&mut self, new: &ItemRef<C>) {
        let mine = Mine { shard: self.shard, queue: &mut self.queue, spared: new };
        self.unlinked += self.visit.make_room(Some(mine));
    }

    fn stamp(&self, new: &ItemRef<C>) -> u64 {
        let store = self.visit.store;
        let next = store.next_cas();
        new.set_since(next as u32);
        // Unless a client has chosen it.
        let cas = if new.cas() == 0 { next } else { new.cas() };
        new.set_cas(cas);
        new.set_time(self.visit.now);
        new.mark(store.flushes(), state::FLUSHES);
        self.visit.worker.count(Counter::TotalItems);
        cas
    }

    /// Links an item at the place of another one with its key, and returns its number.
    pub(in crate::memcached) fn replace(&mut self, old: &ItemRef<C>, new: &ItemRef<C>) -> u64 {
        let store = self.visit.store;
        let cas = self.stamp(new);
        new.set_place(old.place());
        new.set_since(old.since());
        // A value that is written again is used.
        new.mark(state::REFERENCED, 0);
        drop(self.queue.replace(old.place(), new.share()));
        store.map.insert(Entry(new.share()), (), &self.visit.guard);
        self.unlinked += old.size();
        self.visit.worker.classes().count_change(old.sort(), new.sort());
        let (less, more) = (Self::charge(old), Self::charge(new));
        if more > less {
            // Relaxed: as in `link`.
            store.used.fetch_add(more - less, Ordering::Relaxed);
        } else if less > more {
            // Relaxed: as in `link`.
            store.used.fetch_sub(less - more, Ordering::Relaxed);
        }
        self.make_room(new);
        cas
    }

    /// Replaces an item by one with other data, that number unless it is 0, and the same flags and expiry. The error says
    /// whether it would be too large, or there is no memory. The pieces of `data` have `len` bytes.
    pub(in crate::memcached) fn rewrite<'d>(
        &mut self,
        old: &ItemRef<C>,
        state: u32,
        number: u64,
        len: usize,
        data: impl Iterator<Item = &'d [u8]>,
    ) -> Result<ItemRef<C>, Outcome> {
        let (flags, expiry, hash) = (old.flags(), old.expiry(), old.hash());
        if !self.visit.store.takes(old.key(), flags, len) {
            return Err(Outcome::Refused);
        }
        let recipe = Recipe { key: old.key(), hash, flags, expiry, len, state, number };
        let mut draft = self.visit.draft(&recipe).ok_or(Outcome::NoMemory)?;
        for piece in data {
            draft.fill(piece);
        }
        draft.fill(b"\r\n");
        let new = draft.finish();
        self.replace(old, &new);
        Ok(new)
    }

    /// Adds to the number that is the value of a key, or subtracts from it.
    pub(in crate::memcached) fn add(
        &mut self,
        key: Key<'_>,
        up: bool,
        delta: u64,
        cas: u64,
    ) -> Delta<C> {
        let Some(old) = self.find(key) else {
            return Delta::NotFound;
        };
        if old.len() == 0 {
            return Delta::NonNumeric;
        }
        if cas != 0 && cas != old.cas() {
            return Delta::Mismatch;
        }
        let Some(value) = old.short_data().and_then(number::value) else {
            return Delta::NonNumeric;
        };
        let value = if up { value.wrapping_add(delta) } else { value.saturating_sub(delta) };
        self.visit.worker.count(if up { Counter::IncrHits } else { Counter::DecrHits });
        let digits = Decimal::new(value);
        // As in memcached: a number that did not become longer is filled up with spaces, and keeps its marks.
        let len = old.len().max(digits.len());
        let marks = if digits.len() <= old.len() { old.state() } else { 0 };
        let spaces = std::iter::repeat_n(&b" "[..], len - digits.len());
        let new = self.rewrite(old, marks, 0, len, [&*digits].into_iter().chain(spaces));
        new.map_or(Delta::NoMemory, |new| Delta::Value(value, new))
    }

    /// Unlinks an item of this shard.
    pub(in crate::memcached) fn unlink(&mut self, item: &ItemRef<C>) {
        self.unlinked += self.visit.unlink(&mut self.queue, item);
    }
}

impl<C: RefCount + 'static> Drop for Locked<'_, '_, C> {
    fn drop(&mut self) {
        self.visit.store.hands.tell(self.shard, &self.queue);
        self.visit.add_unlinked(self.unlinked);
    }
}

impl<C: RefCount + 'static> Visit<'_, C> {
    /// Has what was unlinked freed once it is much.
    pub(super) fn add_unlinked(&self, bytes: usize) {
        if bytes > 0 && self.worker.add_unlinked(bytes) >= FLUSH_BYTES {
            self.settle();
        }
    }

    /// Unlinks an item from its shard's queue and the map, and returns its bytes.
    pub(super) fn unlink(&self, queue: &mut Queue<ItemRef<C>>, item: &ItemRef<C>) -> usize {
        let key = Key { bytes: item.key(), hash: item.hash() };
        // Relaxed: as in `link`.
        self.store.used.fetch_sub(Locked::charge(item), Ordering::Relaxed);
        self.worker.classes().count(item.sort(), Event::Unlinked);
        // `item` may be the queue's own reference, but the map's keeps it readable.
        let removed = self.store.map.remove(&key, &self.guard);
        debug_assert!(removed.is_some(), "the queue and the map have the same items");
        drop(queue.remove(item.place()));
        item.size()
    }
}
