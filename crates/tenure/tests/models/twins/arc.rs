//! The counts of `Arc` in their smallest form, with a switch for each thing that they get right.

use super::super::handles::ArcCounts;
use super::super::memory::Loom;
use super::super::stage::Count;
use super::super::ticket::Reusable;
use super::ticket::{self, Sound, TicketTwin};
use core::marker::PhantomData;
use tenure::count::{Get, Put};
use tenure::memory::{Atomic, Memory, Ordering};

pub(crate) enum Unique {
    /// With the weak count locked: right.
    Locked,
    /// Two loads. In between an `Arc` makes a `Weak` and goes.
    WeakThenStrong,
    /// Two loads. In between a `Weak` becomes an `Arc`.
    StrongThenWeak,
}

pub(crate) trait Flaw: 'static {
    const UNIQUE: Unique = Unique::Locked;
    const DOWNGRADE_WAITS: bool = true;
    /// Whether the strong count is private until the first `Weak`.
    const PRIVATE: bool = true;
    const PUBLISHES: bool = true;
    /// Whether "published" is set in the weak count without losing what others add.
    const NOTES_BY_OR: bool = true;
    /// Whether the number of Weaks alone says which put is the last.
    const LAST_BY_NUMBER: bool = true;
    const LOOKS_FOR_WEAKS: bool = true;
}

flaws! {
    SoundArc {}
    ReadsWeakThenStrong { UNIQUE: Unique = Unique::WeakThenStrong }
    ReadsStrongThenWeak { UNIQUE: Unique = Unique::StrongThenWeak }
    /// Without privacy: see `memory`. loom overlooks this one otherwise.
    DowngradesUnderTheLock { PRIVATE: bool = false, DOWNGRADE_WAITS: bool = false }
    SoundWithoutPrivacy { PRIVATE: bool = false }
    /// The last drop takes a value for its own that a `Weak` can still reach.
    NeverPublishes { PUBLISHES: bool = false }
    NotesByStore { NOTES_BY_OR: bool = false }
    LastByWord { LAST_BY_NUMBER: bool = false }
    FreesUnderWeaks { LOOKS_FOR_WEAKS: bool = false }
}

const PUBLISHED: u64 = 1;
const WEAK: u64 = 2;
const LOCKED: u64 = 1 << 63;

pub(crate) struct ArcTwin<F, C = Sound, const SWAP_TO_STORE: bool = false> {
    strong: TicketTwin<C, SWAP_TO_STORE>,
    weak: <Loom<SWAP_TO_STORE> as Memory>::AtomicU64,
    flaw: PhantomData<fn() -> F>,
}

impl<F: Flaw, C: ticket::Flaw, const S: bool> ArcCounts for ArcTwin<F, C, S> {
    fn one() -> Self {
        let strong = if F::PRIVATE { TicketTwin::private() } else { TicketTwin::one() };
        Self { strong, weak: Atomic::new(0), flaw: PhantomData }
    }

    fn unborn() -> Self {
        Self { strong: TicketTwin::dead(), weak: Atomic::new(0), flaw: PhantomData }
    }

    fn born(&self) {
        self.strong.revive();
    }

    fn clone_strong(&self) {
        let _ = self.strong.take();
    }

    fn upgrade(&self) -> Get {
        self.strong.take()
    }

    fn drop_strong(&self) -> Put {
        self.strong.give()
    }

    fn downgrade(&self) {
        let old = self.weak.fetch_add(WEAK, Ordering::Relaxed);
        let locked = old & LOCKED != 0;
        while F::DOWNGRADE_WAITS && locked && self.weak.load(Ordering::Relaxed) & LOCKED != 0 {
            Loom::<S>::spin_hint();
        }
        if F::PRIVATE && old & !LOCKED == 0 && (!F::PUBLISHES || self.strong.publish()) {
            if F::NOTES_BY_OR {
                self.weak.fetch_or(PUBLISHED, Ordering::Relaxed);
            } else {
                self.weak.store((old + WEAK) | PUBLISHED, Ordering::Relaxed);
            }
        }
    }

    fn drop_weak(&self) -> bool {
        let left = self.weak.fetch_sub(WEAK, Ordering::Release).wrapping_sub(WEAK);
        let last = if F::LAST_BY_NUMBER {
            left >= 0_u64.wrapping_sub(WEAK)
        } else {
            left == 0_u64.wrapping_sub(WEAK)
        };
        if last {
            self.weak.load(Ordering::Acquire);
        }
        last
    }

    fn drop_common(&self) -> bool {
        !F::LOOKS_FOR_WEAKS || self.weak.load(Ordering::Acquire) <= PUBLISHED || self.drop_weak()
    }

    fn is_unique(&self) -> bool {
        let no_weak = || self.weak.load(Ordering::Acquire) <= PUBLISHED;
        let one_strong = || self.strong.references(Ordering::Acquire) == 1;
        match F::UNIQUE {
            Unique::Locked if F::PRIVATE && self.strong.is_private_one() => true,
            Unique::Locked => {
                let (taken, refused) = (Ordering::Acquire, Ordering::Relaxed);
                let found = self.weak.load(refused) & PUBLISHED;
                if self.weak.compare_exchange(found, found | LOCKED, taken, refused).is_err() {
                    return false;
                }
                let unique = one_strong();
                self.weak.fetch_sub(LOCKED, Ordering::Relaxed);
                unique
            }
            Unique::WeakThenStrong => no_weak() && one_strong(),
            Unique::StrongThenWeak => one_strong() && no_weak(),
        }
    }

    fn try_take(&self) -> bool {
        unreachable!("no twin is broken there")
    }
}
