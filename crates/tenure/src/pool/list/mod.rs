//! Free lists: which slots of a pool nobody uses.
//!
//! | list | acquire and release | shared lines written | take it |
//! |---|---|---|---|
//! | [`Magazines`] | O(1): on lines of the calling thread | none; two for every 32 operations that the depot evens out; one for each idle slot that is used the first time after a trim or a refusal | unless there is a reason not to |
//! | [`TaggedStack`] | O(1): two compare-exchanges on one word | one, by everybody | without `std`; or if no thread is to keep idle slots to itself |
//! | [`Scan`] | O(slots in use): walks all slots under a read lock | the lock's, one per slot tried | to compare with; it may miss a slot that becomes free behind it |
//!
//! Users of pools need no more of this module than the names, for `builder().list::<TaggedStack>()`. To write a
//! list or a pool of your own see [`FreeList`]. It knows slots by number; what a slot holds, and when that goes, is
//! the affair of the pool.

mod magazines;
mod scan;
mod stack;
mod tagged;

pub use magazines::Magazines;
pub use scan::Scan;
pub(crate) use stack::{Linked, Stack};
pub use tagged::TaggedStack;

use crate::memory::{Resident, Threads};
use alloc::sync::Weak;
use core::ptr::NonNull;

/// The list that pools use unless told otherwise: [`Magazines`], or [`TaggedStack`] without the feature `std`,
/// for want of thread-locals.
#[cfg(feature = "std")]
pub type DefaultList = Magazines;
/// The list that pools use unless told otherwise: [`Magazines`] with the feature `std`, and [`TaggedStack`]
/// without, for want of thread-locals.
#[cfg(not(feature = "std"))]
pub type DefaultList = TaggedStack;

/// The list is closed and keeps no slots any more: the slot is the caller's.
#[must_use = "the slot is still the caller's"]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closed;

/// The free slots of a pool.
///
/// Slots are numbers below 2^28 - 8. A slot comes from the pool ([`admit`](Self::admit)), is released
/// into the list, and acquired from it by one owner at a time. Who acquires a slot sees all that its last
/// owner did before it was released.
///
/// # Safety
///
/// Pools rely on it that a slot has one owner, and that owners see what the last one did: an implementation hands out
/// (by [`acquire`](Self::acquire) or to `home`) no slot that was not released, and none twice.
/// [`release_raw`](Self::release_raw) touches nothing of the list once the slot, and all that it took in hand beside
/// it, is free or home: see there.
///
/// # Slots that come home
///
/// After [`close`](Self::close) the list keeps nothing. Slots that it would have kept are handed to the
/// `home` function of whoever notices, and are the pool's: each exactly once.
///
/// ```compile_fail,E0200
/// struct Mine;
/// impl tenure::pool::FreeList for Mine {} // error: requires an `unsafe impl` declaration
/// ```
pub unsafe trait FreeList: Send + Sync + Sized + 'static {
    /// The machine that the list runs on.
    type Memory: Threads;
    /// The name of the list, for tables and reports.
    const NAME: &'static str;

    /// A list without slots. If it lets threads keep free slots to themselves, then up to `hoard` each. When such
    /// a thread ends, `owner` is told to `leave`, and has to call [`leave`](Self::leave) of this
    /// list in turn.
    fn new_in(hoard: usize, owner: Weak<dyn Resident>) -> Self;

    /// Makes room for `slot`, which the caller owns from now on.
    fn admit(&self, slot: u32);

    /// Takes a free slot; `None` if there is none to be had, or if the list is closed.
    fn acquire(&self, home: impl FnMut(u32)) -> Option<u32>;

    /// Gives a slot back.
    ///
    /// # Safety
    ///
    /// The caller owns `slot`: it has acquired it from this list, or admitted it, and not released it since.
    #[inline]
    unsafe fn release(&self, slot: u32, home: impl FnMut(u32)) {
        // SAFETY: the caller's.
        unsafe { Self::release_raw(NonNull::from(self), slot, home) };
    }

    /// Gives a slot back to a list that may be gone before the call returns: another thread may close it and free
    /// it as soon as the slot is free. A reference to the list would have to be good until the end of the call.
    ///
    /// # Safety
    ///
    /// As [`release`](Self::release), and the list exists as long as a slot of it is in somebody's hands.
    unsafe fn release_raw(this: NonNull<Self>, slot: u32, home: impl FnMut(u32));

    /// Calls `look` while every free slot of `lists` is where [`acquire`](Self::acquire) finds it, whichever thread
    /// kept it: what `look` cannot acquire has an owner, or is being acquired or released by one at that moment.
    ///
    /// Waits for threads that are moving free slots, and for others that gather from the same lists. `lists` are the
    /// same in every iteration, and all who gather from several have them in the same order. `look` must not gather
    /// from them.
    ///
    /// For lists whose free slots are always to be had there is nothing to do, which is what this does by default.
    fn gather<'a, R>(lists: impl Iterator<Item = &'a Self> + Clone, look: impl FnOnce() -> R) -> R {
        let _ = lists;
        look()
    }

    /// `None` if a slot is free. Otherwise a number which is another one once a slot was acquired. So where several
    /// lists tell the same numbers twice, there was a moment between at which none of them had a free slot.
    ///
    /// To be asked while the list is [gathered](Self::gather): a slot that some thread keeps is not seen otherwise.
    fn emptiness(&self) -> Option<u64>;

    /// Takes all free slots for good. When this returns nothing is acquired any more, and what is released comes home.
    ///
    /// Slots that threads release at the same time come home with them. May be called again, also at the same time,
    /// and has to be in the child of a fork that came in the middle.
    fn close(&self, home: impl FnMut(u32));

    /// The calling thread, with that number among the `Threads` of the machine,
    /// ends: what it kept to itself is for all again.
    ///
    /// # Safety
    ///
    /// As `Resident::leave`.
    unsafe fn leave(&self, thread: usize) {
        let _ = thread;
    }
}
