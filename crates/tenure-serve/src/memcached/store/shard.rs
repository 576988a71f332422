//! A shard with its lock held: the map, the eviction's queue and the bytes in use change together.

use std::sync::MutexGuard;

use tenure::count::RefCount;

use super::room::Mine;
use super::{Entry, Key, Visit};
use crate::memcached::classes::Event;
use crate::memcached::counters::Counter;
use crate::memcached::item::{ItemRef, Recipe, state};
use crate::memcached::number::{self, Decimal};
use crate::memcached::queue::Queue;

/// An item's cost beside its cells: the map's entry and slot, the queue's node, the allocator's share.
pub(super) const OVERHEAD: usize = 80;

/// Unlinked bytes after which a worker asks for the end of the grace period: the collector counts items, however large.
const FLUSH_BYTES: u64 = 1 << 20;

#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The number and length of the value.
    Done {
        cas: u64,
        len: usize,
    },
    Refused,
    Exists,
    NotFound,
    NoMemory,
}

impl Outcome {
    /// The name in watchers' lines.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Done { .. } => "stored",
            Self::Refused => "not_stored",
            Self::Exists => "exists",
            Self::NotFound => "not_found",
            Self::NoMemory => "no_memory",
        }
    }
}

#[must_use]
pub(crate) enum Delta<C: RefCount + 'static> {
    Value(u64, ItemRef<C>),
    NotFound,
    NonNumeric,
    Mismatch,
    NoMemory,
}

pub(crate) struct Locked<'v, 'a, C: RefCount + 'static> {
    visit: &'v Visit<'a, C>,
    shard: usize,
    queue: MutexGuard<'v, Queue<ItemRef<C>>>,
    /// Bytes unlinked.
    unlinked: usize,
    /// Whether the item of a key had expired.
    pub(super) over: bool,
}

impl<'v, 'a, C: RefCount + 'static> Locked<'v, 'a, C> {
    pub(super) fn new(visit: &'v Visit<'a, C>, key: Key<'_>) -> Self {
        let shard = visit.store.shard(key.hash);
        let queue = visit.store.shards[shard].lock().expect("no panic under this lock");
        Self { visit, shard, queue, unlinked: 0, over: false }
    }

    pub(super) fn charge(item: &ItemRef<C>) -> u64 {
        (item.size() + OVERHEAD) as u64
    }

    /// Unlinks an expired item.
    pub(crate) fn find(&mut self, key: Key<'_>) -> Option<&'v ItemRef<C>> {
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

    /// The key must have no item. Returns the item's number.
    pub(crate) fn link(&mut self, new: &ItemRef<C>) -> u64 {
        let store = self.visit.store;
        let cas = self.stamp(new);
        if self.queue.len() == 0 {
            self.queue.catch_up(store.hands.laps());
        }
        new.place.set(self.queue.push(new.share()));
        store.map.insert(Entry(new.share()), (), &self.visit.guard);
        store.used.fetch_add(Self::charge(new));
        self.visit.worker.classes.count(new.sort(), Event::Linked);
        self.make_room(new);
        cas
    }

    /// Evicts others than the new item.
    fn make_room(&mut self, new: &ItemRef<C>) {
        let mine = Mine { shard: self.shard, queue: &mut self.queue, spared: new };
        self.unlinked += self.visit.make_room(Some(mine));
    }

    fn stamp(&self, new: &ItemRef<C>) -> u64 {
        let store = self.visit.store;
        let next = store.next_cas();
        new.since.set(next as u32);
        // A client may have chosen it.
        let cas = if new.cas.get() == 0 { next } else { new.cas.get() };
        new.cas.set(cas);
        new.set_time(self.visit.now);
        new.mark(store.flushes(), state::FLUSHES);
        self.visit.worker.count(Counter::TotalItems);
        cas
    }

    /// Links an item in place of another of its key. Returns its number.
    pub(crate) fn replace(&mut self, old: &ItemRef<C>, new: &ItemRef<C>) -> u64 {
        let store = self.visit.store;
        let cas = self.stamp(new);
        new.place.set(old.place.get());
        new.since.set(old.since.get());
        // A value that is written again counts as used.
        new.mark(state::REFERENCED, 0);
        drop(self.queue.replace(old.place.get(), new.share()));
        store.map.insert(Entry(new.share()), (), &self.visit.guard);
        self.unlinked += old.size();
        self.visit.worker.classes.count_change(old.sort(), new.sort());
        let (less, more) = (Self::charge(old), Self::charge(new));
        if more > less {
            store.used.fetch_add(more - less);
        } else if less > more {
            store.used.sub(less - more);
        }
        self.make_room(new);
        cas
    }

    /// Replaces an item's data, of `len` bytes, and its number unless `number` is 0. Fails if the item would be too
    /// large, or without memory.
    pub(crate) fn rewrite<'d>(
        &mut self,
        old: &ItemRef<C>,
        state: u32,
        number: u64,
        len: usize,
        data: impl Iterator<Item = &'d [u8]>,
    ) -> Result<ItemRef<C>, Outcome> {
        let (flags, expiry, hash) = (old.flags, old.expiry.get(), old.hash());
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

    /// Adds to the number that a key's value is, or subtracts.
    pub(crate) fn add(&mut self, key: Key<'_>, up: bool, delta: u64, cas: u64) -> Delta<C> {
        let Some(old) = self.find(key) else { return Delta::NotFound };
        if old.len() == 0 {
            return Delta::NonNumeric;
        }
        if cas != 0 && cas != old.cas.get() {
            return Delta::Mismatch;
        }
        let Some(value) = old.short_data().and_then(number::value) else {
            return Delta::NonNumeric;
        };
        let value = if up { value.wrapping_add(delta) } else { value.saturating_sub(delta) };
        self.visit.worker.count(if up { Counter::IncrHits } else { Counter::DecrHits });
        let digits = Decimal::new(value);
        // As in memcached, a number that did not grow longer is padded with spaces and keeps its marks.
        let len = old.len().max(digits.len());
        let marks = if digits.len() <= old.len() { old.state() } else { 0 };
        let spaces = std::iter::repeat_n(&b" "[..], len - digits.len());
        let new = self.rewrite(old, marks, 0, len, [&*digits].into_iter().chain(spaces));
        new.map_or(Delta::NoMemory, |new| Delta::Value(value, new))
    }

    pub(crate) fn unlink(&mut self, item: &ItemRef<C>) {
        self.unlinked += self.visit.unlink(&mut self.queue, item);
    }
}

impl<C: RefCount + 'static> Drop for Locked<'_, '_, C> {
    fn drop(&mut self) {
        self.visit.store.hands.note(self.shard, &self.queue);
        self.visit.add_unlinked(self.unlinked);
    }
}

impl<C: RefCount + 'static> Visit<'_, C> {
    /// Settles once many bytes were unlinked.
    pub(super) fn add_unlinked(&self, bytes: usize) {
        if bytes > 0 && self.worker.add_unlinked(bytes) >= FLUSH_BYTES {
            self.settle();
        }
    }

    /// Returns the item's bytes.
    pub(super) fn unlink(&self, queue: &mut Queue<ItemRef<C>>, item: &ItemRef<C>) -> usize {
        let key = Key { bytes: item.key(), hash: item.hash() };
        self.store.used.sub(Locked::charge(item));
        self.worker.classes.count(item.sort(), Event::Unlinked);
        // `item` may be the queue's own reference, but the map's keeps it readable.
        let removed = self.store.map.remove(&key, &self.guard);
        debug_assert!(removed.is_some(), "the queue and the map have the same items");
        drop(queue.remove(item.place.get()));
        item.size()
    }
}
