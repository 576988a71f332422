//! Private counts: until the first thread can find the object without a reference.
//!
//! While every get comes from a caller that owns a reference, as with an `Arc` that never had a `Weak`, no thread can
//! revive the object. Zero references are then the verdict, and the last put is one operation. Such a count holds 0 in
//! place of its tickets. `publish` makes it a count with tickets before the first weak pointer can be used: its caller
//! owns a reference, so the word does not cross to zero meanwhile, and every later last put sees in its own subtraction
//! that it has to settle.

use super::{DEAD_WORD, NO_TICKETS, TicketRef, Unsettled, word};
use crate::count::zone::{NOREF, ONEREF};
use crate::memory::{Atomic, Memory, Ordering};

/// In place of tickets, for which a private count has no use: it crosses to zero once. 0, so that publishing can set a
/// bit without knowing the rest. The price: zeroed memory reads as one reference to a private object.
const PRIVATE: u32 = 0;
const ONE_WORD: u64 = word(ONEREF, PRIVATE);
const NOREF_WORD: u64 = word(NOREF, PRIVATE);

impl TicketRef {
    /// [`private_in`](Self::private_in) on the real machine.
    pub(crate) const fn private() -> Self {
        Self::from_raw(ONE_WORD)
    }
}

impl<M: Memory> TicketRef<M> {
    /// A count with one reference. Until [`publish`](Self::publish) every get is made by a holder.
    pub(crate) fn private_in() -> Self {
        Self { word: Atomic::new(ONE_WORD) }
    }

    /// From now on callers without a reference may get. The caller owns one. Returns whether they might before.
    pub(crate) fn publish(&self) -> bool {
        // Relaxed: in the order of this word the mark comes before the put of the caller's reference, which is all that
        // a last put has to know. The same goes for a mark found.
        let public = self.word.load(Ordering::Relaxed) as u32 != PRIVATE;
        if !public {
            // The load may be old, and another thread have published since. Setting the bit again changes nothing: the
            // load is no older than the caller's reference, and the word has not crossed to zero since, so no ticket
            // has moved.
            self.word.fetch_or(word(0, NO_TICKETS), Ordering::Relaxed);
        }
        public
    }

    /// Whether the count is private and the caller's reference, held exclusively, the only one: no other thread can
    /// come to hold one.
    #[inline]
    pub(crate) fn is_private_one(&self) -> bool {
        // Acquire: pairs with the Release of every put.
        self.word.load(Ordering::Acquire) == ONE_WORD
    }

    /// If [`is_private_one`](Self::is_private_one): makes it DEAD. One load, no read-modify-write.
    #[inline]
    pub(crate) fn try_last_private(&self) -> bool {
        let alone = self.is_private_one();
        if alone {
            // Relaxed, and a store: the only reference is held exclusively, so no other thread has a way to this word.
            self.word.store(DEAD_WORD, Ordering::Relaxed);
        }
        alone
    }

    /// Whether that put was the last of a private count: its caller is alone without a verdict.
    #[inline]
    pub(super) fn is_private_last(&self, unsettled: Unsettled) -> bool {
        let last = unsettled.new == NOREF_WORD;
        if last {
            // Acquire: pairs with the Release of every earlier put. A load, since ThreadSanitizer does not model
            // fences.
            self.word.load(Ordering::Acquire);
        }
        last
    }
}
