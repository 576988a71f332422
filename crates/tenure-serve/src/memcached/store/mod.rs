//! The store: a map that is read without a lock, and shards with a lock for changes.
//!
//! A lookup takes a guard of the map, finds the item, checks for an expiry or flush, and takes a reference: the line of
//! the item's count is the only shared one that it writes.
//!
//! A change holds the lock of its key's shard: the map, the eviction's queue and the bytes in use change together. The
//! map (an insert releases, a lookup acquires) and the locks order memory; numbers are only counted and compared.

mod change;
mod crawl;
mod key;
mod room;
mod shard;
mod tidy;

use std::hash::{BuildHasher, Hasher};
use std::sync::{Mutex, MutexGuard, TryLockError};

use papaya::{Guard, HashMap, LocalGuard};
use tenure::count::RefCount;
use tenure::line::Isolated;
use tenure::sync::Arc;

use super::Config;
use super::arena::Arena;
use super::classes::footprint;
use super::clock::Seconds;
use super::counters::{Counter, Worker};
use super::item::{Draft, ItemRef, Recipe, state};
use super::queue::Queue;
use super::watch::Watchers;
use crate::lock::Lock;
use crate::relaxed::Relaxed;
pub(super) use change::{Removal, Storing, Verb};
use crawl::Crawl;
pub(super) use crawl::Place;
pub(super) use key::Key;
use key::{Entry, Hashed};
use room::Hands;
use shard::OVERHEAD;
pub(super) use shard::{Delta, Locked, Outcome};

const SHARDS: usize = 256;

/// A shard's items, in the order of eviction.
type Shard<C> = Mutex<Queue<ItemRef<C>>>;

pub(super) struct Store<C: RefCount + 'static> {
    map: HashMap<Entry<C>, (), Hashed>,
    shards: Box<[Isolated<Shard<C>>]>,
    hands: Hands,
    pub(super) arena: Arc<Arena>,
    hasher: foldhash::quality::RandomState,
    limit: Relaxed<u64>,
    evicts: bool,
    /// Bytes for which the system has memory, if that is known to be less.
    possible: Relaxed<u64>,
    /// Bytes of gaps between items and in the map, when the last block was taken.
    spare: Relaxed<u64>,
    most_ever: Relaxed<u64>,
    crawl: Lock<Crawl>,
    crawls: Relaxed<u32>,
    /// The most items at once since memory of the map was last given back.
    most_items: Relaxed<u64>,
    /// The last second in which house-keeping gives back memory of the map.
    trims_until: Relaxed<u32>,
    pub(super) watchers: Watchers,
    /// As memcached counts.
    largest: usize,
    /// A delayed flush: from this second on, items stored or hit up to then are gone. 0 for none.
    flushed_time: Relaxed<u32>,
    /// Flushes so far, in steps of [`state::FLUSH`]. Items stored at another count are gone.
    flushes: Relaxed<u32>,
    used: Isolated<Relaxed<u64>>,
    /// The last value's number.
    cas: Isolated<Relaxed<u64>>,
}

