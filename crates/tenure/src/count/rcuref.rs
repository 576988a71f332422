//! [`RcuRef`]: one unconditional add per get and per put, in four bytes.
//!
//! All threads change one word, whose encoding (`zone`) makes every unusual state negative. Get and put change it first
//! and look afterwards. What can collide:
//!
//! - **get ‖ get**, **put ‖ put** above one reference: additions commute, and no thread retries.
//! - **last put ‖ get.** The put leaves NOREF; the get finds a valid count and has *revived* the object, so the
//!   putter's exchange NOREF → DEAD fails. Or the putter is faster: the get finds the dead zone, restores DEAD and
//!   fails.
//! - **last put ‖ (get, put).** Two threads settle the verdict over one NOREF. One compare-exchange wins, and the loser
//!   does not retry. The winner need not be the last to subtract: destructors may run on any thread that drops.
//!
//! The verdict depends on nothing but the value that the subtraction returned. Linux read the word again, from 2023 to
//! early 2025: if another thread had won by then, a put that was owed found DEAD and was reported as imbalanced. `get ‖
//! put ‖ put` in `tests/models` keeps a copy of that bug, which must fail.
//!
//! # Why the memory must stay readable
//!
//! Between its subtraction and its compare-exchange a putter owns nothing, and another thread may [free the
//! memory](super#whose-memory-is-it). Linux disables preemption there, so that no grace period ends; here the caller
//! shows a [`Readable`].
//!
//! Sources: the [cover letter] and commit message of Linux's rcuref (Thomas Gleixner, 2023, "atomics: Provide rcuref -
//! scalable reference counting"; `lib/rcuref.c`), and the message of its repair (January 2025).
//!
//! [cover letter]: https://lore.kernel.org/lkml/20230228132118.978145284@linutronix.de/

use super::zone::{DEAD, MAXREF, NOREF, ONEREF, RELEASED, SATURATED, Zone, references};
use super::{GetResult, KeepsReadable, PutResult, Readable, RefCount};
use crate::fault::{FaultKind, report};
use crate::memory::{Atomic, Memory, Native, Ordering};
use core::num::NonZeroU16;

const ONE: NonZeroU16 = NonZeroU16::MIN;

/// An [`RcuRef`](super::RcuRef) on the machine `M`.
pub struct RcuRef<M: Memory = Native> {
    word: M::AtomicU32,
}

impl_ref_count!(RcuRef of AtomicU32: u32, one reference ONEREF, put_last by put_last, proof Readable<'w> as readable);

impl RcuRef {
    /// A count with one reference, which the caller owns.
    #[must_use]
    pub const fn new() -> Self {
        Self::from_raw(ONEREF)
    }
}

impl<M: Memory> RcuRef<M> {
    /// Takes a reference, unless the object is dead. `&self` says that the memory is readable during the call.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> GetResult {
        self.add(ONE, Ordering::Relaxed)
    }

    /// [`get`](Self::get) with Acquire.
    #[inline]
    #[track_caller]
    pub fn get_acquire(&self) -> GetResult {
        self.add(ONE, Ordering::Acquire)
    }

    /// Takes `n` references at once, unless the object is dead.
    #[inline]
    #[track_caller]
    pub fn get_many(&self, n: NonZeroU16) -> GetResult {
        self.add(n, Ordering::Relaxed)
    }

    #[inline(always)]
    #[track_caller]
    fn add(&self, n: NonZeroU16, order: Ordering) -> GetResult {
        let n = u32::from(n.get());
        let new = self.word.fetch_add(n, order).wrapping_add(n);
        if new <= MAXREF { GetResult::Acquired } else { self.get_slow(new, n) }
    }

    /// Gives a reference back, which the caller must own.
    #[inline]
    #[track_caller]
    pub fn put(&self, readable: Readable<'_>) -> PutResult {
        self.put_many(ONE, readable)
    }

    /// Gives `n` references back at once.
    #[inline]
    #[track_caller]
    pub fn put_many(&self, n: NonZeroU16, readable: Readable<'_>) -> PutResult {
        let n = u32::from(n.get());
        // Release: pairs with the Acquire of the verdict.
        let new = self.word.fetch_sub(n, Ordering::Release).wrapping_sub(n);
        if new <= MAXREF { PutResult::StillHeld } else { self.put_slow(new, n, readable) }
    }

    /// Gives back a reference that is probably the last.
    #[inline]
    #[track_caller]
    pub fn put_last(&self, readable: Readable<'_>) -> PutResult {
        // Acquire: the verdict, which pairs with the Release of every earlier put.
        // Relaxed on failure: the value is not used.
        match self.word.compare_exchange(ONEREF, DEAD, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => PutResult::Last,
            Err(_) => self.put(readable),
        }
    }

    /// The number of references at some moment of the call.
    #[must_use]
    pub fn read(&self) -> u32 {
        references(self.raw())
    }

    /// Whether every get from now on fails. Writes nothing.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        Zone::of(self.raw()) == Zone::Dead
    }

    #[cold]
    #[track_caller]
    fn get_slow(&self, new: u32, n: u32) -> GetResult {
        if new >= RELEASED {
            // Relaxed, here and in the other repairs: they only move the count back to the middle of its zone.
            self.word.store(DEAD, Ordering::Relaxed);
            return GetResult::Dead;
        }
        self.word.store(SATURATED, Ordering::Relaxed);
        let old = new.wrapping_sub(n);
        if old <= MAXREF {
            self.report(FaultKind::Overflow, old);
        }
        // Acquired, although the count lost track: the object is never freed.
        GetResult::Acquired
    }

    /// Decides from `new`, which the caller's own subtraction left, never from a later look.
    #[cold]
    #[track_caller]
    fn put_slow(&self, new: u32, n: u32, _readable: Readable<'_>) -> PutResult {
        match Zone::of(new) {
            Zone::NoRef => {
                // Acquire: pairs with the Release of every earlier put. Later changes are read-modify-writes, which
                // continue the release sequences. Relaxed on failure: another thread revived the object or won.
                match self.word.compare_exchange(NOREF, DEAD, Ordering::Acquire, Ordering::Relaxed)
                {
                    Ok(_) => PutResult::Last,
                    Err(_) => PutResult::StillHeld,
                }
            }
            Zone::Saturated => {
                self.word.store(SATURATED, Ordering::Relaxed);
                PutResult::StillHeld
            }
            Zone::Dead | Zone::Live => {
                self.word.store(DEAD, Ordering::Relaxed);
                self.report(FaultKind::ImbalancedPut, new.wrapping_add(n));
                PutResult::StillHeld
            }
        }
    }
}
