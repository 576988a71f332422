//! [`Counts`]: the two counts in front of every `Arc`'s value, and the protocol between them.
//!
//! ```text
//!  offset 0          8          16
//!  ├── strong ───────┼── weak ──┼── value ...
//!      TicketRef         u64
//! ```
//!
//! - `strong` counts the `Arc`s. Its verdict destroys the **value**.
//! - `weak` counts the `Weak`s, and one more that all `Arc`s own together. Whoever takes it to zero
//!   frees the **allocation**.
//!
//! `upgrade` is a get on `strong`: one add. `downgrade` and both clones are one add each. The last
//! drop of an `Arc` settles the strong verdict, drops the value and gives up the common weak
//! reference. Until the first `Weak` is made, `strong` is private: the last drop is one
//! subtraction. The first downgrade publishes it. Where no `Weak` is left at the end, a load sees
//! that, and the common reference needs no operation of its own.
//!
//! # The lock in the weak count
//!
//! `get_mut` must know that there is one `Arc` and no `Weak`, in two words that cannot be read at
//! once: between two loads a `Weak` could be upgraded and dropped. So, as in std, it locks the weak
//! count, whose sign bit is the lock: it is taken only from the value "no `Weak`", and while it is
//! set no downgrade returns. A downgrade adds first, finds the word negative, and waits for the few
//! instructions that the lock is held. Its caller owns an `Arc` meanwhile, so the holder of the
//! lock finds `strong` above one and does not take itself for the only owner. std's downgrade waits
//! in the same place, and is a compare-exchange loop besides.
//!
//! Neither the unlock nor a downgrade needs more than Relaxed in this word. Suppose that the holder
//! of the lock misses the downgrade's `Arc`: its look at `strong` reads one. What it read is not older
//! than that `Arc`, which is a clone of one that the holder knows of, or came from a `Weak` whose end
//! `try_lock` acquired. So it is the `Arc`'s own put, or an operation behind it. The put is Release and the
//! look Acquire: all that the downgrade did comes before the unlock. But the downgrade returned after it
//! had found the weak count unlocked, as the unlock or an operation behind it left it; and nothing reads
//! from its own future.
//!
//! # Widths
//!
//! `weak` has 63 bits: at one clone per nanosecond it overflows after 292 years, so nothing tests
//! for it. `strong` has 31 and saturates: see [`TicketRef`].

use crate::count::{Get, Put, TicketRef, Unsettled};
use crate::memory::{Atomic, Memory, Native, Ordering, Patience, Threads};
use core::fmt;
use core::num::NonZeroU16;

/// The common weak reference of all `Arc`s.
const COMMON: u64 = 1;
const LOCKED: u64 = 1 << 63;

/// The strong and weak count of an `Arc`, for pointers of one's own making and for models.
///
/// The value and the allocation stay the caller's business: each method that ends the life of one
/// says so in its return value, to exactly one caller.
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
    strong: TicketRef<M>,
    weak: Weaks<M>,
}

