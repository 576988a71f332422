//! Counters of which each thread adds to a word of its own.

use crate::atomic64::{Atomic, AtomicF64 as StdAtomicF64};
use tenure::counter::Counter;

/// Whole numbers.
#[derive(Debug)]
pub struct AtomicU64(Counter);

impl Atomic for AtomicU64 {
    type T = u64;

    fn new(value: u64) -> Self {
        let new = Self(Counter::new());
        new.inc_by(value);
        new
    }

    /// A look between the two finds 0.
    fn set(&self, value: u64) {
        self.0.take();
        self.inc_by(value);
    }

    fn get(&self) -> u64 {
        self.0.sum()
    }

    #[inline]
    fn inc_by(&self, delta: u64) {
        self.0.add(delta);
    }

    #[inline]
    fn dec_by(&self, delta: u64) {
        self.0.add(delta.wrapping_neg());
    }
}

/// Fractions: whole numbers apart, since most counters count events.
#[derive(Debug)]
pub struct AtomicF64 {
    whole: AtomicU64,
    rest: StdAtomicF64,
}

impl Atomic for AtomicF64 {
    type T = f64;

    fn new(value: f64) -> Self {
        Self { whole: AtomicU64::new(0), rest: StdAtomicF64::new(value) }
    }

    fn set(&self, value: f64) {
        self.whole.set(0);
        self.rest.set(value);
    }

    fn get(&self) -> f64 {
        self.whole.get() as f64 + self.rest.get()
    }

    #[inline]
    fn inc_by(&self, delta: f64) {
        let whole = delta as u64;
        if whole as f64 == delta && whole < 1 << 53 {
            self.whole.inc_by(whole);
        } else {
            self.rest.inc_by(delta);
        }
    }

    #[inline]
    fn dec_by(&self, delta: f64) {
        self.rest.dec_by(delta);
    }
}
