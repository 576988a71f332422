//! Counters of which each thread adds to a word of its own.

use crate::atomic64::{Atomic, AtomicF64 as StdAtomicF64};
use std::sync::atomic::{AtomicU64 as StdAtomicU64, Ordering};
use tenure::counter::Counter;

/// Whole numbers. What was added by then is remembered when the value is set, since no thread can store to all words.
#[derive(Debug)]
pub struct AtomicU64 {
    added: Counter,
    at_set: StdAtomicU64,
}

impl Atomic for AtomicU64 {
    type T = u64;

    fn new(value: u64) -> Self {
        Self { added: Counter::new(), at_set: StdAtomicU64::new(value.wrapping_neg()) }
    }

    fn set(&self, value: u64) {
        self.at_set.store(self.added.sum().wrapping_sub(value), Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.added.sum().wrapping_sub(self.at_set.load(Ordering::Relaxed))
    }

    #[inline]
    fn inc_by(&self, delta: u64) {
        self.added.add(delta);
    }

    #[inline]
    fn dec_by(&self, delta: u64) {
        self.added.add(delta.wrapping_neg());
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