impl Counts {
    /// The counts of a new `Arc`.
    ///
    /// Until the first [`downgrade`](Self::downgrade) the last drop leaves no mark, so an
    /// [`upgrade`](Self::upgrade) through anything but a `Weak` that was made by one is not
    /// allowed.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            strong: TicketRef::private(),
            weak: Weaks(<Native as Memory>::AtomicU64::new(COMMON)),
        }
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
        Self { strong: TicketRef::private_in(), weak: Weaks(Atomic::new(COMMON)) }
    }

    /// The counts of a value that does not exist yet: upgrades fail until [`born`](Self::born).
    #[must_use]
    pub fn unborn_in() -> Self {
        Self { strong: TicketRef::dead_in(), weak: Weaks(Atomic::new(COMMON)) }
    }

    /// The value exists, and its maker owns the first `Arc`. Call it once, after
    /// [`unborn_in`](Self::unborn_in).
    ///
    /// Release: an [`upgrade`](Self::upgrade) that succeeds sees the value.
    pub fn born(&self) {
        self.strong.init();
    }

    /// Another `Arc`, from one that the caller owns. One add.
    #[inline(always)]
    #[track_caller]
    pub fn clone_strong(&self) {
        self.strong.get_held();
    }

    /// An `Arc` from a `Weak` that the caller owns, if the value lives. One add.
    ///
    /// The `Weak` goes back to a [`downgrade`](Self::downgrade) or is older than the value.
    #[inline(always)]
    #[track_caller]
    pub fn upgrade(&self) -> Get {
        // Acquire, for the `Weak` may be older than the value: pairs with the Release in `born`.
        self.strong.get_acquire()
    }

    /// Gives an `Arc` up. One subtraction, unless it was the last.
    ///
    /// [`Put::Last`]: the caller drops the value, then calls [`drop_common`](Self::drop_common).
    #[inline(always)]
    #[track_caller]
    pub fn drop_strong(&self) -> Put {
        self.strong.put()
    }

    /// [`drop_strong`](Self::drop_strong) in two halves: the one subtraction, and what follows, out
    /// of line, if it may have been the last.
    #[inline(always)]
    pub(crate) fn drop_strong_begin(&self) -> Option<Unsettled> {
        self.strong.put_begin(NonZeroU16::MIN)
    }

    /// The second half of [`drop_strong_begin`](Self::drop_strong_begin).
    #[inline]
    pub(crate) fn drop_strong_end(&self, unsettled: Unsettled) -> Put {
        self.strong.put_end(unsettled)
    }

    /// Another `Weak`, from one that the caller owns. One add.
    #[inline(always)]
    pub fn clone_weak(&self) {
        // Relaxed: the caller's Weak orders everything. Never locked: the lock is taken only where
        // no Weak exists.
        self.weak.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Gives a `Weak` up. One subtraction.
    ///
    /// `true`: the caller frees the allocation.
    #[must_use = "true means that the allocation is the caller's to free"]
    #[inline(always)]
    pub fn drop_weak(&self) -> bool {
        // Release: pairs with the Acquire in `only_common` and below, so that the memory is freed
        // after the last access of every Weak.
        if self.weak.0.fetch_sub(1, Ordering::Release) != 1 {
            return false;
        }
        // Acquire: pairs with the Release above. A load, for ThreadSanitizer; the word is ours
        // alone.
        self.weak.0.load(Ordering::Acquire);
        true
    }

    /// Gives up the weak reference that the `Arc`s owned together, after the value is gone.
    ///
    /// One load where no `Weak` exists, one subtraction more where one does.
    ///
    /// `true`: the caller frees the allocation.
    #[must_use = "true means that the allocation is the caller's to free"]
    #[inline(always)]
    pub fn drop_common(&self) -> bool {
        // No Arc exists, so Weaks come from Weaks alone: none now is none ever.
        self.weak.only_common() || self.drop_weak()
    }

    /// Whether there is one `Arc`, the caller's, and no `Weak`. The caller must hold that `Arc`
    /// exclusively.
    #[must_use]
    pub fn is_unique(&self) -> bool {
        if self.is_unshared() {
            return true;
        }
        // Relaxed: to say no is always right. Spares the lock where another Arc is to be seen.
        if self.strong.read_with(Ordering::Relaxed) != 1 || !self.weak.try_lock() {
            return false;
        }
        // Acquire: pairs with the Release of every put, so that the caller may write where others
        // read before. Candidates that have not left touch only the count, never the value.
        let unique = self.strong.read_with(Ordering::Acquire) == 1;
        self.weak.unlock();
        unique
    }

    /// Whether there is one `Arc`, the caller's, and never was a `Weak`. One load.
    ///
    /// The caller must hold that `Arc` exclusively: nobody clones or downgrades it meanwhile.
    #[must_use]
    #[inline]
    pub fn is_unshared(&self) -> bool {
        self.strong.is_private_one()
    }

    /// Whether no `Weak` exists. Meaningful to the owner of the only `Arc`, after it made it dead.
    #[must_use]
    pub(crate) fn no_weak(&self) -> bool {
        self.weak.only_common()
    }

    /// The number of `Arc`s at some moment of the call.
    #[must_use]
    pub fn strong_count(&self) -> usize {
        self.strong.read() as usize
    }

    /// The number of `Weak`s at some moment of the call, for the owner of an `Arc`.
    #[must_use]
    pub fn weak_count(&self) -> usize {
        // Acquire: comes before the look at `strong` in `Weak::weak_count`. A snapshot otherwise.
        let weak = self.weak.0.load(Ordering::Acquire) & !LOCKED;
        usize::try_from(weak.saturating_sub(COMMON)).unwrap_or(usize::MAX)
    }

    /// Whether every upgrade from now on fails. Writes nothing.
    ///
    /// Stronger than a strong count of zero, which a pending upgrade may still raise.
    #[must_use]
    #[inline]
    pub fn is_dead(&self) -> bool {
        self.strong.is_dead()
    }
}

