//! The store: a map that is read without a lock, and shards with a lock for all that changes.
//!
//! A lookup takes a guard of the map, finds the item, looks whether it is over or flushed, and takes a
//! reference: it writes the line of the item's count and no other that is shared.
//!
//! Whatever changes a key holds the lock of the key's shard: the map, the queue of the eviction and the
//! memory that is in use change together. Orderings are those of the map (an insert releases, a lookup acquires)
//! and of the locks; what is atomic here is counted or compared, and Relaxed but for the mark of a flush.

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
use super::clock::Seconds;
use super::counters::{Counter, Worker};
use super::item::{AtomicU32, AtomicU64, Draft, ItemRef, Recipe, state};
use super::queue::Queue;
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
    /// The most items that there were at once since memory of the map was last given back.
    most_items: AtomicU64,
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

/// How a value is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
    Cas,
}

/// How a value is stored, and over which other one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Storing {
    pub(super) verb: Verb,
    /// The number that the value must have, unless it is 0.
    pub(super) cas: u64,
    /// Whether one with a smaller number is stored as stale.
    pub(super) stale: bool,
    /// Whether what is to be appended or prepended is stored where nothing is.
    pub(super) makes: bool,
}

/// What became of a value that was to be stored.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// With that number, and a value of so many bytes.
    Done {
        cas: u64,
        len: usize,
    },
    Refused,
    Exists,
    NotFound,
}

