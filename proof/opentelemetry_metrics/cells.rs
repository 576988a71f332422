//! Sums of which each thread has a word of its own, and attribute sets that threads find without a lock.

use super::{Aggregator, AtomicTracker, F64AtomicTracker, TrackerMap};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{fence, AtomicUsize, Ordering};
use std::sync::Arc;
use tenure::counter::Counter;
use tenure::rcu::{RcuCell, RcuGuard};

/// What sums of these numbers are added up in.
pub(crate) trait Summed: Sized {
    type Sum: AtomicTracker<Self>;
    fn new_sum(init: Self) -> Self::Sum;
}

/// Whole numbers, also negative ones: it wraps around.
#[derive(Default)]
pub(crate) struct Whole(Counter);

macro_rules! summed {
    ($($number:ty)*) => {$(
        impl AtomicTracker<$number> for Whole {
            fn store(&self, value: $number) {
                self.0.take();
                self.add(value);
            }

            fn add(&self, value: $number) {
                self.0.add(value as u64);
            }

            fn get_value(&self) -> $number {
                self.0.sum() as $number
            }

            fn get_and_reset_value(&self) -> $number {
                self.0.take() as $number
            }
        }

        impl Summed for $number {
            type Sum = Whole;

            fn new_sum(init: Self) -> Whole {
                let sum = Whole::default();
                sum.add(init);
                sum
            }
        }
    )*};
}

summed! { u64 i64 }

impl Summed for f64 {
    type Sum = F64AtomicTracker;

    fn new_sum(init: Self) -> F64AtomicTracker {
        F64AtomicTracker::new(init)
    }
}

/// Whether anything was measured since the last look. Has an `AtomicBool`'s methods, of which `store` only ever sets it.
///
/// Not a flag that is set if it is clear: a thread that finds it set may have added what a collection no longer sees,
/// which then clears the flag.
#[derive(Default)]
pub(crate) struct Updated(Counter);

impl Updated {
    #[inline]
    pub(crate) fn store(&self, _set: bool, _: Ordering) {
        // Release: who sees this addition sees the measurement before it.
        fence(Ordering::Release);
        self.0.add(1);
    }

    pub(crate) fn load(&self, _: Ordering) -> bool {
        let is_set = self.0.sum() != 0;
        fence(Ordering::Acquire);
        is_set
    }

    pub(crate) fn swap(&self, _clear: bool, _: Ordering) -> bool {
        let was_set = self.0.take() != 0;
        fence(Ordering::Acquire);
        was_set
    }
}

/// A copy of the trackers, in which threads look before they take the lock.
///
/// It is copied anew when it has been missed as often as there are trackers, so a tracker is copied once or twice on the
/// average. Nothing is removed from the trackers before every thread has left the copy.
pub(crate) struct Seen<A: Aggregator> {
    copy: RcuCell<Snapshot<A>>,
    missed: AtomicUsize,
    /// One reference for each copy that a thread may be reading.
    alive: Arc<()>,
}

pub(crate) struct Snapshot<A: Aggregator> {
    trackers: TrackerMap<A>,
    _alive: Option<Arc<()>>,
}

impl<A: Aggregator> Deref for Snapshot<A> {
    type Target = TrackerMap<A>;

    fn deref(&self) -> &TrackerMap<A> {
        &self.trackers
    }
}

impl<A: Aggregator> Snapshot<A> {
    fn none() -> Self {
        Self { trackers: HashMap::new(), _alive: None }
    }
}

impl<A: Aggregator> Seen<A> {
    pub(crate) fn new() -> Self {
        Self {
            copy: RcuCell::new(Snapshot::none()),
            missed: AtomicUsize::new(0),
            alive: Arc::new(()),
        }
    }

    #[inline]
    pub(crate) fn read(&self) -> RcuGuard<'_, Snapshot<A>> {
        self.copy.load()
    }

    /// The caller has the lock.
    pub(crate) fn miss(&self, trackers: &TrackerMap<A>) {
        let missed = self.missed.fetch_add(1, Ordering::Relaxed) + 1;
        // Trackers are only removed after the copy, so with as many it has the same.
        if missed >= trackers.len() && trackers.len() != self.copy.load().len() {
            self.missed.store(0, Ordering::Relaxed);
            let trackers = trackers.iter().map(|(key, it)| (key.clone(), Arc::clone(it))).collect();
            self.copy.store(Snapshot { trackers, _alive: Some(Arc::clone(&self.alive)) });
        }
    }

    /// Before the caller, who has the lock for writing, removes trackers.
    pub(crate) fn forget(&self) {
        if Arc::strong_count(&self.alive) > 1 {
            self.copy.store(Snapshot::none());
            while Arc::strong_count(&self.alive) > 1 {
                std::thread::yield_now();
            }
            // Acquire: what was measured in the copy comes before its drop.
            fence(Ordering::Acquire);
        }
    }
}
