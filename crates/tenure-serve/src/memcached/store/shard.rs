//! A shard with its lock held: what changes the map, the queue of the eviction and the memory in use, together.

use std::sync::{MutexGuard, TryLockError};

use tenure::count::RefCount;
use tenure::memory::Ordering;

use super::{Entry, Key, SHARDS, Visit};
use crate::memcached::counters::Counter;
use crate::memcached::item::{ItemRef, Recipe, state};
use crate::memcached::number::{self, Decimal};
use crate::memcached::queue::{Queue, Verdict};

/// What an item costs beside its allocation: the map's entry and slot, the queue's node, what the allocator adds.
const OVERHEAD: usize = 80;

/// Bytes that a worker has unlinked before it asks for the end of the grace period. The collector waits for a number
/// of items, and they may be large.
const FLUSH_BYTES: u64 = 1 << 20;

/// How much is done to make room.
#[derive(Clone, Copy)]
enum Effort {
    /// What was used since the hand came by stays, and loses that mark.
    Spares,
    /// It goes, too.
    Takes,
}

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
}

impl<'v, 'a, C: RefCount + 'static> Locked<'v, 'a, C> {
    /// Takes the lock of a key.
    pub(super) fn new(visit: &'v Visit<'a, C>, key: Key<'_>) -> Self {
        let shard = visit.store.shard(key.hash);
        let queue = visit.store.shards[shard].queue.lock().expect("no panic under this lock");
        Self { visit, shard, queue, unlinked: 0 }
    }

    fn charge(item: &ItemRef<C>) -> u64 {
        (item.size() + OVERHEAD) as u64
    }

    /// The item of a key of this shard. One that is over is unlinked.
    pub(in crate::memcached) fn find(&mut self, key: Key<'_>) -> Option<&'v ItemRef<C>> {
        let visit = self.visit;
        let item = visit.peek(key)?;
        if let Some(reason) = visit.store.gone(item, visit.now) {
            visit.worker.count(reason);
            self.unlink(item);
            return None;
        }
        Some(item)
    }

    /// Links an item whose key has none, and returns its number.
    pub(in crate::memcached) fn link(&mut self, new: &ItemRef<C>) -> u64 {
        let store = self.visit.store;
        let cas = self.stamp(new);
        new.set_place(self.queue.push(new.share()));
        store.map.insert(Entry(new.share()), (), &self.visit.guard);
        // Relaxed: a number that is compared with the limit.
        store.used.fetch_add(Self::charge(new), Ordering::Relaxed);
        self.make_room(new.place());
        cas
    }

    fn stamp(&self, new: &ItemRef<C>) -> u64 {
        let store = self.visit.store;
        let cas = match new.cas() {
            0 => store.next_cas(),
            // A client has chosen it.
            given => given,
        };
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
        // A value that is written again is used.
        new.mark(state::REFERENCED, 0);
        drop(self.queue.replace(old.place(), new.share()));
        store.map.insert(Entry(new.share()), (), &self.visit.guard);
        self.unlinked += old.size();
        let (less, more) = (Self::charge(old), Self::charge(new));
        if more > less {
            // Relaxed: as in `link`.
            store.used.fetch_add(more - less, Ordering::Relaxed);
            self.make_room(new.place());
        } else if less > more {
            // Relaxed: as in `link`.
            store.used.fetch_sub(less - more, Ordering::Relaxed);
        }
        cas
    }

    /// Replaces an item by one with other data, that number unless it is 0, and the same flags and expiry. `None` without memory, and where it would be too
    /// large.
    pub(in crate::memcached) fn rewrite(
        &mut self,
        old: &ItemRef<C>,
        state: u32,
        number: u64,
        data: &[&[u8]],
    ) -> Option<ItemRef<C>> {
        let len = data.iter().map(|piece| piece.len()).sum();
        let (flags, expiry, hash) = (old.flags(), old.expiry(), old.hash());
        if !self.visit.store.takes(old.key(), flags, len) {
            return None;
        }
        let recipe = Recipe { key: old.key(), hash, flags, expiry, len, state, number };
        let mut draft = self.visit.draft(&recipe)?;
        for piece in data {
            draft.fill(piece);
        }
        draft.fill(b"\r\n");
        let new = draft.finish();
        self.replace(old, &new);
        Some(new)
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
        if old.data().is_empty() {
            return Delta::NonNumeric;
        }
        if cas != 0 && cas != old.cas() {
            return Delta::Mismatch;
        }
        let Some(value) = number::value(old.data()) else {
            return Delta::NonNumeric;
        };
        let value = if up { value.wrapping_add(delta) } else { value.saturating_sub(delta) };
        self.visit.worker.count(if up { Counter::IncrHits } else { Counter::DecrHits });
        let digits = Decimal::new(value);
        // As in memcached: a number that did not become longer is filled up with spaces, and keeps its marks.
        let fits = digits.len() <= old.data().len();
        let spaces = vec![b' '; old.data().len().saturating_sub(digits.len())];
        let marks = if fits { old.state() } else { 0 };
        let new = self.rewrite(old, marks, 0, &[&digits, &spaces]);
        new.map_or(Delta::NoMemory, |new| Delta::Value(value, new))
    }

    /// Unlinks an item of this shard.
    pub(in crate::memcached) fn unlink(&mut self, item: &ItemRef<C>) {
        self.unlinked += self.visit.unlink(&mut self.queue, item);
    }

    /// Evicts until what is in use is within the limit: from this shard, but for the item at `newest`, then from others. What
    /// is used goes only where all the rest is not enough.
    fn make_room(&mut self, newest: u32) {
        let visit = self.visit;
        let store = visit.store;
        for effort in [Effort::Spares, Effort::Takes] {
            for step in 0..SHARDS {
                if store.used() <= store.limit() {
                    return;
                }
                if step == 0 {
                    self.unlinked += visit.evict(&mut self.queue, effort, Some(newest));
                    continue;
                }
                // Not waited for: two that are full would wait for each other.
                match store.shards[(self.shard + step) % SHARDS].queue.try_lock() {
                    Ok(mut other) => self.unlinked += visit.evict(&mut other, effort, None),
                    Err(TryLockError::WouldBlock) => {}
                    Err(TryLockError::Poisoned(_)) => panic!("a panic under the lock of a shard"),
                }
            }
        }
    }
}