impl<C: RefCount + 'static> Store<C> {
    pub(super) fn new(config: &Config, largest: usize) -> Self {
        Self {
            map: HashMap::with_hasher(Hashed(0)),
            shards: (0..SHARDS).map(|_| Isolated::new(Mutex::new(Queue::new()))).collect(),
            hands: Hands::new(),
            arena: Arc::new(Arena::new()),
            hasher: foldhash::quality::RandomState::default(),
            limit: Relaxed::new(config.memory),
            evicts: config.evictions,
            possible: Relaxed::new(u64::MAX),
            spare: Relaxed::default(),
            most_ever: Relaxed::default(),
            crawl: Lock::new(Crawl::new()),
            crawls: Relaxed::new(config.crawl.into()),
            most_items: Relaxed::default(),
            trims_until: Relaxed::default(),
            watchers: Watchers::default(),
            largest,
            flushed_time: Relaxed::default(),
            flushes: Relaxed::default(),
            used: Isolated::default(),
            cas: Isolated::default(),
        }
    }

    #[inline]
    pub(super) fn key<'a>(&self, bytes: &'a [u8]) -> Key<'a> {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(bytes);
        Key { bytes, hash: hasher.finish() }
    }

    fn shard(&self, hash: u64) -> usize {
        (hash >> 24) as usize % SHARDS
    }

    fn try_lock(&self, shard: usize) -> Option<MutexGuard<'_, Queue<ItemRef<C>>>> {
        match self.shards[shard].try_lock() {
            Err(TryLockError::Poisoned(_)) => panic!("a panic under the lock of a shard"),
            locked => locked.ok(),
        }
    }

    #[inline]
    pub(super) fn visit<'a>(&'a self, worker: &'a Worker, now: Seconds) -> Visit<'a, C> {
        Visit { store: self, guard: self.map.guard(), worker, now }
    }

    pub(super) fn len(&self) -> usize {
        self.map.len()
    }

    /// Bytes of linked items, with their overhead.
    pub(super) fn used(&self) -> u64 {
        self.used.get()
    }

    /// Linked or not, with the bytes of their cells.
    pub(super) fn alive(&self) -> (u64, u64) {
        (self.arena.items(), self.arena.live())
    }

    /// As memcached counts.
    pub(super) fn takes(&self, key: &[u8], flags: u32, len: usize) -> bool {
        footprint(key.len(), flags, len) <= self.largest
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit.get()
    }

    /// Bytes that may be in use: those for which the system has memory, without gaps.
    fn room(&self) -> u64 {
        let room = self.limit().min(self.possible.get());
        // No more than an eighth: where the limit is small, there are gaps in blocks of every class.
        room - self.spare.get().min(room / 8)
    }

    /// The system had no memory: leaves something for what is not an item.
    fn lower_room(&self) {
        let used = self.used();
        self.possible.update(|possible| possible.min(used - used / 8));
    }

    /// The system may have memory again. Returns the bytes of free blocks to keep for new items.
    fn raise_room(&self) -> u64 {
        let limit = self.limit();
        let possible = self.possible.get();
        if possible == u64::MAX {
            return limit / 16;
        }
        let more = possible.saturating_add(limit / 256);
        // A worker that lowers it meanwhile will do so again.
        self.possible.set(if more >= limit { u64::MAX } else { more });
        0
    }

    pub(super) fn set_limit(&self, bytes: u64) {
        self.limit.set(bytes);
    }

    fn next_cas(&self) -> u64 {
        self.cas.fetch_add(1) + 1
    }

    /// Everything that is stored now will be gone at the moment `when`.
    pub(super) fn flush(&self, when: Seconds, now: Seconds) {
        let mut later = when - 1;
        if when <= now + 1 {
            // A client that stores because of a flush has heard of it through the system, which orders that.
            self.flushes.fetch_add(state::FLUSH);
            later = 0;
        }
        self.flushed_time.set(later);
    }

    /// As the state of an item has them.
    fn flushes(&self) -> u32 {
        self.flushes.get()
    }

    pub(super) fn flushed(&self) -> Seconds {
        self.flushed_time.get()
    }

    #[inline]
    fn is_flushed(&self, item: &ItemRef<C>, now: Seconds) -> bool {
        let time = self.flushed();
        item.state() & state::FLUSHES != self.flushes()
            || time != 0 && time <= now && item.time() <= time
    }

    #[inline]
    fn gone(&self, item: &ItemRef<C>, now: Seconds) -> Option<Counter> {
        if self.is_flushed(item, now) {
            return Some(Counter::GetFlushed);
        }
        let expiry = item.expiry.get();
        (expiry != 0 && expiry <= now).then_some(Counter::GetExpired)
    }
}

/// Longer values do not arrive in one buffer.
const LARGE: usize = 16 << 10;

/// A worker's guard of the store: what it finds stays readable meanwhile.
pub(super) struct Visit<'a, C: RefCount + 'static> {
    store: &'a Store<C>,
    guard: LocalGuard<'a>,
    pub(super) worker: &'a Worker,
    pub(super) now: Seconds,
}

