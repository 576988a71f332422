//! [`TicketRef`]: one unconditional add per get and per put, and a put that needs no grace period.
//!
//! One 64-bit word in two halves:
//!
//! ```text
//! 63                               32 31                               0
//! ├── refs: references minus one ────┤├── tickets, biased by 2^31 ──────┤
//! ```
//!
//! `refs` has the zones of `RcuRef`: its sign is the sign of the word, and a carry out of it leaves the word. `tickets`
//! starts in the middle of its half and strays no further than there are threads, so it never carries or borrows.
//!
//! # What tickets are for
//!
//! A putter whose subtraction took the last reference is a *candidate*: it has to find out whether it destroys the
//! object. A get that finds no reference left, but no verdict either, *revives* the object, and the put of that
//! reference makes a second candidate. With `RcuRef` the winner frees the memory under the other's feet. Here
//! candidates are counted:
//!
//! - a reviver subtracts one ticket, and holds its reference until that is done;
//! - a candidate that does not win adds one ticket, and that is its last touch.
//!
//! Let r be the number of revivals. The count has reached zero r times, and once more if it is zero now. Each time made
//! one candidate, each candidate that left added one ticket, each revival took one. So when `refs` is zero, every
//! reviver has recorded its ticket (it held a reference until then), and
//!
//! ```text
//! candidates that have not left = 1 - tickets
//! ```
//!
//! The candidate that finds zero references and zero tickets is therefore alone. It moves the word to DEAD in one
//! compare-exchange; from then on only gets whose caller keeps the memory readable touch the word. Any other candidate
//! leaves with a ticket, and a later one will be alone.
//!
//! With one reference and zero tickets the owner is alone as well, which [`put_last`](TicketRef::put_last) and
//! `Arc::try_unwrap` use.
//!
//! # Orderings
//!
//! All changes of a live word are read-modify-writes and continue the release sequences of the puts, so the destroyer,
//! whose verdict is Acquire, sees what every holder did. A candidate leaves with Release: its accesses to the *word*
//! come before the free. A reviver records its ticket Relaxed, since its put will be Release.
//!
//! # Dead counts
//!
//! A get on a dead count adds one and does not take it back, so a failed get is one add as well. Such gets move `refs`
//! through the dead zone; one that finds it 2^16 from the middle moves it back by compare-exchange. A plain store, as
//! in `RcuRef`, would kill the new owner of a slot that has a new life ([`init`](TicketRef::init)).
//!
//! The tickets answer the [cover letter] of rcuref, whose author could not imagine a way to use it where memory is
//! freed at once, and would be happy to be proven wrong. In `tests/models` the models with tickets pass, and those
//! without fail.
//!
//! [cover letter]: https://lore.kernel.org/lkml/20230228132118.978145284@linutronix.de/

#[cfg(feature = "alloc")]
mod private;

use super::zone::{DEAD, FIRST_SATURATED, NOREF, ONEREF, SATURATED, Zone, references};
use super::{GetResult, KeepsReadable, PutResult, RefCount};
use crate::fault::{FaultKind, report};
use crate::memory::{Atomic, Memory, Native, Ordering};
use core::num::NonZeroU16;

const ONE: NonZeroU16 = NonZeroU16::MIN;
const REFS_SHIFT: u32 = 32;
const NO_TICKETS: u32 = 1 << 31;

/// How far failed operations may move a dead count before one of them moves it back.
const DRIFT: u32 = 1 << 16;

const fn word(refs: u32, tickets: u32) -> u64 {
    (refs as u64) << REFS_SHIFT | tickets as u64
}

const fn refs(word: u64) -> u32 {
    (word >> REFS_SHIFT) as u32
}

#[inline(always)]
const fn is_negative(word: u64) -> bool {
    (word as i64) < 0
}

const ONE_WORD: u64 = word(ONEREF, NO_TICKETS);
const NOREF_WORD: u64 = word(NOREF, NO_TICKETS);
const DEAD_WORD: u64 = word(DEAD, NO_TICKETS);
const SATURATED_WORD: u64 = word(SATURATED, NO_TICKETS);

/// A put that has subtracted and left no valid count: still to be ended.
#[must_use]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unsettled {
    /// The word that the subtraction left.
    new: u64,
    n: u32,
}

/// A [`TicketRef`](super::TicketRef) on the machine `M`.
pub struct TicketRef<M: Memory = Native> {
    word: M::AtomicU64,
}

impl_ref_count!(TicketRef of AtomicU64: u64, one reference ONE_WORD, put_last by put_last, proof ());

impl TicketRef {
    /// A count with one reference, which the caller owns.
    #[must_use]
    pub const fn new() -> Self {
        Self::from_raw(ONE_WORD)
    }

