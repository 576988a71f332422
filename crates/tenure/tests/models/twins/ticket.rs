//! `TicketRef` in its smallest form, with a switch for each thing that it gets right.

use super::super::memory::Loom;
use super::super::stage::Count;
use super::super::ticket::{DRIFT, DRIFTED_WORD, Reusable};
use core::marker::PhantomData;
use tenure::count::{DEAD, Get, NOREF, Put, RELEASED};
use tenure::memory::{Atomic, Memory, Ordering};

pub(crate) trait Flaw: Send + Sync + 'static {
    /// Whether a reviver takes a ticket, and a candidate looks for tickets.
    const TICKETS: bool = true;
    const PUBLISH_BY_OR: bool = true;
    /// Whether a dead count that has drifted is moved back by a plain store.
    const RESTORE_BY_STORE: bool = false;
}

flaws! {
    Sound {}
    /// `RcuRef` in 64 bits: the winner frees under the feet of other candidates.
    NoTickets { TICKETS: bool = false }
    /// Two that publish at once carry into the references.
    PublishesByAdd { PUBLISH_BY_OR: bool = false }
    /// As Linux restores DEAD, which is right there because nothing is reused before a grace period.
    RestoresByStore { RESTORE_BY_STORE: bool = true }
}

const fn word(refs: u32) -> u64 {
    (refs as u64) << 32 | 1 << 31
}

const ONE: u64 = 1 << 32;
const NO_TICKETS: u64 = 1 << 31;
const PRIVATE_NOREF: u64 = (NOREF as u64) << 32;

pub(crate) struct TicketTwin<F, const SWAP_TO_STORE: bool = false> {
    word: <Loom<SWAP_TO_STORE> as Memory>::AtomicU64,
    flaw: PhantomData<F>,
}

impl<F: Flaw, const S: bool> TicketTwin<F, S> {
    fn holding(word: u64) -> Self {
        Self { word: Atomic::new(word), flaw: PhantomData }
    }

    pub(crate) fn dead() -> Self {
        Self::holding(word(DEAD))
    }

    pub(crate) fn private() -> Self {
        Self::holding(0)
    }

    pub(crate) fn publish(&self) -> bool {
        let is_private = self.word.load(Ordering::Relaxed) & u64::from(u32::MAX) == 0;
        if is_private && F::PUBLISH_BY_OR {
            self.word.fetch_or(NO_TICKETS, Ordering::Relaxed);
        } else if is_private {
            self.word.fetch_add(NO_TICKETS, Ordering::Relaxed);
        }
        !is_private
    }

    pub(crate) fn is_private_one(&self) -> bool {
        self.word.load(Ordering::Acquire) == 0
    }

    pub(crate) fn references(&self, order: Ordering) -> u32 {
        ((self.word.load(order) >> 32) as u32).wrapping_add(1)
    }

    fn settle(&self, mut current: u64) -> Put {
        loop {
            let alone = current == word(NOREF);
            if !F::TICKETS && !alone {
                return Put::StillHeld;
            }
            let (next, order, outcome) = if alone {
                (word(DEAD), Ordering::Acquire, Put::Last)
            } else {
                (current.wrapping_add(1), Ordering::Release, Put::StillHeld)
            };
            match self.word.compare_exchange(current, next, order, Ordering::Relaxed) {
                Ok(_) => return outcome,
                Err(found) => current = found,
            }
        }
    }
}

impl<F: Flaw, const S: bool> Count for TicketTwin<F, S> {
    fn one() -> Self {
        Self::holding(word(0))
    }

    fn take(&self) -> Get {
        // Acquire costs a twin nothing and serves every model.
        let old = self.word.fetch_add(ONE, Ordering::Acquire);
        match (old >> 32) as u32 {
            NOREF => {
                if F::TICKETS {
                    self.word.fetch_sub(1, Ordering::Relaxed);
                }
                Get::Acquired
            }
            refs @ RELEASED.. => {
                let current = old.wrapping_add(ONE);
                if (refs + 1).abs_diff(DEAD) >= DRIFT {
                    if F::RESTORE_BY_STORE {
                        self.word.store(word(DEAD), Ordering::Relaxed);
                    } else {
                        let (done, lost) = (Ordering::Relaxed, Ordering::Relaxed);
                        let _ = self.word.compare_exchange(current, word(DEAD), done, lost);
                    }
                }
                Get::Dead
            }
            _ => Get::Acquired,
        }
    }

    fn give(&self) -> Put {
        let new = self.word.fetch_sub(ONE, Ordering::Release).wrapping_sub(ONE);
        if new == PRIVATE_NOREF {
            self.word.load(Ordering::Acquire);
            return Put::Last;
        }
        if (new >> 32) as u32 == NOREF { self.settle(new) } else { Put::StillHeld }
    }
}

impl<F: Flaw, const S: bool> Reusable for TicketTwin<F, S> {
    fn dead_and_drifted() -> Self {
        Self::holding(DRIFTED_WORD)
    }

    fn take_acquire(&self) -> Get {
        self.take()
    }

    fn revive(&self) {
        self.word.store(word(0), Ordering::Release);
    }
}
