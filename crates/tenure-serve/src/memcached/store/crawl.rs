//! Items that are over or flushed go without being asked for: a crawl over all shards, a few items at a time.

use std::sync::{MutexGuard, PoisonError, TryLockError};

use tenure::count::RefCount;
use tenure::memory::Ordering;

use super::{SHARDS, Visit};
use crate::memcached::classes::Event;
use crate::memcached::clock::Seconds;
use crate::memcached::counters::Counter;
use crate::memcached::item::{ItemRef, state};

/// Seconds from the start of a crawl to that of the next, unless there was a flush. What it costs is bounded by the time that
/// workers give it: a crawl over many items takes longer than this.
const PAUSE: Seconds = 1;

/// Items that are looked at while the lock of a shard is held.
const AT_ONCE: u32 = 256;

/// How far the crawl has come.
#[derive(Debug)]
pub(super) struct Crawl {
    /// All are done at [`SHARDS`].
    shard: usize,
    place: u32,
    began: Seconds,
    /// Flushes until then.
    flushes: u32,
    /// Whether a client has asked for it.
    asked: bool,
}

impl Crawl {
    pub(super) const fn new() -> Self {
        Self { shard: SHARDS, place: 0, began: 0, flushes: 0, asked: false }
    }
}

impl<C: RefCount + 'static> Visit<'_, C> {
    /// Looks at so many items, unless another thread does so or it is not time for it.
    pub(in crate::memcached) fn crawl(&self, mut items: usize) {
        let store = self.store;
        if !self.crawls() {
            return;
        }
        let Ok(mut crawl) = store.crawl.try_lock() else { return };
        let mut unlinked = 0;
        while items > 0 {
            if crawl.shard == SHARDS {
                let later = store.flushed();
                let is_flushed = store.flushes() != crawl.flushes
                    || later != 0 && (crawl.began..=self.now).contains(&later);
                if !is_flushed && self.now < crawl.began + PAUSE {
                    break;
                }
                let (began, flushes) = (self.now, store.flushes());
                *crawl = Crawl { shard: 0, place: 0, began, flushes, asked: false };
            }
            // One that is busy is left out this time.
            let shard = crawl.shard;
            let looked_at = match store.shards[shard].queue.try_lock() {
                Ok(mut queue) => {
                    // Since the last time it may have shrunk.
                    let start = if crawl.place < queue.places() { crawl.place } else { 0 };
                    let most = AT_ONCE.min(u32::try_from(items).unwrap_or(AT_ONCE));
                    let end = queue.places().min(start + most);
                    for at in start..end {
                        let Some(item) = queue.find(at) else { continue };
                        let Some(reason) = store.gone(item, self.now) else { continue };
                        let item = item.share();
                        self.count_reclaimed(&item, reason);
                        self.worker.count(Counter::CrawlerReclaimed);
                        self.worker.classes().count(item.sort(), Event::Crawled);
                        unlinked += self.unlink(&mut queue, &item);
                    }
                    let looked_at = (end - start) as usize;
                    if end == queue.places() {
                        queue.shrink(ItemRef::set_place);
                        (crawl.shard, crawl.place) = (shard + 1, 0);
                    } else {
                        crawl.place = end;
                    }
                    store.hands.tell(shard, &queue);
                    looked_at
                }
                Err(TryLockError::WouldBlock) => {
                    (crawl.shard, crawl.place) = (shard + 1, 0);
                    0
                }
                Err(TryLockError::Poisoned(_)) => panic!("a panic under the lock of a shard"),
            };
            items -= looked_at.clamp(1, items);
        }
        drop(crawl);
        if unlinked > 0 {
            self.settle();
        }
    }

    /// Whether items that are over are looked for.
    pub(in crate::memcached) fn crawls(&self) -> bool {
        // Relaxed: a setting.
        self.store.crawls.load(Ordering::Relaxed) != 0
    }

    /// Has items that are over be looked for, or no more.
    pub(in crate::memcached) fn switch_crawl(&self, on: bool) {
        // Relaxed: as above.
        self.store.crawls.store(on.into(), Ordering::Relaxed);
        if !on {
            self.lock_crawl().shard = SHARDS;
        }
    }

    /// Has a crawl begin now, also where there is one, unless a client has asked for that. Whether it does.
    pub(in crate::memcached) fn begin_crawl(&self) -> bool {
        let mut crawl = self.lock_crawl();
        let begins = !crawl.asked || crawl.shard == SHARDS;
        if begins {
            let (began, flushes) = (self.now, self.store.flushes());
            *crawl = Crawl { shard: 0, place: 0, began, flushes, asked: true };
        }
        begins
    }

    /// Whether there is a crawl.
    pub(in crate::memcached) fn is_crawling(&self) -> bool {
        self.lock_crawl().shard < SHARDS
    }

    fn lock_crawl(&self) -> MutexGuard<'_, Crawl> {
        self.store.crawl.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an item that is over, or flushed, and goes without being asked for.
    pub(super) fn count_reclaimed(&self, item: &ItemRef<C>, reason: Counter) {
        self.worker.count(Counter::Reclaimed);
        self.worker.classes().count(item.sort(), Event::Reclaimed);
        if reason == Counter::GetExpired && item.state() & state::FETCHED == 0 {
            self.worker.count(Counter::ExpiredUnfetched);
            self.worker.classes().count(item.sort(), Event::ExpiredUnfetched);
        }
    }
}
