//! The two counts in front of every `Arc`'s value, and the protocol between them. They know no value and no memory.
//!
//! ```text
//!  offset 0          8          16
//!  ├── strong ───────┼── weak ──┼── value ...
//!      TicketRef         u64
//! ```
//!
//! - `strong` counts the `Arc`s. Its verdict destroys the **value**.
//! - `weak` counts the `Weak`s, and one more that all `Arc`s own together. Its last put frees the **allocation**. It has
//!   the count less one in bits 1 to 62, [`PUBLISHED`] in bit 0 and [`LOCKED`] in its sign: one test of the sign finds
//!   the last put, and one comparison with zero a downgrade that has more to do.
//!
//! The last drop of an `Arc` settles the strong verdict, drops the value and gives up the common weak reference. Until
//! the first downgrade publishes it, `strong` is private, and the last drop is one subtraction. If no `Weak` is left at
//! the end, a load sees that, and the common reference needs no operation of its own.
//!
//! # Published
//!
//! A downgrade that finds no other `Weak` has to know that `strong` is marked. It is, if it finds [`PUBLISHED`]: then one
//! add is all. The first downgrade marks `strong`. One that finds no other `Weak` and `strong` marked sets the bit, which
//! stays.
//!
//! The bit may be Relaxed. The last drop need not see it, only that `strong` is marked, and finds that in the word that
//! it subtracts from: the mark was set for an `Arc`, so it comes before the put of that `Arc` in the order of that word,
//! and the last put comes after all others. Who finds the bit knows that there is a mark, and that is enough. It is
//! never taken back: a value that is born again is born marked.
//!
//! # The lock in the weak count
//!
//! `get_mut` has to know that there is one `Arc` and no `Weak`. Those are two words, and between two loads a `Weak`
//! could be upgraded and dropped. So, as in std, it locks the weak count by its sign bit, and only if there is no `Weak`.
//! No downgrade returns while it is locked: a downgrade adds first, finds the word negative, and waits for a few
//! instructions. Its caller owns an `Arc`, so the holder of the lock finds `strong` above one. No `Weak` is dropped
//! meanwhile, as none exists.
//!
//! The unlock and the downgrade are Relaxed on this word. Suppose that the holder of the lock misses the downgrade's
//! `Arc`: its look at `strong` reads one. That value is no older than the `Arc`, which is a clone of one that the
//! holder knows, or came from a `Weak` whose end `try_lock` acquired. So it is the `Arc`'s own put, or a later one. The
//! put is Release and the look Acquire: all that the downgrade did happens before the unlock. But the downgrade
//! returned only after it had read the unlock, or something later, and nothing reads from its own future.
//!
//! # Widths
//!
//! `weak` has 62 bits: one clone per nanosecond overflows it after 146 years, so nothing tests for it. `strong` has 31
//! and saturates: see [`TicketRef`].

use crate::count::generic::TicketRef;
use crate::count::{GetResult, PutResult};
use crate::memory::{Atomic, Memory, Native, Ordering, Patience, Threads};
use core::fmt;

/// Only the common weak reference of all `Arc`s.
const COMMON: u64 = 0;
/// `strong` is marked.
const PUBLISHED: u64 = 1;
const WEAK: u64 = 2;
const LOCKED: u64 = 1 << 63;

/// The strong and weak count of an `Arc`, for models and for smart pointers of one's own. Value and allocation are the
/// caller's. The result of each method that ends the life of one says so, to exactly one caller.
///
/// ```
/// use tenure::arc::Counts;
///
/// let counts = Counts::new();
/// counts.downgrade();                       // a Weak
/// assert!(counts.upgrade().is_acquired());  // a second Arc
/// assert!(!counts.drop_strong().is_last());
/// assert!(counts.drop_strong().is_last());  // drop the value here
/// assert!(!counts.drop_common());           // a Weak is left, keep the memory
/// assert!(!counts.upgrade().is_acquired());
/// assert!(counts.drop_weak());              // free the memory here
/// ```
#[repr(C)]
pub struct Counts<M: Memory = Native> {
    /// `Arc` puts in two halves, so that its fast path has no call.
    pub(super) strong: TicketRef<M>,
    weak: M::AtomicU64,
}