/// What became of a deletion.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removal {
    Done,
    Exists,
    NotFound,
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
            most_items: Atomic::new(0),
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

    /// The memory of items.
    pub(super) fn arena(&self) -> &Arena {
        &self.arena
    }

    /// Whether a value of so many bytes is not too large, as memcached counts them.
    pub(super) fn takes(&self, key: &[u8], flags: u32, len: usize) -> bool {
        let flags = if flags == 0 { 0 } else { size_of_val(&flags) };
        56 + key.len() + 1 + flags + len + 2 <= self.largest
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

    /// Stores a value.
    pub(super) fn store(&self, new: &ItemRef<C>, storing: Storing) -> Outcome {
        let Storing { verb, cas, stale, makes } = storing;
        let len = new.len();
        let key = Key { bytes: new.key(), hash: new.hash() };
        let mut locked = self.lock(key);
        let Some(old) = locked.find(key) else {
            if locked.over {
                self.worker.count(Counter::Reclaimed);
            }
            return match verb {
                Verb::Set | Verb::Add => Outcome::Done { cas: locked.link(new), len },
                Verb::Append | Verb::Prepend if makes => {
                    Outcome::Done { cas: locked.link(new), len }
                }
                Verb::Cas => {
                    self.worker.count(Counter::CasMisses);
                    Outcome::NotFound
                }
                Verb::Replace | Verb::Append | Verb::Prepend => Outcome::Refused,
            };
        };
        let matches = cas == old.cas();
        match verb {
            Verb::Add => {
                old.set_time(self.now);
                Outcome::Refused
            }
            Verb::Set | Verb::Replace => Outcome::Done { cas: locked.replace(old, new), len },
            Verb::Cas if cas != 0 && (matches || stale && cas < old.cas()) => {
                self.worker.count(Counter::CasHits);
                if !matches {
                    new.set_expiry(old.expiry());
                    new.mark(state::STALE | (old.state() & state::WON), 0);
                }
                Outcome::Done { cas: locked.replace(old, new), len }
            }
            Verb::Cas => {
                self.worker.count(Counter::CasBadval);
                Outcome::Exists
            }
            Verb::Append | Verb::Prepend if cas != 0 && !matches => Outcome::Exists,
            Verb::Append | Verb::Prepend => {
                let len = old.len() + new.len();
                let number = new.cas();
                let all = match verb {
                    Verb::Append => {
                        locked.rewrite(old, 0, number, len, old.data().chain(new.data()))
                    }
                    _ => locked.rewrite(old, 0, number, len, new.data().chain(old.data())),
                };
                all.map_or(Outcome::Refused, |all| Outcome::Done { cas: all.cas(), len })
            }
        }
    }

    /// Deletes the value of a key, if it has that number.
    pub(super) fn delete(&self, key: Key<'_>, cas: Option<u64>) -> Removal {
        let mut locked = self.lock(key);
        let deleted = match locked.find(key) {
            None => Removal::NotFound,
            Some(item) if cas.is_some_and(|cas| cas != item.cas()) => Removal::Exists,
            Some(item) => {
                locked.unlink(item);
                Removal::Done
            }
        };
        self.worker.count(match deleted {
            Removal::Done => Counter::DeleteHits,
            Removal::Exists | Removal::NotFound => Counter::DeleteMisses,
        });
        deleted
    }

    /// Puts an item without data in the place of that of a key, if it has that number. Then it is stale, or keeps its number
    /// unless the new one has its own.
    pub(super) fn empty(
        &self,
        key: Key<'_>,
        cas: Option<u64>,
        new: &ItemRef<C>,
        stale: bool,
    ) -> Removal {
        let mut locked = self.lock(key);
        let emptied = match locked.find(key) {
            None => Removal::NotFound,
            Some(old) if cas.is_some_and(|cas| cas != old.cas()) => Removal::Exists,
            Some(old) => {
                if stale {
                    new.mark(state::STALE, 0);
                } else if new.cas() == 0 {
                    new.set_cas(old.cas());
                }
                locked.replace(old, new);
                Removal::Done
            }
        };
        self.worker.count(match emptied {
            Removal::Done => Counter::DeleteHits,
            Removal::Exists | Removal::NotFound => Counter::DeleteMisses,
        });
        emptied
    }

    /// Marks the value of a key as stale, if it has that number. It gets the next one, or the one that is given.
    pub(super) fn invalidate(
        &self,
        key: Key<'_>,
        cas: Option<u64>,
        expiry: Option<Seconds>,
        number: Option<u64>,
    ) -> Removal {
        let mut locked = self.lock(key);
        match locked.find(key) {
            Some(item) if cas.is_some_and(|cas| cas != item.cas()) => {
                self.worker.count(Counter::DeleteMisses);
                Removal::Exists
            }
            Some(item) => {
                if let Some(expiry) = expiry {
                    item.set_expiry(expiry);
                }
                item.mark(state::STALE, state::WON);
                item.set_cas(number.unwrap_or_else(|| self.store.next_cas()));
                Removal::Done
            }
            None => {
                self.worker.count(Counter::DeleteMisses);
                Removal::NotFound
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memcached::counters::Workers;
    use tenure::count::{IncNotZero, RcuRef, TicketRef};

    fn store<C: RefCount + 'static>(visit: &Visit<'_, C>, name: &str, data: &str) -> ItemRef<C> {
        let key = visit.key(name.as_bytes());
        let (bytes, hash, len) = (key.bytes, key.hash, data.len());
        let recipe = Recipe { key: bytes, hash, flags: 0, expiry: 0, len, state: 0, number: 0 };
        let mut draft = visit.draft(&recipe).unwrap();
        draft.fill(data.as_bytes());
        draft.fill(b"\r\n");
        let item = draft.finish();
        let how = Storing { verb: Verb::Set, cas: 0, stale: false, makes: false };
        assert!(matches!(visit.store(&item, how), Outcome::Done { .. }));
        item
    }

    fn an_item_outlives_the_store_as_long_as_somebody_has_it<C: RefCount + 'static>() {
        let workers = Workers::new();
        let worker = workers.join();
        let all = Store::<C>::new(1 << 20, 1 << 20);
        let arena = all.arena.clone();
        let alive = || arena.items();
        let held = {
            let visit = all.visit(&worker, 100);
            for number in 0..100 {
                drop(store(&visit, &format!("key{}", number % 50), "value"));
            }
            let held = store(&visit, "held", "held");
            drop(store(&visit, "held", "new"));
            visit.settle();
            held
        };
        assert_eq!((all.len(), alive()), (51, 52));
        drop(all);
        assert_eq!((held.short_data(), alive()), (Some(&b"held"[..]), 1));
        drop(held);
        assert_eq!(alive(), 0);
    }

    #[test]
    fn with_every_count_an_item_outlives_the_store_as_long_as_somebody_has_it() {
        an_item_outlives_the_store_as_long_as_somebody_has_it::<IncNotZero>();
        an_item_outlives_the_store_as_long_as_somebody_has_it::<RcuRef>();
        an_item_outlives_the_store_as_long_as_somebody_has_it::<TicketRef>();
    }

    #[test]
    fn a_thread_that_leaves_while_others_look_keeps_nothing_back() {
        let workers = Workers::new();
        let all = Store::<TicketRef>::new(1 << 20, 1 << 20);
        let here = workers.join();
        let looking = all.visit(&here, 100);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let worker = workers.join();
                let visit = all.visit(&worker, 100);
                drop(store(&visit, "key", "value"));
                assert_eq!(visit.delete(visit.key(b"key"), None), Removal::Done);
                workers.leave(&worker, |threads| visit.leave(threads));
            });
        });
        assert_eq!((all.len(), all.alive().0), (0, 1), "kept for who looks");
        drop(looking);
        assert_eq!(all.alive(), (0, 0));
    }

    #[test]
    fn a_full_shard_makes_others_give_way() {
        let workers = Workers::new();
        let worker = workers.join();
        let all = Store::<TicketRef>::new(10_000, 1 << 20);
        let visit = all.visit(&worker, 100);
        for number in 0..20 {
            drop(store(&visit, &format!("key{number}"), &"x".repeat(900)));
        }
        assert!(
            all.used() <= 10_000 && all.len() >= 7,
            "{} bytes, {} items",
            all.used(),
            all.len()
        );
        drop(store(&visit, "large", &"x".repeat(9_000)));
        assert_eq!(all.len(), 1);
        assert!(visit.find(visit.key(b"large")).is_some());
    }
}
