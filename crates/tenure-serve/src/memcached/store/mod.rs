//! The store: a map that is read without a lock, and shards with a lock for all that changes.
//!
//! A lookup takes a guard of the map, finds the item, looks whether it is over or flushed, and takes a
//! reference: it writes the line of the item's count and no other that is shared.
//!
//! Whatever changes a key holds the lock of the key's shard: the map, the queue of the eviction and the
//! memory that is in use change together. Orderings are those of the map (an insert releases, a lookup acquires)
//! and of the locks; what is atomic here is counted or compared, and Relaxed but for the mark of a flush.

mod change;
mod crawl;
mod key;
mod room;
mod shard;
mod tidy;
mod walk;

use std::hash::{BuildHasher, Hasher};
use std::sync::Mutex;

use papaya::{Guard, HashMap, LocalGuard};
use tenure::count::RefCount;
use tenure::line::Isolated;
use tenure::memory::{Atomic, Ordering};
use tenure::sync::Arc;

use super::arena::Arena;
use super::classes::footprint;
use super::clock::Seconds;
use super::counters::{Counter, Worker};
use super::item::{Draft, ItemRef, Recipe, state};
use super::queue::Queue;
use super::watch::Watchers;
use super::{AtomicU32, AtomicU64};
pub(super) use change::{Outcome, Removal, Storing, Verb};
use crawl::Crawl;
pub(super) use key::Key;
use key::{Entry, Hashed};
use room::Hands;
use shard::OVERHEAD;
pub(super) use shard::{Delta, Locked};
pub(super) use walk::Place;

/// Shards, each with its lock.
const SHARDS: usize = 256;

struct Shard<C: RefCount + 'static> {
    queue: Mutex<Queue<ItemRef<C>>>,
}

/// Items by their keys.
pub(super) struct Store<C: RefCount + 'static> {
    map: HashMap<Entry<C>, (), Hashed>,
    shards: Box<[Isolated<Shard<C>>]>,
    hands: Hands,
    arena: Arc<Arena>,
    hasher: foldhash::quality::RandomState,
    /// Bytes that may be in use.
    limit: AtomicU64,
    /// Whether values make others go. Otherwise they are refused.
    evicts: bool,
    /// Bytes for which the system has memory, as far as that is known to be less.
    possible: AtomicU64,
    /// Bytes of gaps between items and in the map, as of the last new block.
    spare: AtomicU64,
    /// The most items that there ever were at once.
    most_ever: AtomicU64,
    crawl: Mutex<Crawl>,
    /// Whether items that are over are looked for.
    crawls: AtomicU32,
    /// The most items that there were at once since memory of the map was last given back.
    most_items: AtomicU64,
    watchers: Watchers,
    /// Bytes of an item, as memcached counts them.
    largest: usize,
    /// Items that were stored or hit up to here are gone from this second on; 0 if no flush was put off.
    flushed_time: AtomicU32,
    /// Flushes so far, in steps of [`state::FLUSH`]. Items that were stored at another count are gone.
    flushes: AtomicU32,
    /// Bytes of linked items.
    used: Isolated<AtomicU64>,
    /// The last number that was given to a value.
    cas: Isolated<AtomicU64>,
}

