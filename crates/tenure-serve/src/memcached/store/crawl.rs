//! The crawl unlinks expired and flushed items, a walk lists the others; both visit some at a time.

use tenure::count::RefCount;

use super::{SHARDS, Visit};
use crate::memcached::classes::Event;
use crate::memcached::clock::Seconds;
use crate::memcached::counters::Counter;
use crate::memcached::item::{ItemRef, state};

/// Seconds from one crawl's start to the next, unless there was a flush. Over many items a crawl takes longer.
const PAUSE: Seconds = 1;

/// Places visited under the lock of a shard.
const AT_ONCE: u32 = 256;

/// The same for a walk.
const WALK_STEP: u32 = 32;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Place {
    shard: usize,
    at: u32,
}

#[derive(Debug)]
pub(super) struct Crawl {
    /// [`SHARDS`] at the end.
    shard: usize,
    place: u32,
    began: Seconds,
    flushes: u32,
    /// Whether a client started it.
    asked: bool,
}

impl Crawl {
    pub(super) const fn new() -> Self {
        Self { shard: SHARDS, place: 0, began: 0, flushes: 0, asked: false }
    }
}

impl<C: RefCount + 'static> Visit<'_, C> {
    /// Does nothing if another thread crawls, or it is too early.
    pub(crate) fn crawl(&self, mut items: usize) {
        let store = self.store;
        if !self.crawls() {
            return;
        }
        let Some(mut crawl) = store.crawl.try_lock() else { return };
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
            // A busy shard is left out this time.
            let shard = crawl.shard;
            let visited = match store.try_lock(shard) {
                Some(mut queue) => {
                    // It may have shrunk.
                    let start = if crawl.place < queue.places() { crawl.place } else { 0 };
                    let most = AT_ONCE.min(u32::try_from(items).unwrap_or(AT_ONCE));
                    let end = queue.places().min(start + most);
                    for at in start..end {
                        let Some(item) = queue.find(at) else { continue };
                        let Some(reason) = store.gone(item, self.now) else { continue };
                        let item = item.share();
                        self.count_reclaimed(&item, reason);
                        self.worker.count_item(
                            Counter::CrawlerReclaimed,
                            item.sort(),
                            Event::Crawled,
                        );
                        unlinked += self.unlink(&mut queue, &item);
                    }
                    let visited = (end - start) as usize;
                    if end == queue.places() {
                        queue.shrink(|item, place| item.place.set(place));
                        (crawl.shard, crawl.place) = (shard + 1, 0);
                    } else {
                        crawl.place = end;
                    }
                    store.hands.note(shard, &queue);
                    visited
                }
                None => {
                    (crawl.shard, crawl.place) = (shard + 1, 0);
                    0
                }
            };
            items -= visited.clamp(1, items);
        }
        drop(crawl);
        if unlinked > 0 {
            self.settle();
        }
    }

    pub(crate) fn crawls(&self) -> bool {
        self.store.crawls.get() != 0
    }

    pub(crate) fn switch_crawl(&self, on: bool) {
        self.store.crawls.set(on.into());
        if !on {
            self.store.crawl.lock().shard = SHARDS;
        }
    }

    /// Begins a crawl, or begins again unless a client started the present one. Returns whether it does.
    pub(crate) fn begin_crawl(&self) -> bool {
        let mut crawl = self.store.crawl.lock();
        let begins = !crawl.asked || crawl.shard == SHARDS;
        if begins {
            let (began, flushes) = (self.now, self.store.flushes());
            *crawl = Crawl { shard: 0, place: 0, began, flushes, asked: true };
        }
        begins
    }

    pub(crate) fn is_crawling(&self) -> bool {
        self.store.crawl.lock().shard < SHARDS
    }

    /// Counts an expired or flushed item that no client asked for.
    pub(super) fn count_reclaimed(&self, item: &ItemRef<C>, reason: Counter) {
        self.worker.count_item(Counter::Reclaimed, item.sort(), Event::Reclaimed);
        if reason == Counter::GetExpired && item.state() & state::FETCHED == 0 {
            self.worker.count_item(Counter::ExpiredUnfetched, item.sort(), Event::ExpiredUnfetched);
        }
    }

    /// Shows some live items from a place on. Returns where to go on, unless these were the last.
    ///
    /// Items stored or unlinked meanwhile may be missed. All others are shown once, but in a shard that loses most of
    /// its items meanwhile: the rest move, and may be missed or shown again.
    pub(crate) fn walk(&self, from: Place, mut show: impl FnMut(&ItemRef<C>)) -> Option<Place> {
        let Place { shard, at } = from;
        let queue = self.store.shards.get(shard)?.lock().expect("no panic under this lock");
        for item in queue.at_places(at..at.saturating_add(WALK_STEP)) {
            if self.store.gone(item, self.now).is_none() {
                show(item);
            }
        }
        if at.saturating_add(WALK_STEP) < queue.places() {
            return Some(Place { shard, at: at + WALK_STEP });
        }
        (shard + 1 < SHARDS).then_some(Place { shard: shard + 1, at: 0 })
    }
}
