//! [`IncNotZero`]: the compare-exchange loop, as baseline and oracle.
//!
//! The word holds the number of references; 0 means dead. A get must not raise 0 to 1, so it reads the word and
//! compare-exchanges it one higher, until no other core came in between. Under contention most attempts fail, and each
//! moves the cache line: 8 retries per operation with 112 CPUs on one object.
//!
//! ```text
//! 0      1 ... 0x7FFF_FFFF   0x8000_0000 .. 0xBFFF_FFFF   0xC000_0000 .. 0xFFFF_FFFF
//! dead   live                saturated (0xA000_0000)      underflowed: dead, moved back to 0
//! ```
//!
//! It behaves as Linux documents `refcount_inc_not_zero`; the border between saturated and underflowed is ours.

use super::{GetResult, KeepsReadable, PutResult, RefCount};
use crate::fault::{FaultKind, report};
use crate::memory::{Atomic, Memory, Native, Ordering};
use core::num::NonZeroU16;

const MAX: u32 = 0x7FFF_FFFF;
const SATURATED: u32 = 0xA000_0000;
const UNDERFLOWED: u32 = 0xC000_0000;
const ONE: NonZeroU16 = NonZeroU16::MIN;

/// A 32-bit count whose get is a compare-exchange loop: what [`TicketRef`](super::TicketRef) and
/// [`RcuRef`](super::RcuRef) are measured against.
///
/// Cost without contention: get one load and one compare-exchange, put one subtraction. Under contention a get retries;
/// [`get_counting`](Self::get_counting) says how often.
///
/// ```
/// use tenure::count::GetResult;
/// use tenure::count::generic::IncNotZero;
///
/// let count = IncNotZero::new();
/// assert_eq!(count.get(), GetResult::Acquired);
/// assert!(!count.put().is_last());
/// assert!(count.put().is_last());
/// assert_eq!(count.get(), GetResult::Dead);
/// ```
pub struct IncNotZero<M: Memory = Native> {
    word: M::AtomicU32,
}

impl_ref_count!(IncNotZero of AtomicU32: u32, one reference 1, put_last by put, proof ());

impl IncNotZero {
    /// A count with one reference, which the caller owns.
    #[must_use]
    pub const fn new() -> Self {
        Self::from_raw(1)
    }
}

impl<M: Memory> IncNotZero<M> {
    /// Takes a reference, unless the object is dead.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> GetResult {
        self.add(ONE, Ordering::Relaxed, || ())
    }

    /// [`get`](Self::get) that adds the number of failed compare-exchanges to `retries`.
    #[inline]
    #[track_caller]
    pub fn get_counting(&self, retries: &mut u64) -> GetResult {
        self.add(ONE, Ordering::Relaxed, || *retries += 1)
    }

    /// [`get`](Self::get) with Acquire: pairs with the Release of every earlier put, if the way to the object orders
    /// nothing.
    #[inline]
    #[track_caller]
    pub fn get_acquire(&self) -> GetResult {
        self.add(ONE, Ordering::Acquire, || ())
    }

    /// Takes `n` references at once, unless the object is dead.
    #[inline]
    #[track_caller]
    pub fn get_many(&self, n: NonZeroU16) -> GetResult {
        self.add(n, Ordering::Relaxed, || ())
    }

    #[inline(always)]
    #[track_caller]
    fn add(&self, n: NonZeroU16, order: Ordering, mut retry: impl FnMut()) -> GetResult {
        let n = u32::from(n.get());
        // Relaxed: a guess, which the compare-exchange verifies.
        let mut old = self.word.load(Ordering::Relaxed);
        loop {
            if !(1..=MAX - n).contains(&old) {
                return self.add_slow(n, order, old, &mut retry);
            }
            // Weak: the loop retries anyway. Relaxed on failure: only the value is used.
            match self.word.compare_exchange_weak(old, old + n, order, Ordering::Relaxed) {
                Ok(_) => return GetResult::Acquired,
                Err(found) => old = found,
            }
            retry();
        }
    }

    /// The loop in full, for a word that was dead, saturated, or within `n` of it.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn add_slow(
        &self,
        n: u32,
        order: Ordering,
        mut old: u32,
        retry: &mut impl FnMut(),
    ) -> GetResult {
        loop {
            if old == 0 || old >= UNDERFLOWED {
                return GetResult::Dead;
            }
            if old > MAX {
                return GetResult::Acquired; // Saturated, and never freed.
            }
            let new = if old + n > MAX { SATURATED } else { old + n };
            // Relaxed on failure: only the value is used.
            match self.word.compare_exchange(old, new, order, Ordering::Relaxed) {
                Ok(_) if new == SATURATED => break,
                Ok(_) => return GetResult::Acquired,
                Err(found) => old = found,
            }
            retry();
        }
        self.report(FaultKind::Overflow, old);
        GetResult::Acquired
    }

    /// Gives a reference back. The caller must own one.
    #[inline]
    #[track_caller]
    pub fn put(&self) -> PutResult {
        self.put_many(ONE)
    }

    /// Gives `n` references back at once.
    #[inline]
    #[track_caller]
    pub fn put_many(&self, n: NonZeroU16) -> PutResult {
        let n = u32::from(n.get());
        // Release: pairs with the Acquire in `put_slow`.
        let old = self.word.fetch_sub(n, Ordering::Release);
        if (n + 1..=MAX).contains(&old) { PutResult::StillHeld } else { self.put_slow(old, n) }
    }

    /// The number of references at some moment of the call; 0 for a dead object.
    #[must_use]
    pub fn read(&self) -> u32 {
        match self.raw() {
            UNDERFLOWED.. => 0,
            count => count,
        }
    }

    /// Whether every get from now on fails. Writes nothing.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.read() == 0
    }

    /// Decides from `old`, which the caller's own subtraction found.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn put_slow(&self, old: u32, n: u32) -> PutResult {
        if old == n {
            // Acquire: pairs with the Release of every earlier put. A load, since ThreadSanitizer does not model
            // fences.
            self.word.load(Ordering::Acquire);
            return PutResult::Last;
        }
        if (MAX + 1..UNDERFLOWED).contains(&old) {
            // Relaxed: orders nothing; a saturated object is never destroyed.
            self.word.store(SATURATED, Ordering::Relaxed);
        } else {
            // Dead, or more put than there were. Relaxed: the destroyer is known already.
            self.word.store(0, Ordering::Relaxed);
            self.report(FaultKind::ImbalancedPut, old);
        }
        PutResult::StillHeld
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::set_fault_hook;

    #[test]
    fn a_get_that_would_overflow_looks_again_after_another_threads_put() {
        set_fault_hook(Some(|fault| panic!("{fault}")));
        // The get found the most references there can be, and a put came before its exchange.
        let (count, mut retries) = (IncNotZero::from_raw(MAX - 1), 0);
        assert_eq!(
            count.add_slow(1, Ordering::Relaxed, MAX, &mut || retries += 1),
            GetResult::Acquired
        );
        assert_eq!((count.raw(), retries), (MAX, 1));
    }
}
