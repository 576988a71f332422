use crate::cells::{CELLS, ThreadSum};
use core::fmt;

/// A number that every thread raises and lowers, such as requests under way or bytes in use, and that is read seldom.
///
/// ```
/// use tenure::counter::Gauge;
///
/// static UNDER_WAY: Gauge = Gauge::new();
///
/// UNDER_WAY.add(1);
/// assert_eq!(UNDER_WAY.sum(), 1);
/// // The request may end on another thread.
/// std::thread::spawn(|| UNDER_WAY.add(-1)).join().unwrap();
/// assert_eq!(UNDER_WAY.sum(), 0);
/// ```
///
/// Cost, memory, signal handlers, allocators and plugins: as for a [`Counter`](super::Counter). There is no `set`: it would have to wait for
/// all threads, since each may be adding to its word. Where a gauge is set, use an atomic.
pub struct Gauge(ThreadSum);

impl Gauge {
    /// A gauge at 0, also for a `static`. Allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self(ThreadSum::native())
    }

    /// Adds `n`, which may be negative, and wraps around at the limits of `i64`.
    #[inline(always)]
    pub fn add(&self, n: i64) {
        self.0.add(&CELLS, n as u64);
    }

    /// The sum of what was added: exact if no thread adds during the call.
    ///
    /// Otherwise it has some of what is added meanwhile, in no order: perhaps the end of a request without its beginning.
    /// So the sum may be a value that the gauge never had, also a negative one.
    #[must_use]
    pub fn sum(&self) -> i64 {
        self.0.sum(&CELLS) as i64
    }
}

impl Drop for Gauge {
    fn drop(&mut self) {
        self.0.retire(&CELLS);
    }
}

impl Default for Gauge {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Gauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Gauge").field(&self.sum()).finish()
    }
}
