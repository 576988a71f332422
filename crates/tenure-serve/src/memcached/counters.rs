//! What workers did: each counts on lines of its own, and `stats` adds them up.

use std::sync::{Mutex, PoisonError};

use tenure::line::Isolated;
use tenure::memory::{Atomic, Ordering};
use tenure::sync::Arc;

use super::AtomicU64;
use super::classes::{Figures, Tally};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// Something that is counted.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Counter {
            $($(#[$doc])* $name,)*
        }

        impl Counter {
            /// All of them, with the names that clients expect.
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
    /// Lookups of any kind that found an item which is over.
    GetExpired = "get_expired",
    /// Lookups of any kind that found an item from before a flush.
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
    /// Passwords that clients sent.
    AuthCommands = "auth_cmds",
    /// Of those: the wrong ones.
    AuthErrors = "auth_errors",
    TotalItems = "total_items",
    Evictions = "evictions",
    /// Items that nobody hit before they were evicted.
    EvictedUnfetched = "evicted_unfetched",
    /// Items that were over or flushed, and went without being asked for.
    Reclaimed = "reclaimed",
    /// Of those: by a crawl.
    CrawlerReclaimed = "crawler_reclaimed",
    /// Items that nobody hit before they were over.
    ExpiredUnfetched = "expired_unfetched",
    /// Times that the system had no memory for an item.
    MallocFails = "malloc_fails",
}

const COUNT: usize = Counter::ALL.len();

/// The counts of one worker, which alone writes them.
pub(super) struct Worker {
    counts: Isolated<[AtomicU64; COUNT]>,
    classes: Isolated<Tally>,
    /// Blocks that had ever been put into use when it last looked.
    taken: Isolated<AtomicU64>,
    /// Bytes of items that it unlinked since it last asked for the end of the grace period.
    unlinked: Isolated<AtomicU64>,
    /// Times that it was asked something which is found out [now and then](Self::now_and_then), and whether it was so.
    asked: Isolated<(AtomicU64, AtomicU64)>,
}

/// Times that something is asked for each time that it is found out.
const NOW_AND_THEN: u64 = 64;

impl Worker {
    fn new() -> Self {
        let counts = Isolated::new([(); COUNT].map(|()| Atomic::new(0)));
        let asked = Isolated::new((Atomic::new(0), Atomic::new(0)));
        let number = || Isolated::new(Atomic::new(0));
        let classes = Isolated::new(Tally::new());
        Self { counts, classes, taken: number(), unlinked: number(), asked }
    }

    /// What `find_out` says, or said at one of the last times.
    pub(super) fn now_and_then(&self, find_out: impl FnOnce() -> bool) -> bool {
        let (asked, is_so) = &*self.asked;
        // Relaxed, here and below: this worker alone reads and writes them.
        let times = asked.load(Ordering::Relaxed);
        asked.store(times + 1, Ordering::Relaxed);
        if times.is_multiple_of(NOW_AND_THEN) {
            is_so.store(find_out().into(), Ordering::Relaxed);
        }
        is_so.load(Ordering::Relaxed) != 0
    }

    /// Notes how many blocks were ever put into use, and returns what was noted before.
    pub(super) fn exchange_taken(&self, taken: u64) -> u64 {
        // Relaxed: this worker alone reads and writes it.
        let before = self.taken.load(Ordering::Relaxed);
        if before != taken {
            // Relaxed: as above.
            self.taken.store(taken, Ordering::Relaxed);
        }
        before
    }

    /// Adds to the bytes that were unlinked, and returns them.
    pub(super) fn add_unlinked(&self, bytes: usize) -> u64 {
        // Relaxed: this worker alone reads and writes it.
        let all = self.unlinked.load(Ordering::Relaxed) + bytes as u64;
        // Relaxed: as above.
        self.unlinked.store(all, Ordering::Relaxed);
        all
    }

    /// Nothing is unlinked any more.
    pub(super) fn clear_unlinked(&self) {
        // Relaxed: as above.
        self.unlinked.store(0, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn count(&self, counter: Counter) {
        let count = &self.counts[counter as usize];
        // Relaxed: a statistic. No addition that locks the line: one thread alone writes it.
        let value = count.load(Ordering::Relaxed);
        // Relaxed: as above.
        count.store(value + 1, Ordering::Relaxed);
    }

    /// What it counts by the classes of items.
    pub(super) fn classes(&self) -> &Tally {
        &self.classes
    }

    fn read(&self) -> [u64; COUNT] {
        // Relaxed: statistics.
        std::array::from_fn(|at| self.counts[at].load(Ordering::Relaxed))
    }
}

/// The counts of all workers.
pub(super) struct Workers {
    inner: Mutex<Inner>,
}

struct Inner {
    workers: Vec<Arc<Worker>>,
    /// What those counted that are gone, less what was counted before the last reset; wraps around.
    rest: [u64; COUNT],
    rest_of_classes: Figures,
}

impl Inner {
    fn sum(&self) -> [u64; COUNT] {
        self.workers.iter().fold(self.rest, |mut sum, worker| {
            for (total, count) in sum.iter_mut().zip(worker.read()) {
                *total = total.wrapping_add(count);
            }
            sum
        })
    }

    fn classes(&self) -> Figures {
        self.workers.iter().fold(self.rest_of_classes, |mut sum, worker| {
            sum.add(&worker.classes.read());
            sum
        })
    }
}

impl Workers {
    pub(super) fn new() -> Self {
        let (workers, rest) = (Vec::new(), [0; COUNT]);
        Self { inner: Mutex::new(Inner { workers, rest, rest_of_classes: Figures::new() }) }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The counts of a worker that starts.
    pub(super) fn join(&self) -> Arc<Worker> {
        let worker = Arc::new(Worker::new());
        self.lock().workers.push(worker.clone());
        worker
    }

    /// A worker ends. Calls `last` with the number of workers, this one among them; none joins meanwhile.
    pub(super) fn leave(&self, worker: &Arc<Worker>, last: impl FnOnce(usize)) {
        let mut inner = self.lock();
        last(inner.workers.len());
        for (rest, count) in inner.rest.iter_mut().zip(worker.read()) {
            *rest = rest.wrapping_add(count);
        }
        inner.rest_of_classes.add(&worker.classes.read());
        inner.workers.retain(|other| !Arc::ptr_eq(other, worker));
    }

    /// How many workers there are.
    pub(super) fn len(&self) -> usize {
        self.lock().workers.len()
    }

    /// All counts, in the order of [`Counter::ALL`].
    pub(super) fn sum(&self) -> [u64; COUNT] {
        self.lock().sum()
    }

    /// What was counted by the classes of items.
    pub(super) fn classes(&self) -> Figures {
        self.lock().classes()
    }

    /// Counts from 0 again, but for the items that are there.
    pub(super) fn reset(&self) {
        let mut inner = self.lock();
        let sum = inner.sum();
        for (rest, count) in inner.rest.iter_mut().zip(sum) {
            *rest = rest.wrapping_sub(count);
        }
        let classes = inner.classes();
        inner.rest_of_classes.reset(&classes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_out_now_and_then_holds_until_the_next_time() {
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