impl Counts {
    /// The counts of a new `Arc`. An [`upgrade`](Self::upgrade) needs a `Weak` that [`downgrade`](Self::downgrade)
    /// made: until the first one the last drop leaves no mark.
    #[must_use]
    pub const fn new() -> Self {
        Self { strong: TicketRef::private(), weak: <Native as Memory>::AtomicU64::new(COMMON) }
    }
}

impl Default for Counts {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Memory> Counts<M> {
    /// [`new`](Counts::new) on any machine.
    #[must_use]
    pub fn new_in() -> Self {
        Self { strong: TicketRef::private_in(), weak: Atomic::new(COMMON) }
    }

    /// The counts of a value that does not exist yet: upgrades fail until [`born`](Self::born).
    #[must_use]
    pub fn unborn_in() -> Self {
        Self { strong: TicketRef::dead_in(), weak: Atomic::new(COMMON | PUBLISHED) }
    }

    /// Makes the caller the owner of the first `Arc` to a value that exists now. Once, after
    /// [`unborn_in`](Self::unborn_in). Release: an [`upgrade`](Self::upgrade) that succeeds sees the value.
    pub fn born(&self) {
        self.strong.init();
    }

    /// Another `Arc`, from one that the caller owns. One add.
    #[inline(always)]
    #[track_caller]
    pub fn clone_strong(&self) {
        self.strong.get_held();
    }

    /// An `Arc` from a `Weak` that the caller owns, if the value lives. One add. The `Weak` comes from a
    /// [`downgrade`](Self::downgrade), or is older than the value.
    #[inline(always)]
    #[track_caller]
    pub fn upgrade(&self) -> GetResult {
        // Acquire: pairs with the Release in `born`; the `Weak` may be older than the value.
        self.strong.get_acquire()
    }

    /// Gives an `Arc` up. One subtraction, unless it was the last.
    ///
    /// [`PutResult::Last`]: the caller drops the value, then calls [`drop_common`](Self::drop_common).
    #[inline(always)]
    #[track_caller]
    pub fn drop_strong(&self) -> PutResult {
        self.strong.put()
    }

    /// Another `Weak`, from one that the caller owns. One add.
    #[inline(always)]
    pub fn clone_weak(&self) {
        // Relaxed: the caller's Weak orders everything. The count is not locked, since a Weak exists.
        self.weak.fetch_add(WEAK, Ordering::Relaxed);
    }

    /// Gives a `Weak` up. One subtraction. `true`: the caller frees the allocation.
    #[must_use = "true means that the allocation is the caller's to free"]
    #[inline(always)]
    pub fn drop_weak(&self) -> bool {
        // Release: pairs with the Acquire in `only_common` and below: the free comes after every Weak's last access.
        let left = self.weak.fetch_sub(WEAK, Ordering::Release).wrapping_sub(WEAK);
        if left as i64 >= 0 {
            return false;
        }
        // Acquire: pairs with the Release above. A load, since ThreadSanitizer does not model fences.
        self.weak.load(Ordering::Acquire);
        true
    }

    /// Gives up the weak reference that the `Arc`s owned together, after the value is gone. One load, and one
    /// subtraction more if there is a `Weak`. `true`: the caller frees the allocation.
    #[must_use = "true means that the allocation is the caller's to free"]
    #[inline(always)]
    pub fn drop_common(&self) -> bool {
        // Without an Arc, Weaks come from Weaks alone: none now is none ever.
        self.only_common() || self.drop_weak()
    }

    /// Whether there is one `Arc`, which the caller holds exclusively, and no `Weak`.
    #[must_use]
    pub fn is_unique(&self) -> bool {
        if self.is_unshared() {
            return true;
        }
        // Relaxed: "no" is always right. Spares the lock if another Arc is seen.
        if self.strong.read_with(Ordering::Relaxed) != 1 || !self.try_lock() {
            return false;
        }
        // Acquire: pairs with the Release of every put: the caller may write where others read before. Candidates that
        // have not left touch only the count, never the value.
        let unique = self.strong.read_with(Ordering::Acquire) == 1;
        // A subtraction and not a store: waiting downgrades have added themselves already. Relaxed: see the module.
        self.weak.fetch_sub(LOCKED, Ordering::Relaxed);
        unique
    }

