use super::Counter;
use core::fmt;

/// How many of the recorded values lie below each of `N` bounds, such as latencies in microseconds or sizes in bytes.
///
/// ```
/// use tenure::counter::Histogram;
///
/// static LATENCY: Histogram<3> = Histogram::new([100, 1_000, 10_000]); // microseconds
///
/// for micros in [50, 100, 700, 90_000] {
///     LATENCY.record(micros);
/// }
/// let buckets = Vec::from_iter(LATENCY.buckets());
/// assert_eq!(buckets, [(100, 2), (1_000, 3), (10_000, 3), (u64::MAX, 4)]);
/// assert_eq!((LATENCY.count(), LATENCY.sum()), (4, 90_850));
/// ```
///
/// The buckets are those of Prometheus: a value belongs to all bounds that are not less. Values are whole numbers, so
/// that the sum does not depend on which thread recorded what; choose a unit that is small enough.
///
/// Cost: [`record`](Self::record) a binary search and two [`Counter::add`]s. Memory: that of `N + 2` counters. Signal
/// handlers, allocators and plugins: as for a [`Counter`].
pub struct Histogram<const N: usize> {
    bounds: [u64; N],
    /// Values up to each bound that are above the bound before it.
    up_to: [Counter; N],
    above: Counter,
    sum: Counter,
}

impl<const N: usize> Histogram<N> {
    /// A histogram without values, also for a `static`. Allocates nothing.
    ///
    /// # Panics
    ///
    /// If a bound is not greater than the one before it; in a `static`, at compile time.
    #[must_use]
    #[track_caller]
    pub const fn new(bounds: [u64; N]) -> Self {
        let mut at = 1;
        while at < N {
            assert!(bounds[at - 1] < bounds[at], "each bound is greater than the one before it");
            at += 1;
        }
        let up_to = [const { Counter::new() }; N];
        Self { bounds, up_to, above: Counter::new(), sum: Counter::new() }
    }

    /// Counts a value, and adds it to the sum.
    #[inline]
    pub fn record(&self, value: u64) {
        let at = self.bounds.partition_point(|&bound| bound < value);
        self.up_to.get(at).unwrap_or(&self.above).add(1);
        self.sum.add(value);
    }

    /// Each bound, with how many values are not greater; at last `u64::MAX` with all of them.
    ///
    /// While threads record, a later call has no smaller numbers.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        let bounds = self.bounds.iter().copied().chain([u64::MAX]);
        let counters = self.up_to.iter().chain([&self.above]);
        bounds.zip(counters).scan(0, |values: &mut u64, (bound, counter)| {
            *values = values.wrapping_add(counter.sum());
            Some((bound, *values))
        })
    }

    /// How many values were recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets().fold(0, |_, (_, values)| values)
    }

    /// The sum of all values, which wraps around at 2^64. While threads record, it may have others than
    /// [`count`](Self::count).
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.sum.sum()
    }
}

impl<const N: usize> fmt::Debug for Histogram<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.buckets()).finish()
    }
}