impl<C: RefCount + 'static> Store<C> {
    pub(super) fn new(limit: u64, largest: usize) -> Self {
        let shard = || Shard { queue: Mutex::new(Queue::new()) };
        Self {
            map: HashMap::with_hasher(Hashed(0)),
            shards: (0..SHARDS).map(|_| Isolated::new(shard())).collect(),
            hands: Hands::new(),
            arena: Arc::new(Arena::new()),
            hasher: foldhash::quality::RandomState::default(),
            limit: Atomic::new(limit),
            evicts: true,
            possible: Atomic::new(u64::MAX),
            spare: Atomic::new(0),
            most_ever: Atomic::new(0),
            crawl: Mutex::new(Crawl::new()),
            crawls: Atomic::new(1),
            most_items: Atomic::new(0),
            watchers: Watchers::new(),
            largest,
            flushed_time: Atomic::new(0),
            flushes: Atomic::new(0),
            used: Isolated::new(Atomic::new(0)),
            cas: Isolated::new(Atomic::new(0)),
        }
    }

    /// Refuses what there is no room for, and evicts nothing.
    pub(super) fn without_evictions(self) -> Self {
        Self { evicts: false, ..self }
    }

    /// Looks for nothing that is over, until a client asks for it.
    pub(super) fn without_crawl(self) -> Self {
        Self { crawls: Atomic::new(0), ..self }
    }

    /// Whether values make others go.
    pub(super) fn evicts(&self) -> bool {
        self.evicts
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

    #[inline]
    pub(super) fn visit<'a>(&'a self, worker: &'a Worker, now: Seconds) -> Visit<'a, C> {
        Visit { store: self, guard: self.map.guard(), worker, now }
    }

    /// Linked items.
    pub(super) fn len(&self) -> usize {
        self.map.len()
    }

    /// Bytes of linked items, what they cost beside included.
    pub(super) fn used(&self) -> u64 {
        // Relaxed: a statistic.
        self.used.load(Ordering::Relaxed)
    }

    /// Items that exist, linked or not, and the bytes of their cells.
    pub(super) fn alive(&self) -> (u64, u64) {
        (self.arena.items(), self.arena.live())
    }

    /// Those who are told what happens.
    pub(super) fn watchers(&self) -> &Watchers {
        &self.watchers
    }

    /// The memory of items.
    pub(super) fn arena(&self) -> &Arena {
        &self.arena
    }

    /// Whether a value of so many bytes is not too large, as memcached counts them.
    pub(super) fn takes(&self, key: &[u8], flags: u32, len: usize) -> bool {
        footprint(key.len(), flags, len) <= self.largest
    }

    pub(super) fn limit(&self) -> u64 {
        // Relaxed: a setting.
        self.limit.load(Ordering::Relaxed)
    }

    /// Bytes that may be in use: for which the system has memory, and which gaps between items and in the map do not take.
    fn room(&self) -> u64 {
        // Relaxed, here and below: as above.
        let room = self.limit().min(self.possible.load(Ordering::Relaxed));
        // No more than an eighth: where the limit is small, there are gaps in blocks of every class.
        room - self.spare.load(Ordering::Relaxed).min(room / 8)
    }

    /// Notes how many bytes the gaps take.
    fn note_spare(&self, bytes: u64) {
        // Relaxed: as above.
        self.spare.store(bytes, Ordering::Relaxed);
    }

    /// The system had no memory. From now on less is in use, so that something is left for what is not an item.
    fn lower_room(&self) {
        let used = self.used();
        // Relaxed: as above.
        self.possible.fetch_min(used - used / 8, Ordering::Relaxed);
    }

    /// As time goes by the system may have memory again. Returns the bytes that are to be kept for new items.
    fn raise_room(&self) -> u64 {
        let limit = self.limit();
        // Relaxed: as above.
        let possible = self.possible.load(Ordering::Relaxed);
        if possible == u64::MAX {
            return limit / 16;
        }
        let more = possible.saturating_add(limit / 256);
        // Relaxed: as above. A worker that lowers it at the same time will have to do so again.
        self.possible.store(if more >= limit { u64::MAX } else { more }, Ordering::Relaxed);
        0
    }

    pub(super) fn set_limit(&self, bytes: u64) {
        // Relaxed: as above.
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// The last number that was given to a value.
    fn last_cas(&self) -> u64 {
        // Relaxed: ages are compared with it, which are hints.
        self.cas.load(Ordering::Relaxed)
    }

    fn next_cas(&self) -> u64 {
        // Relaxed: numbers only differ; that they grow for a key is for the lock of its shard.
        self.cas.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Everything that is stored now is gone at the moment `when`.
    pub(super) fn flush(&self, when: Seconds, now: Seconds) {
        let mut later = when - 1;
        if when <= now + 1 {
            // Relaxed: a number that is compared. A client that stores because of a flush has heard of it through the system.
            self.flushes.fetch_add(state::FLUSH, Ordering::Relaxed);
            later = 0;
        }
        // Relaxed: a moment that is compared, and nothing else is published through it.
        self.flushed_time.store(later, Ordering::Relaxed);
    }

    /// The flushes so far, as the marks of an item have them.
    fn flushes(&self) -> u32 {
        // Relaxed: see `flush`.
        self.flushes.load(Ordering::Relaxed)
    }

    pub(super) fn flushed(&self) -> Seconds {
        // Relaxed: a statistic.
        self.flushed_time.load(Ordering::Relaxed)
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
        let expiry = item.expiry();
        (expiry != 0 && expiry <= now).then_some(Counter::GetExpired)
    }
}

/// A value that does not come in one buffer, and may be waited for.
const LARGE: usize = 16 << 10;

/// A worker that is in the store: what it finds stays readable as long as this exists.
pub(super) struct Visit<'a, C: RefCount + 'static> {
    store: &'a Store<C>,
    guard: LocalGuard<'a>,
    pub(super) worker: &'a Worker,
    pub(super) now: Seconds,
}

impl<'a, C: RefCount + 'static> Visit<'a, C> {
    /// Those who are told what happens.
    pub(super) fn watchers(&self) -> &Watchers {
        &self.store.watchers
    }

    #[inline]
    pub(super) fn key<'k>(&self, bytes: &'k [u8]) -> Key<'k> {
        self.store.key(bytes)
    }

    /// Has the collector free what this worker unlinked as soon as nobody looks at it.
    pub(super) fn settle(&self) {
        // Not only if there was something since the last time: a flush keeps a few entries back while other threads look.
        self.guard.flush();
        self.worker.clear_unlinked();
    }

    /// Settles for a thread that does not come back, while at most `threads` are in the store, this one among them.
    ///
    /// Otherwise the few entries that a flush keeps back would wait for a thread that gets this one's number, and those that
    /// were unlinked while the map grew for a thread that goes on with that.
    pub(super) fn leave(self, threads: usize) {
        // Looking at all entries makes the map complete a growth.
        let _ = self.store.map.iter(&self.guard).next();
        for _ in 0..threads {
            // A flush gives each thread that looks an entry of the batch, and keeps the batch back if they do not suffice.
            // SAFETY: nobody reads through the pointer, and what is called with it at the end does nothing.
            unsafe { self.guard.defer_retire(std::ptr::dangling_mut::<()>(), |_, _| {}) };
        }
        self.settle();
    }

    fn peek(&self, key: Key<'_>) -> Option<&ItemRef<C>> {
        self.store.map.get_key_value(&key, &self.guard).map(|(entry, ())| &entry.0)
    }

    /// The item of a key, without a lock.
    #[inline]
    pub(super) fn find(&self, key: Key<'_>) -> Option<&ItemRef<C>> {
        let item = self.peek(key)?;
        if self.store.gone(item, self.now).is_some() {
            self.reclaim(key);
            return None;
        }
        Some(item)
    }

    /// An item was found that is over: unlinks it, unless there is a new one already.
    #[cold]
    fn reclaim(&self, key: Key<'_>) {
        let _ = self.lock(key).find(key);
    }

    /// Room for a value.
    ///
    /// Values that are still coming in, and items that are only being sent, do not count towards the limit. But there is none
    /// for a large one where all of those take as much again, and for none where they take [more](Self::is_crowded).
    pub(super) fn draft(&self, recipe: &Recipe<'_>) -> Option<Draft<C>> {
        let is_crowded = if recipe.len > LARGE {
            self.bytes_with_those_that_wait() > self.store.limit().saturating_mul(2)
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

    /// Whether an item fits beside those that are linked. Values that come in at the same time do not count yet: they may exceed
    /// the limit together.
    fn has_room(&self, draft: &Draft<C>) -> bool {
        self.store.used() + draft.size() as u64 + OVERHEAD as u64 <= self.store.limit()
    }

    /// Bytes of all items, linked or not. What the next store evicts is not counted: a lower limit does not refuse values.
    fn bytes_with_those_that_wait(&self) -> u64 {
        let over = self.store.used().saturating_sub(self.store.limit());
        self.store.arena.live().saturating_sub(over)
    }

    /// Whether all items together take four times the limit, or 64 MiB more if that is more: clients do not take what they asked
    /// for. A worker looks at every 64th value.
    fn is_crowded(&self) -> bool {
        self.worker.now_and_then(|| {
            let limit = self.store.limit();
            let most = limit.saturating_mul(4).max(limit.saturating_add(64 << 20));
            self.bytes_with_those_that_wait() > most
        })
    }

    /// Takes the lock of a key.
    pub(super) fn lock(&self, key: Key<'_>) -> Locked<'_, 'a, C> {
        Locked::new(self, key)
    }
}

#[cfg(test)]
mod tests;