    /// Whether there is one `Arc`, which the caller holds exclusively, and never was a `Weak`. One load.
    #[must_use]
    #[inline]
    pub fn is_unshared(&self) -> bool {
        self.strong.is_private_one()
    }

    /// Whether no `Weak` exists, if no `Arc` can make one: all are gone, or the caller made the only one dead.
    #[must_use]
    #[inline(always)]
    pub(crate) fn only_common(&self) -> bool {
        // Acquire: pairs with the Release in `drop_weak`.
        self.weak.load(Ordering::Acquire) <= COMMON | PUBLISHED
    }

    fn try_lock(&self) -> bool {
        // Relaxed: compared below.
        let found = self.weak.load(Ordering::Relaxed);
        if found > COMMON | PUBLISHED {
            return false;
        }
        // Acquire: pairs with the Release in `drop_weak`: an upgrade through a Weak that is gone shows in the strong
        // count, which is read next. Relaxed on failure: nothing is done. It fails if another Arc was downgraded.
        self.weak
            .compare_exchange(found, found | LOCKED, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// The number of `Arc`s at some moment of the call.
    #[must_use]
    pub fn strong_count(&self) -> usize {
        self.strong.read() as usize
    }

    /// The number of `Weak`s at some moment of the call, for the owner of an `Arc`.
    #[must_use]
    pub fn weak_count(&self) -> usize {
        // Acquire: comes before the look at `strong` in `Weak::weak_count`.
        let weak = (self.weak.load(Ordering::Acquire) & !LOCKED) / WEAK;
        usize::try_from(weak).unwrap_or(usize::MAX)
    }

    /// Whether every upgrade from now on fails. Writes nothing. Stronger than a strong count of zero, which a pending
    /// upgrade may still raise.
    #[must_use]
    #[inline]
    pub fn is_dead(&self) -> bool {
        self.strong.is_dead()
    }
}

/// What may wait for another thread.
impl<M: Threads> Counts<M> {
    /// A `Weak` from an `Arc` that the caller owns. One add. The first one ever also marks `strong`, and the first after
    /// it that finds no other `Weak` notes that.
    #[inline(always)]
    pub fn downgrade(&self) {
        // Relaxed: see the module.
        let old = self.weak.fetch_add(WEAK, Ordering::Relaxed);
        // Locked, or neither published nor beside another Weak.
        if old as i64 <= COMMON as i64 {
            self.downgrade_slow(old);
        }
    }

    /// A downgrade that finds another Weak need not wait for its maker to publish: the maker owns an Arc until it has,
    /// so `strong` is published before it can cross to zero.
    #[cold]
    #[inline(never)]
    fn downgrade_slow(&self, old: u64) {
        if old >= LOCKED {
            let mut patience = Patience::new();
            // Relaxed: see the module.
            while self.weak.load(Ordering::Relaxed) & LOCKED != 0 {
                patience.wait::<M>();
            }
        }
        if old & !LOCKED == COMMON && self.strong.publish() {
            // Relaxed: see the module.
            self.weak.fetch_or(PUBLISHED, Ordering::Relaxed);
        }
    }

    /// Makes the caller's `Arc` dead if it is the only one, so that upgrades fail, and leaves the value to the caller,
    /// who holds that `Arc` exclusively and then calls [`drop_common`](Self::drop_common) or [`born`](Self::born). If
    /// an upgrade overtook a drop on another thread, this waits for that drop's last step: it spins a little, then
    /// [yields](Threads::yield_now).
    #[must_use = "true means that the value is the caller's"]
    pub fn try_take(&self) -> bool {
        let mut patience = Patience::new();
        loop {
            if self.strong.try_last_private() || self.strong.try_last() {
                return true;
            }
            // Relaxed: decides only whether to try again.
            if self.strong.read_with(Ordering::Relaxed) != 1 {
                return false;
            }
            patience.wait::<M>();
        }
    }
}

impl<M: Memory> fmt::Debug for Counts<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counts")
            .field("strong", &self.strong_count())
            .field("weak", &self.weak_count())
            .finish()
    }
}