/// What may have to wait for another thread.
impl<M: Threads> Counts<M> {
    /// A `Weak` from an `Arc` that the caller owns. One add.
    ///
    /// Where no other `Weak` exists a load more; the first one ever also marks `strong`.
    #[inline(always)]
    pub fn downgrade(&self) {
        // Relaxed, as are `unlock` and `wait_for_unlock`: see the module's text.
        let old = self.weak.0.fetch_add(1, Ordering::Relaxed);
        // Neither the first Weak nor locked, in one comparison.
        if old.wrapping_sub(COMMON + 1) >= LOCKED - (COMMON + 1) {
            self.downgrade_slow(old);
        }
    }

    /// The first of the Weaks that exist, or one that meets the lock.
    ///
    /// Whoever finds another Weak does not wait for its maker to publish: that one owns an Arc
    /// until it has, so `strong` is published before it can cross to zero.
    #[cold]
    #[inline(never)]
    fn downgrade_slow(&self, old: u64) {
        if old >= LOCKED {
            self.weak.wait_for_unlock();
        }
        if old & !LOCKED == COMMON {
            self.strong.publish();
        }
    }

    /// If the caller's `Arc` is the only one: makes it dead, so that upgrades fail, and leaves the
    /// value to the caller, who then calls [`drop_common`](Self::drop_common) or
    /// [`born`](Self::born).
    ///
    /// The caller must hold that `Arc` exclusively: nobody clones or downgrades it meanwhile.
    /// Waits for a drop on another thread that an upgrade overtook to take its last step: spins a
    /// little, then [yields](Threads::yield_now).
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

/// The weak count.
#[repr(transparent)]
struct Weaks<M: Memory>(M::AtomicU64);

impl<M: Memory> Weaks<M> {
    #[inline(always)]
    fn only_common(&self) -> bool {
        // Acquire: pairs with the Release in `drop_weak`.
        self.0.load(Ordering::Acquire) == COMMON
    }

    fn try_lock(&self) -> bool {
        // Acquire: pairs with the Release in `drop_weak`: an upgrade through a Weak that is gone
        // now shows in the strong count that is read next. Relaxed on failure: nothing is done.
        self.0
            .compare_exchange(COMMON, COMMON | LOCKED, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    fn unlock(&self) {
        // A subtraction and not a store: downgrades that wait have added themselves already.
        // Relaxed: see the module's text.
        self.0.fetch_sub(LOCKED, Ordering::Relaxed);
    }
}

impl<M: Threads> Weaks<M> {
    #[cold]
    fn wait_for_unlock(&self) {
        let mut patience = Patience::new();
        // Relaxed: see the module's text.
        while self.0.load(Ordering::Relaxed) & LOCKED != 0 {
            patience.wait::<M>();
        }
    }
}