    /// A dead count: every get fails until [`init`](Self::init).
    #[must_use]
    pub const fn dead() -> Self {
        Self::from_raw(DEAD_WORD)
    }
}

impl<M: Memory> TicketRef<M> {
    /// [`from_raw`](TicketRef::from_raw) on any machine.
    #[doc(hidden)]
    #[must_use]
    pub fn from_raw_in(word: u64) -> Self {
        Self { word: Atomic::new(word) }
    }

    /// [`dead`](TicketRef::dead) on any machine.
    #[doc(hidden)]
    #[must_use]
    pub fn dead_in() -> Self {
        Self { word: Atomic::new(DEAD_WORD) }
    }

    /// Gives a dead count its first reference.
    pub fn init(&self) {
        debug_assert_eq!(Zone::of(refs(self.raw())), Zone::Dead, "init of a count that is alive");
        // Release: pairs with the Acquire in `get_acquire`.
        self.word.store(ONE_WORD, Ordering::Release);
    }

    /// Takes a reference, unless the object is dead. `&self` says that the memory is readable during the call.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> GetResult {
        self.add(ONE, Ordering::Relaxed)
    }

    /// [`get`](Self::get) with Acquire: pairs with the Release in [`init`](Self::init).
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
        let new = self.word.fetch_add(word(n, 0), order).wrapping_add(word(n, 0));
        // At least `n + 1` references now: the object was alive. Comparing the whole word spares the shift.
        if new as i64 >= word(n, 0) as i64 { GetResult::Acquired } else { self.get_slow(new, n) }
    }

    /// Takes another reference for a caller that owns one, which cannot fail: one add and a test of the sign.
    #[inline]
    #[track_caller]
    pub fn get_held(&self) {
        // Relaxed: the caller's reference orders everything that this one will need.
        let new = self.word.fetch_add(word(1, 0), Ordering::Relaxed).wrapping_add(word(1, 0));
        // The sign alone, so that it compiles to an add and a branch on its flags.
        if is_negative(new) {
            self.get_held_slow();
        }
    }

    /// Gives a reference back, which the caller must own.
    #[inline]
    #[track_caller]
    pub fn put(&self) -> PutResult {
        self.put_many(ONE)
    }

    /// Gives `n` references back at once.
    #[inline]
    #[track_caller]
    pub fn put_many(&self, n: NonZeroU16) -> PutResult {
        match self.put_begin(n) {
            None => PutResult::StillHeld,
            Some(unsettled) => self.put_cold(unsettled),
        }
    }

    /// The first half of a put: the subtraction. `None` if references are left.
    #[inline(always)]
    pub(crate) fn put_begin(&self, n: NonZeroU16) -> Option<Unsettled> {
        let n = u32::from(n.get());
        // Release: pairs with the Acquire of the verdict.
        let new = self.word.fetch_sub(word(n, 0), Ordering::Release).wrapping_sub(word(n, 0));
        is_negative(new).then_some(Unsettled { new, n })
    }

    /// The second half, for a caller that is out of line already.
    #[inline]
    #[track_caller]
    pub(crate) fn put_end(&self, unsettled: Unsettled) -> PutResult {
        #[cfg(feature = "alloc")]
        if self.is_private_last(unsettled) {
            return PutResult::Last;
        }
        // The common case otherwise: no thread revives the object.
        if unsettled.new == NOREF_WORD && self.try_verdict().is_ok() {
            return PutResult::Last;
        }
        self.put_slow(unsettled)
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn put_cold(&self, unsettled: Unsettled) -> PutResult {
        self.put_end(unsettled)
    }

    /// Gives back a reference that is probably the last.
    #[inline]
    #[track_caller]
    pub fn put_last(&self) -> PutResult {
        if self.try_last() { PutResult::Last } else { self.put() }
    }

    /// One reference and no ticket: its owner is alone, and makes it DEAD.
    #[inline]
    pub(crate) fn try_last(&self) -> bool {
        // Acquire: a verdict, which pairs with the Release of every earlier put.
        // Relaxed on failure: the value is not used.
        self.word
            .compare_exchange(ONE_WORD, DEAD_WORD, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// The number of references at some moment of the call.
    #[must_use]
    pub fn read(&self) -> u32 {
        // Relaxed: a snapshot, stale on arrival.
        self.read_with(Ordering::Relaxed)
    }

    pub(crate) fn read_with(&self, order: Ordering) -> u32 {
        references(refs(self.word.load(order)))
    }

    /// Whether every get from now on fails. Writes nothing.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        Zone::of(refs(self.raw())) == Zone::Dead
    }

    #[cold]
    #[track_caller]
    fn get_slow(&self, new: u64, n: u32) -> GetResult {
        let old = refs(new).wrapping_sub(n);
        match Zone::of(old) {
            Zone::NoRef => {
                // Revived: there is a candidate too many. Relaxed: our own put, later, is Release.
                self.word.fetch_sub(1, Ordering::Relaxed);
                GetResult::Acquired
            }
            Zone::Dead => {
                self.undrift(new);
                GetResult::Dead
            }
            // Acquired, although the count lost track: the object is never freed.
            Zone::Live => {
                self.saturate();
                self.report(FaultKind::Overflow, new.wrapping_sub(word(n, 0)));
                GetResult::Acquired
            }
            Zone::Saturated => {
                self.saturate();
                GetResult::Acquired
            }
        }
    }

    /// Saturated, now or before; or dead: then the caller owned no reference.
    #[cold]
    #[track_caller]
    fn get_held_slow(&self) {
        // Relaxed, here and below: the object is never freed, or gone already; nothing is ordered.
        let mut found = self.raw();
        loop {
            match Zone::of(refs(found)) {
                Zone::Saturated if refs(found) - FIRST_SATURATED < DRIFT => {
                    // Fresh from the live zone: one of the callers moves it on and reports.
                    let moved = self.word.compare_exchange(
                        found,
                        SATURATED_WORD,
                        Ordering::Relaxed,
                        Ordering::Relaxed,
                    );
                    match moved {
                        Ok(_) => {
                            return self
                                .report(FaultKind::Overflow, found.wrapping_sub(word(1, 0)));
                        }
                        Err(now) => found = now,
                    }
                }
                Zone::Saturated => return self.saturate(),
                // No reference is left, although the caller should own two now.
                Zone::Dead | Zone::NoRef => {
                    self.undrift(found);
                    return self.report(FaultKind::UseAfterDeath, found.wrapping_sub(word(1, 0)));
                }
                // Put back below the border since.
                Zone::Live => return,
            }
        }
    }

    /// Decides from what the caller's own subtraction left.
    #[cold]
    #[track_caller]
    fn put_slow(&self, Unsettled { new, n }: Unsettled) -> PutResult {
        let found = new.wrapping_add(word(n, 0));
        match Zone::of(refs(found)) {
            Zone::Live if refs(new) == NOREF => return self.settle(new),
            Zone::Saturated => {
                self.saturate();
                return PutResult::StillHeld;
            }
            Zone::Dead => self.undrift(new),
            // Below zero from a count that was alive or pending: it took another holder's reference. Relaxed: no caller
            // destroys the object, so nothing has to be ordered.
            Zone::Live | Zone::NoRef => self.word.store(DEAD_WORD, Ordering::Relaxed),
        }
        self.report(FaultKind::ImbalancedPut, found);
        PutResult::StillHeld
    }

    /// The verdict of a candidate, whose subtraction left `current`.
    fn settle(&self, mut current: u64) -> PutResult {
        loop {
            let (left, outcome) = if current == NOREF_WORD {
                (self.try_verdict(), PutResult::Last)
            } else {
                // Not the last. Release: the memory is freed after this last touch.
                // Relaxed on failure: the word stays readable until this candidate has left.
                let ticket = current.wrapping_add(1);
                let left = self.word.compare_exchange_weak(
                    current,
                    ticket,
                    Ordering::Release,
                    Ordering::Relaxed,
                );
                (left, PutResult::StillHeld)
            };
            match left {
                Ok(_) => return outcome,
                Err(found) => current = found,
            }
        }
    }

    /// No reference and no ticket: the candidate is alone, and makes it DEAD.
    #[inline]
    fn try_verdict(&self) -> Result<u64, u64> {
        // Acquire: pairs with the Release of every put and every ticket before.
        // Relaxed on failure: the word stays readable until this candidate has left.
        self.word.compare_exchange(NOREF_WORD, DEAD_WORD, Ordering::Acquire, Ordering::Relaxed)
    }

    /// Moves a dead count that strayed far back to the middle of the dead zone. `current` is what the caller's own
    /// operation made of a dead word: dead, although it may have left the zone.
    fn undrift(&self, mut current: u64) {
        while refs(current).abs_diff(DEAD) >= DRIFT {
            // Relaxed: nothing is published. Not a store, because the slot may have a new life by now; not weak, so
            // that a failure means another word.
            match self.word.compare_exchange(
                current,
                DEAD_WORD,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Err(found) if Zone::of(refs(found)) == Zone::Dead => current = found,
                Ok(_) | Err(_) => return,
            }
        }
    }

    fn saturate(&self) {
        // Relaxed: orders nothing; a saturated object is never destroyed.
        self.word.store(SATURATED_WORD, Ordering::Relaxed);
    }
}
