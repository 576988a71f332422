//! What workers did: each counts on its own lines.

use tenure::line::Isolated;
use tenure::sync::Arc;

use super::classes::{Class, Event, Figures, Tally};
use crate::lock::Lock;
use crate::relaxed::Relaxed;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Counter {
            $($(#[$doc])* $name,)*
        }

        impl Counter {
            /// All, with the names that clients expect.
            pub(super) const ALL: &'static [(Self, &'static str)] = &[$((Self::$name, $text),)*];
        }
    };
}

counters! {
    TotalConnections = "peer_total_connections",
    RejectedConnections = "peer_rejected_connections",
    Gets = "cmd_get",
    Sets = "cmd_set",
    Flushes = "cmd_flush",
    Touches = "cmd_touch",
    Metas = "cmd_meta",
    GetHits = "get_hits",
    GetMisses = "get_misses",
    /// Found by lookups of any kind.
    GetExpired = "get_expired",
    /// Found by lookups of any kind, from before a flush.
    GetFlushed = "get_flushed",
    DeleteMisses = "delete_misses",
    DeleteHits = "delete_hits",
    IncrMisses = "incr_misses",
    IncrHits = "incr_hits",
    DecrMisses = "decr_misses",
    DecrHits = "decr_hits",
    CasMisses = "cas_misses",
    CasHits = "cas_hits",
    CasBadval = "cas_badval",
    TouchHits = "touch_hits",
    TouchMisses = "touch_misses",
    StoreTooLarge = "store_too_large",
    StoreNoMemory = "store_no_memory",
    AuthCommands = "auth_cmds",
    /// The wrong ones of those.
    AuthErrors = "auth_errors",
    TotalItems = "total_items",
    Evictions = "evictions",
    /// Evicted without a hit.
    EvictedUnfetched = "evicted_unfetched",
    /// Expired or flushed items unlinked before a client asked for them.
    Reclaimed = "reclaimed",
    /// Reclaimed by a crawl.
    CrawlerReclaimed = "crawler_reclaimed",
    /// Expired without a hit.
    ExpiredUnfetched = "expired_unfetched",
    /// The system had no memory.
    MallocFails = "malloc_fails",
}

const COUNT: usize = Counter::ALL.len();

/// Only the worker writes it.
pub(super) struct Worker {
    counts: Isolated<[Relaxed<u64>; COUNT]>,
    pub(super) classes: Isolated<Tally>,
    /// New blocks of the arena when it last looked.
    taken: Isolated<Relaxed<u64>>,
    /// Bytes of items unlinked since it last asked for the end of the grace period.
    unlinked: Isolated<Relaxed<u64>>,
    /// Calls of [`now_and_then`](Self::now_and_then), and the last answer.
    asked: Isolated<(Relaxed<u64>, Relaxed<u64>)>,
}

/// Calls of [`Worker::now_and_then`] for each answer that is computed.
const NOW_AND_THEN: u64 = 64;

impl Worker {
    fn new() -> Self {
        Self {
            counts: Isolated::new([(); COUNT].map(|()| Relaxed::default())),
            classes: Isolated::new(Tally::new()),
            taken: Isolated::default(),
            unlinked: Isolated::default(),
            asked: Isolated::default(),
        }
    }

    /// The answer of one of the last calls of `find_out`, which costs too much for each value.
    pub(super) fn now_and_then(&self, find_out: impl FnOnce() -> bool) -> bool {
        let (asked, is_so) = &*self.asked;
        let times = asked.get();
        asked.set(times + 1);
        if times.is_multiple_of(NOW_AND_THEN) {
            is_so.set(find_out().into());
        }
        is_so.get() != 0
    }

    /// Notes the blocks ever taken, and returns the last note.
    pub(super) fn exchange_taken(&self, taken: u64) -> u64 {
        let before = self.taken.get();
        self.taken.note(taken);
        before
    }

