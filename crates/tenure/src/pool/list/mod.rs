//! Free lists: which slots of a pool are idle.
//!
//! [`Magazines`], which pools have; [`TaggedStack`], their depot and a baseline; and the baseline [`Scan`].

mod magazines;
mod scan;
mod stack;

pub use magazines::Magazines;
pub use scan::Scan;
pub use stack::TaggedStack;
pub(crate) use stack::{Linked, Stack};

use crate::memory::{Resident, Threads};
use alloc::sync::Weak;
use core::ptr::NonNull;

/// The list is closed and keeps no slots: the slot is still the caller's.
#[must_use = "the slot is still the caller's"]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed;

/// The idle slots of a pool.
///
/// Slots are numbers below 2^28 - 8. The pool [admits](Self::admit) a slot, as its first owner. Owners release it; each
/// acquire gives it to one new owner, who sees all that the last one did.
///
/// # Safety
///
/// [`acquire`](Self::acquire) and [`close`](Self::close) hand out only slots that were released, each once.
/// [`release_raw`](Self::release_raw) does not touch the list once the slot, and any other that it had in hand, can be
/// acquired.
///
/// ```compile_fail,E0200
/// struct Mine;
/// impl tenure::pool::list::List for Mine {} // error: requires an `unsafe impl` declaration
/// ```
pub unsafe trait List: Send + Sync + Sized + 'static {
    /// The machine that the list runs on.
    type Memory: Threads;
    /// The name in tables and reports.
    const NAME: &'static str;

    /// A list without slots. Threads keep up to `magazine` idle slots each, if it lets them. When such a thread ends,
    /// `owner`'s [`leave`](Resident::leave) has to call [`leave`](Self::leave).
    fn new_in(magazine: usize, owner: Weak<dyn Resident>) -> Self;

    /// Makes room for `slot`, which the caller owns from now on.
    fn admit(&self, slot: u32);

    /// Takes an idle slot; `None` if this thread can find none, or the list is closed.
    fn acquire(&self) -> Option<u32>;

    /// Gives a slot back.
    ///
    /// # Errors
    ///
    /// [`Closed`]: the slot is still the caller's.
    ///
    /// # Safety
    ///
    /// The caller owns `slot`: it acquired or admitted it, and has not released it since.
    #[inline(always)]
    unsafe fn release(&self, slot: u32) -> Result<(), Closed> {
        // SAFETY: passed on to the caller.
        unsafe { Self::release_raw(NonNull::from(self), slot) }
    }

    /// As [`release`](Self::release), for a list that another thread may free as soon as the slot is idle: a reference
    /// would have to stay valid until the call returns.
    ///
    /// # Safety
    ///
    /// As [`release`](Self::release). The list exists as long as a slot of it has an owner.
    unsafe fn release_raw(this: NonNull<Self>, slot: u32) -> Result<(), Closed>;

    /// Calls `look` while [`acquire`](Self::acquire) finds every idle slot of `lists`, whichever thread kept it. A slot
    /// that `look` cannot acquire has an owner, or is being acquired or released by one.
    ///
    /// Waits for threads that are moving idle slots, and for others that gather. `lists` yields the same lists each
    /// time, and all callers name them in the same order. `look` must not gather from them.
    ///
    /// By default only calls `look`: the list hides no slot.
    fn gather<'a, R>(lists: impl Iterator<Item = &'a Self> + Clone, look: impl FnOnce() -> R) -> R {
        let _ = lists;
        look()
    }

    /// `None` if a slot is idle. Otherwise a number that changes with each acquire: if several lists, all
    /// [gathered](Self::gather), return the same numbers twice, all were empty at one moment between.
    fn emptiness(&self) -> Option<u64>;

    /// Takes all idle slots, and calls `home` with each. Afterwards no slot can be acquired and releases are refused,
    /// until [`reopen`](Self::reopen). May be called again, also at the same time; the child of a fork that interrupted it has to.
    fn close(&self, home: impl FnMut(u32));

    /// Undoes [`close`](Self::close). Not while another thread closes or reopens the list.
    fn reopen(&self);

    /// The calling thread, number `thread` of [`Threads`], ends: other threads may take what it kept.
    ///
    /// # Safety
    ///
    /// As [`Resident::leave`].
    unsafe fn leave(&self, thread: usize) {
        let _ = thread;
    }
}
