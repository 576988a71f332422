//! [`Counter`], [`Gauge`] and [`Histogram`]: statistics, counted on lines that no two threads share.

mod gauge;
mod histogram;

pub use gauge::Gauge;
pub use histogram::Histogram;

use crate::cells::{CELLS, ThreadSum};
use core::fmt;

/// A number that every thread adds to, such as requests served, and that is read seldom.
///
/// ```
/// use tenure::counter::Counter;
///
/// static REQUESTS: Counter = Counter::new();
///
/// let workers = [(); 4].map(|()| {
///     std::thread::spawn(|| {
///         for _ in 0..1000 {
///             REQUESTS.add(1);
///         }
///     })
/// });
/// workers.into_iter().for_each(|worker| worker.join().unwrap());
/// assert_eq!(REQUESTS.sum(), 4000);
/// ```
///
/// Each thread adds to a word that it alone writes, by a plain load and store, after per-CPU counters of kernels. The
/// words of threads that ended still count.
///
/// Cost: [`add`](Self::add) no atomic read-modify-write, and no line that another thread writes; a thread's first one
/// allocates. [`sum`](Self::sum) reads a line for each thread. [`take`](Self::take) does that and one compare-exchange, and
/// both again if meanwhile another thread takes, or adds without a number (without `std`, every add). Memory: 8 bytes for each thread that adds, and a line.
/// Without `std` no thread has a number, and `add` is an atomic add on that line.
///
/// With the feature `metrics`, recorders of that facade hand it out as their counters: `metrics::Counter::from_arc`. Its
/// gauges can be set, and its histograms record fractions, so [`Gauge`] and [`Histogram`] are none of them.
///
/// A signal handler must not add to a counter that the interrupted thread may be adding to: one of the two would be
/// lost. A [global allocator](crate#in-a-global-allocator) may use all of it. A [plugin](crate#plugins) must not: what it adds
/// is lost, or is added to another counter.
pub struct Counter(ThreadSum);

impl Counter {
    /// A counter at 0, also for a `static`. Allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self(ThreadSum::native())
    }

    /// Adds `n`, and wraps around at 2^64.
    #[inline(always)]
    pub fn add(&self, n: u64) {
        self.0.add(&CELLS, n);
    }

    /// What was added and not [taken](Self::take): all that happened before, and perhaps some of what happens during the
    /// call. What is taken during the call may still be in it. While the program only adds, a later sum is not less.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.0.sum(&CELLS)
    }

    /// Returns the sum and goes on from 0, without losing an addition: for statistics that are sent as differences, and to
    /// reset a counter.
    ///
    /// ```
    /// use tenure::counter::Counter;
    ///
    /// let requests = Counter::new();
    /// requests.add(3);
    /// assert_eq!(requests.take(), 3);
    /// requests.add(1);
    /// assert_eq!((requests.take(), requests.sum()), (1, 0));
    /// ```
    ///
    /// Exactly one call returns each addition, however many threads add and take; until then it is in the sum. What is
    /// added during the call may be left to the next one.
    pub fn take(&self) -> u64 {
        self.0.take(&CELLS)
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        self.0.retire(&CELLS);
    }
}

impl Default for Counter {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Counter").field(&self.sum()).finish()
    }
}

#[cfg(feature = "metrics")]
impl metrics::CounterFn for Counter {
    fn increment(&self, value: u64) {
        self.add(value);
    }

    /// Adds what is missing up to `value`. Reads all threads' words, so it is dear, and for one thread: two that call it
    /// at once may each add that. After a [`take`](Counter::take) all of `value` is missing, and is added again: use one or
    /// the other.
    fn absolute(&self, value: u64) {
        self.add(value.saturating_sub(self.sum()));
    }
}