impl<'a, C: RefCount + 'static> Visit<'a, C> {
    pub(super) fn watchers(&self) -> &Watchers {
        &self.store.watchers
    }

    #[inline]
    pub(super) fn key<'k>(&self, bytes: &'k [u8]) -> Key<'k> {
        self.store.key(bytes)
    }

    /// Has the collector free what this worker unlinked, once no thread reads it.
    pub(super) fn settle(&self) {
        // Even with nothing new: a flush keeps a few entries back while others read.
        self.guard.flush();
        self.worker.clear_unlinked();
    }

    /// Settles for a thread that does not return, while at most `threads`, this one included, are in the store.
    ///
    /// Otherwise the few entries that a flush keeps back would wait for a thread that reuses this one's number, and
    /// those unlinked while the map grew for a thread that continues the growth.
    pub(super) fn leave(self, threads: usize) {
        self.settle_index();
        for _ in 0..threads {
            // A flush needs an entry of the batch for each reading thread, or keeps the batch back.
            // SAFETY: no thread reads through the pointer, and its destructor does nothing.
            unsafe { self.guard.defer_retire(std::ptr::dangling_mut::<()>(), |_, _| {}) };
        }
        self.settle();
    }

    fn peek(&self, key: Key<'_>) -> Option<&ItemRef<C>> {
        self.store.map.get_key_value(&key, &self.guard).map(|(entry, ())| &entry.0)
    }

    /// Takes no lock.
    #[inline]
    pub(super) fn find(&self, key: Key<'_>) -> Option<&ItemRef<C>> {
        let item = self.peek(key)?;
        if self.store.gone(item, self.now).is_some() {
            self.reclaim(key);
            return None;
        }
        Some(item)
    }

    /// Unlinks an expired item, unless a new one has replaced it.
    #[cold]
    fn reclaim(&self, key: Key<'_>) {
        let _ = self.lock(key).find(key);
    }

    /// Memory for a value.
    ///
    /// Values still arriving, and items only being sent, do not count towards the limit. Where these take as much
    /// again, large values are refused; where they take [more](Self::is_crowded), all are.
    pub(super) fn draft(&self, recipe: &Recipe<'_>) -> Option<Draft<C>> {
        let is_crowded = if recipe.len > LARGE {
            self.held_bytes() > self.store.limit().saturating_mul(2)
        } else {
            self.is_crowded()
        };
        if is_crowded {
            return None;
        }
        let draft = Draft::new(recipe, &self.store.arena);
        if draft.is_none() {
            self.worker.count(Counter::MallocFails);
        }
        let taken = self.store.arena.taken();
        if self.worker.exchange_taken(taken) != taken {
            if self.store.arena.take_shortage() {
                self.give_way();
            }
            self.tidy();
        }
        draft.filter(|draft| self.store.evicts || self.has_room(draft))
    }

    /// Whether an item fits beside the linked ones. Values arriving at the same time may exceed the limit together.
    fn has_room(&self, draft: &Draft<C>) -> bool {
        self.store.used() + draft.size() as u64 + OVERHEAD as u64 <= self.store.limit()
    }

    /// Bytes of all items, without what the next store evicts: a lowered limit refuses no values.
    fn held_bytes(&self) -> u64 {
        let over = self.store.used().saturating_sub(self.store.limit());
        self.store.arena.live().saturating_sub(over)
    }

    /// Whether all items take four times the limit, or 64 MiB more if that is more: clients do not read what they
    /// requested. Checked at every 64th value.
    fn is_crowded(&self) -> bool {
        self.worker.now_and_then(|| {
            let limit = self.store.limit();
            let most = limit.saturating_mul(4).max(limit.saturating_add(64 << 20));
            self.held_bytes() > most
        })
    }

    pub(super) fn lock(&self, key: Key<'_>) -> Locked<'_, 'a, C> {
        Locked::new(self, key)
    }
}

#[cfg(test)]
mod tests;
