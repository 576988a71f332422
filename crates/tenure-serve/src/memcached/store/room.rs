//! Making room: which shard evicts, and how much.
//!
//! Each shard has its own queue, but the cache should evict the oldest unused item of all first. A shard with many
//! items is a fair sample, so a store evicts from its own. The only item of a shard may be the newest of all: then
//! [`Hands`] names the shard whose hand is furthest behind.

use tenure::count::RefCount;

use super::{SHARDS, Visit};
use crate::memcached::classes::Event;
use crate::memcached::counters::Counter;
use crate::memcached::item::{ItemRef, state};
use crate::memcached::queue::{Queue, Verdict};
use crate::relaxed::Relaxed;

/// Items that make a shard a fair sample: 19 of 20 items that one queue would keep are kept.
const SAMPLE: usize = 64;

/// A shard evicts this part of its items before another one's turn.
const SHARE: usize = 16;

/// Where each shard's hand is: a hint, exact unless the shard is changing.
pub(super) struct Hands {
    /// 0 without items; or laps, a bit, and the time of the item at the hand.
    at: Box<[Relaxed<u64>]>,
    /// Laps of the shard that last evicted.
    laps: Relaxed<u32>,
}

const HAS_ITEMS: u64 = 1 << 32;

impl Hands {
    pub(super) fn new() -> Self {
        Self { at: (0..SHARDS).map(|_| Relaxed::default()).collect(), laps: Relaxed::default() }
    }

    /// The shard's lock is held.
    pub(super) fn note<C: RefCount + 'static>(&self, shard: usize, queue: &Queue<ItemRef<C>>) {
        let at = queue.at_hand().map_or(0, |at| {
            let laps = u64::from(queue.laps().min(u32::MAX >> 1));
            laps << 33 | HAS_ITEMS | u64::from(queue.get(at).since.get())
        });
        self.at[shard].note(at);
    }

    /// The laps of a shard that gets its first item.
    pub(super) fn laps(&self) -> u32 {
        self.laps.get()
    }

    /// The shard whose hand is furthest behind, but for those `asked`. `now` is the next item's time.
    fn last(&self, now: u32, asked: &[bool; SHARDS]) -> Option<usize> {
        let behind = |at: u64| at >> 33 << 32 | u64::from(!now.wrapping_sub(at as u32));
        let hands = self.at.iter().map(Relaxed::get).zip(asked).enumerate();
        let left = hands.filter(|(_, (at, asked))| *at != 0 && !**asked);
        let (shard, (at, _)) = left.min_by_key(|(_, (at, _))| behind(*at))?;
        self.laps.set((at >> 33) as u32);
        Some(shard)
    }
}

#[derive(Clone, Copy)]
enum Effort {
    /// Used items stay, and lose that mark.
    Spares,
    Takes,
}

/// The shard whose lock the thread already holds.
pub(super) struct Mine<'q, C: RefCount + 'static> {
    pub(super) shard: usize,
    pub(super) queue: &'q mut Queue<ItemRef<C>>,
    pub(super) spared: &'q ItemRef<C>,
}

impl<C: RefCount + 'static> Visit<'_, C> {
    /// Evicts down to the limit, used items only if all others are not enough. Returns the unlinked bytes.
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
                let Some(shard) = store.hands.last(store.cas.get() as u32, &asked) else { break };
                let bytes = match &mut mine {
                    Some(mine) if mine.shard == shard => {
                        let bytes = self.evict(mine.queue, effort, Some(mine.spared));
                        store.hands.note(shard, mine.queue);
                        bytes
                    }
                    // Without waiting: two full shards would wait for each other.
                    _ => store.try_lock(shard).map_or(0, |mut other| {
                        let bytes = self.evict(&mut other, effort, None);
                        store.hands.note(shard, &other);
                        bytes
                    }),
                };
                asked[shard] = bytes == 0;
                evicted += bytes;
            }
        }
        evicted
    }

    /// Evicts items of a shard but `spared`, up to its share or the limit. Returns their bytes.
    fn evict(
        &self,
        queue: &mut Queue<ItemRef<C>>,
        effort: Effort,
        spared: Option<&ItemRef<C>>,
    ) -> usize {
        let judge = |item: &ItemRef<C>| {
            if spared.is_some_and(|spared| item.place.get() == spared.place.get()) {
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
                // Items in constant use do not hold it up.
                Effort::Takes => queue.sweep(judge).or_else(|| queue.sweep(judge)).or_else(|| {
                    queue
                        .at_hand()
                        .filter(|at| spared.is_none_or(|spared| *at != spared.place.get()))
                }),
            };
            let Some(at) = found else { break };
            // A reference of our own: the queue's is put on the way.
            let item = queue.get(at).share();
            match self.store.gone(&item, self.now) {
                Some(reason) => self.count_reclaimed(&item, reason),
                None => {
                    self.watchers().log_eviction(&item, self.now);
                    self.worker.count_item(Counter::Evictions, item.sort(), Event::Evicted);
                    if item.state() & state::FETCHED == 0 {
                        self.worker.count_item(
                            Counter::EvictedUnfetched,
                            item.sort(),
                            Event::EvictedUnfetched,
                        );
                    }
                }
            }
            evicted += self.unlink(queue, &item);
        }
        queue.shrink(|item, place| item.place.set(place));
        evicted
    }
}