impl<C: RefCount + 'static> Drop for Locked<'_, '_, C> {
    fn drop(&mut self) {
        if self.unlinked > 0 && self.visit.worker.add_unlinked(self.unlinked) >= FLUSH_BYTES {
            self.visit.settle();
        }
    }
}

impl<C: RefCount + 'static> Visit<'_, C> {
    /// Unlinks an item from its shard's queue and the map, and returns its bytes.
    fn unlink(&self, queue: &mut Queue<ItemRef<C>>, item: &ItemRef<C>) -> usize {
        let key = Key { bytes: item.key(), hash: item.hash() };
        // Relaxed: as in `link`.
        self.store.used.fetch_sub(Locked::charge(item), Ordering::Relaxed);
        // `item` may be the queue's own reference, but the map's keeps it readable.
        let removed = self.store.map.remove(&key, &self.guard);
        debug_assert!(removed.is_some(), "the queue and the map have the same items");
        drop(queue.remove(item.place()));
        item.size()
    }

    /// Evicts items of a shard until what is in use is within the limit, but not the one at `spared`. Returns their bytes.
    fn evict(&self, queue: &mut Queue<ItemRef<C>>, effort: Effort, spared: Option<u32>) -> usize {
        let judge = |item: &ItemRef<C>| {
            if Some(item.place()) == spared {
                return Verdict::Keep;
            }
            if item.state() & state::REFERENCED == 0 || self.store.gone(item, self.now).is_some() {
                return Verdict::Evict;
            }
            item.mark(0, state::REFERENCED);
            Verdict::Keep
        };
        let mut evicted = 0;
        while self.store.used() > self.store.limit() {
            let found = match effort {
                Effort::Spares => queue.sweep(judge),
                // Items that are used all the time do not hold it up.
                Effort::Takes => queue
                    .sweep(judge)
                    .or_else(|| queue.sweep(judge))
                    .or_else(|| queue.at_hand().filter(|at| Some(*at) != spared)),
            };
            let Some(at) = found else { break };
            // Another reference: the queue's goes on the way.
            let item = queue.get(at).share();
            self.worker.count(match self.store.gone(&item, self.now) {
                Some(_) => Counter::Reclaimed,
                None => Counter::Evictions,
            });
            evicted += self.unlink(queue, &item);
        }
        evicted
    }
}
