//! Making room: which shard gives way, and how much of it.
//!
//! Each shard has a queue of its own, and the cache is to forget as if there were one: what came first and was
//! not used since goes first. A shard with many items is a fair sample of all, so a store takes from its own. With
//! few items a shard is none: its only item may be the newest of all. Then [`Hands`] says whose hand is furthest
//! behind.

use std::sync::TryLockError;

use tenure::count::RefCount;
use tenure::memory::{Atomic, Ordering};

use super::{SHARDS, Visit};
use crate::memcached::classes::Event;
use crate::memcached::counters::Counter;
use crate::memcached::item::{ItemRef, state};
use crate::memcached::queue::{Queue, Verdict};
use crate::memcached::{AtomicU32, AtomicU64};

/// Items of a shard that are a fair sample of all. With as many in each, 19 of 20 items that one queue would keep are kept.
const SAMPLE: usize = 64;

/// A shard that gives way gives this part of its items before others are asked.
const SHARE: usize = 16;

/// Where the hand of each shard is: a hint, which is right unless the shard is changing.
pub(super) struct Hands {
    /// 0 for a shard without items; or laps, a bit, and the time of the item at the hand.
    at: Box<[AtomicU64]>,
    /// Laps of the shard that last gave way.
    laps: AtomicU32,
}

const HAS_ITEMS: u64 = 1 << 32;

impl Hands {
    pub(super) fn new() -> Self {
        Self { at: (0..SHARDS).map(|_| Atomic::new(0)).collect(), laps: Atomic::new(0) }
    }

    /// Notes where the hand of a shard is. Its lock is held.
    pub(super) fn tell<C: RefCount + 'static>(&self, shard: usize, queue: &Queue<ItemRef<C>>) {
        let at = queue.at_hand().map_or(0, |at| {
            let laps = u64::from(queue.laps().min(u32::MAX >> 1));
            laps << 33 | HAS_ITEMS | u64::from(queue.get(at).since())
        });
        // Relaxed: a hint.
        if self.at[shard].load(Ordering::Relaxed) != at {
            // Relaxed: as above.
            self.at[shard].store(at, Ordering::Relaxed);
        }
    }

    /// Laps that a shard without items has not missed.
    pub(super) fn laps(&self) -> u32 {
        // Relaxed: a hint.
        self.laps.load(Ordering::Relaxed)
    }

    /// The shard whose hand is furthest behind, of those that were not `asked`. `now` is the time of the next item.
    fn last(&self, now: u32, asked: &[bool; SHARDS]) -> Option<usize> {
        let behind = |at: u64| at >> 33 << 32 | u64::from(!now.wrapping_sub(at as u32));
        // Relaxed: hints.
        let hands = self.at.iter().map(|at| at.load(Ordering::Relaxed)).zip(asked).enumerate();
        let left = hands.filter(|(_, (at, asked))| *at != 0 && !**asked);
        let (shard, (at, _)) = left.min_by_key(|(_, (at, _))| behind(*at))?;
        // Relaxed: as above.
        self.laps.store((at >> 33) as u32, Ordering::Relaxed);
        Some(shard)
    }
}

/// How much is done to make room.
#[derive(Clone, Copy)]
enum Effort {
    /// What was used since the hand came by stays, and loses that mark.
    Spares,
    /// It goes, too.
    Takes,
}

/// The shard whose lock a thread holds that makes room.
pub(super) struct Mine<'q, C: RefCount + 'static> {
    pub(super) shard: usize,
    pub(super) queue: &'q mut Queue<ItemRef<C>>,
    /// An item that stays.
    pub(super) spared: &'q ItemRef<C>,
}

impl<C: RefCount + 'static> Visit<'_, C> {
    /// Evicts until what is in use is within the limit, but not what is spared. What is used goes only where all the rest
    /// is not enough. Returns the bytes that were unlinked.
    pub(super) fn make_room(&self, mut mine: Option<Mine<'_, C>>) -> usize {
        let store = self.store;
        let mut evicted = 0;
        if !store.evicts {
            return evicted;
        }
        if let Some(mine) = &mut mine
            && mine.queue.len() >= SAMPLE
        {
            evicted += self.evict(mine.queue, Effort::Spares, Some(mine.spared));
        }
        for effort in [Effort::Spares, Effort::Takes] {
            let mut asked = [false; SHARDS];
            while store.used() > store.room() {
                let Some(shard) = store.hands.last(store.last_cas() as u32, &asked) else { break };
                let bytes = match &mut mine {
                    Some(mine) if mine.shard == shard => {
                        let bytes = self.evict(mine.queue, effort, Some(mine.spared));
                        store.hands.tell(shard, mine.queue);
                        bytes
                    }
                    // Not waited for: two that are full would wait for each other.
                    _ => match store.shards[shard].queue.try_lock() {
                        Ok(mut other) => {
                            let bytes = self.evict(&mut other, effort, None);
                            store.hands.tell(shard, &other);
                            bytes
                        }
                        Err(TryLockError::WouldBlock) => 0,
                        Err(TryLockError::Poisoned(_)) => {
                            panic!("a panic under the lock of a shard")
                        }
                    },
                };
                asked[shard] = bytes == 0;
                evicted += bytes;
            }
        }
        evicted
    }

    /// Evicts items of a shard, but not `spared`, until what is in use is within the limit or the shard has given
    /// its share. Returns their bytes.
    fn evict(
        &self,
        queue: &mut Queue<ItemRef<C>>,
        effort: Effort,
        spared: Option<&ItemRef<C>>,
    ) -> usize {
        let judge = |item: &ItemRef<C>| {
            if spared.is_some_and(|spared| item.place() == spared.place()) {
                return Verdict::Keep;
            }
            if item.state() & state::REFERENCED == 0 || self.store.gone(item, self.now).is_some() {
                return Verdict::Evict;
            }
            item.mark(0, state::REFERENCED);
            Verdict::Keep
        };
        let mut evicted = 0;
        for _ in 0..queue.len().div_ceil(SHARE) {
            if self.store.used() <= self.store.room() {
                break;
            }
            let found = match effort {
                Effort::Spares => queue.sweep(judge),
                // Items that are used all the time do not hold it up.
                Effort::Takes => queue.sweep(judge).or_else(|| queue.sweep(judge)).or_else(|| {
                    queue.at_hand().filter(|at| spared.is_none_or(|spared| *at != spared.place()))
                }),
            };
            let Some(at) = found else { break };
            // Another reference: the queue's goes on the way.
            let item = queue.get(at).share();
            match self.store.gone(&item, self.now) {
                Some(reason) => self.count_reclaimed(&item, reason),
                None => {
                    self.watchers().tell_eviction(&item, self.now);
                    self.worker.count(Counter::Evictions);
                    self.worker.classes().count(item.sort(), Event::Evicted);
                    if item.state() & state::FETCHED == 0 {
                        self.worker.count(Counter::EvictedUnfetched);
                        self.worker.classes().count(item.sort(), Event::EvictedUnfetched);
                    }
                }
            }
            evicted += self.unlink(queue, &item);
        }
        queue.shrink(ItemRef::set_place);
        evicted
    }
}