    /// Returns the new sum.
    pub(super) fn add_unlinked(&self, bytes: usize) -> u64 {
        self.unlinked.count(bytes as u64);
        self.unlinked.get()
    }

    pub(super) fn clear_unlinked(&self) {
        self.unlinked.set(0);
    }

    #[inline]
    pub(super) fn count(&self, counter: Counter) {
        self.counts[counter as usize].count(1);
    }

    /// Counts an item's event for its class, too.
    pub(super) fn count_item(&self, counter: Counter, item: (Class, usize), event: Event) {
        self.count(counter);
        self.classes.count(item, event);
    }
}

pub(super) struct Workers(Lock<Inner>);

struct Inner {
    workers: Vec<Arc<Worker>>,
    /// Counts of ended workers, less those before the last reset; wraps around.
    rest: Sum,
}

#[derive(Clone, Copy)]
struct Sum {
    counts: [u64; COUNT],
    classes: Figures,
}

impl Sum {
    fn add(&mut self, worker: &Worker) {
        for (total, count) in self.counts.iter_mut().zip(&*worker.counts) {
            *total = total.wrapping_add(count.get());
        }
        self.classes.add(&worker.classes.read());
    }
}

impl Inner {
    fn sum(&self) -> Sum {
        let mut sum = self.rest;
        self.workers.iter().for_each(|worker| sum.add(worker));
        sum
    }
}

impl Workers {
    pub(super) fn new() -> Self {
        let rest = Sum { counts: [0; COUNT], classes: Figures::new() };
        Self(Lock::new(Inner { workers: Vec::new(), rest }))
    }

    pub(super) fn join(&self) -> Arc<Worker> {
        let worker = Arc::new(Worker::new());
        self.0.lock().workers.push(worker.clone());
        worker
    }

    /// Calls `last` with the number of workers, this one among them; none joins meanwhile.
    pub(super) fn leave(&self, worker: &Arc<Worker>, last: impl FnOnce(usize)) {
        let mut inner = self.0.lock();
        last(inner.workers.len());
        inner.rest.add(worker);
        inner.workers.retain(|other| !Arc::ptr_eq(other, worker));
    }

    pub(super) fn len(&self) -> usize {
        self.0.lock().workers.len()
    }

    /// In the order of [`Counter::ALL`].
    pub(super) fn sum(&self) -> [u64; COUNT] {
        self.0.lock().sum().counts
    }

    pub(super) fn classes(&self) -> Figures {
        self.0.lock().sum().classes
    }

    /// Counts from 0 again, but for linked items.
    pub(super) fn reset(&self) {
        let mut inner = self.0.lock();
        let sum = inner.sum();
        for (rest, count) in inner.rest.counts.iter_mut().zip(sum.counts) {
            *rest = rest.wrapping_sub(count);
        }
        inner.rest.classes.reset(&sum.classes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_now_and_then_holds_until_the_next_one() {
        let worker = Workers::new().join();
        let mut found_out = 0;
        let said: Vec<bool> = (0..3 * NOW_AND_THEN)
            .map(|_| {
                worker.now_and_then(|| {
                    found_out += 1;
                    found_out == 2
                })
            })
            .collect();
        assert_eq!(found_out, 3);
        let second = NOW_AND_THEN as usize..2 * NOW_AND_THEN as usize;
        assert!(said.iter().enumerate().all(|(at, &is_so)| is_so == second.contains(&at)));
    }

    #[test]
    fn counts_of_workers_that_left_stay_and_a_reset_takes_all_away() {
        let workers = Workers::new();
        let (first, second) = (workers.join(), workers.join());
        first.count(Counter::Gets);
        second.count(Counter::Gets);
        workers.leave(&first, |workers| assert_eq!(workers, 2));
        assert_eq!((workers.len(), workers.sum()[Counter::Gets as usize]), (1, 2));
        workers.reset();
        assert_eq!(workers.sum(), [0; COUNT]);
        second.count(Counter::Sets);
        assert_eq!(workers.sum()[Counter::Sets as usize], 1);
    }
}
