//! [`Threads`]: a machine that tells its threads apart.

use super::Memory;
use alloc::sync::Weak;
use core::cell::Cell;

/// A machine whose threads have numbers, for objects with a part for each thread, such as
/// [`Magazines`](crate::pool::list::Magazines). Without the feature `std`, no thread of [`Native`](super::Native) has a
/// number.
///
/// # Safety
///
/// No two threads have one number at a time, and a [lost](Self::is_lost) thread does nothing any more: what a thread
/// keeps under its number is its own.
///
/// ```compile_fail,E0200
/// enum Mine {}
/// impl tenure::memory::Threads for Mine {} // error: requires an `unsafe impl` declaration
/// ```
pub unsafe trait Threads: Memory {
    /// The number of the calling thread.
    ///
    /// Small, less than 2^31: a number of an ended thread goes to another one, which sees all that the last owner did.
    /// `None` in a thread whose thread-locals are being destroyed, in the allocator while the thread gets its number, and if
    /// no thread of this machine runs. A thread that got a number and then `None` has given the number up, and still runs
    /// code.
    fn thread() -> Option<usize>;

    /// Whether a fork left the thread of that number behind, in the middle of anything.
    fn is_lost(thread: usize) -> bool;

    /// A number for a thread whose thread-locals are being destroyed, until it is [returned](Self::return_number).
    /// [`thread`](Self::thread) does not return it. `None` if there is none to be had.
    #[must_use]
    fn borrow_number() -> Option<usize> {
        None
    }

    /// How often the process forked before it came to be, as far as this machine counts: another number in the child
    /// than in its parent.
    #[must_use]
    fn forks() -> u32 {
        0
    }

    /// # Safety
    ///
    /// The calling thread [borrowed](Self::borrow_number) it, and no longer uses what it has by it.
    unsafe fn return_number(thread: usize) {
        unreachable!("number {thread} was not borrowed: there is none to be had");
    }

    /// Calls `access` with a word that belongs to the number: null when a thread gets one, and again when it has given
    /// it up, otherwise what that thread put there last. `None`, without a call, on machines that have none.
    #[inline(always)]
    fn numbered_word<R>(access: impl FnOnce(&Cell<*const ()>) -> R) -> Option<R> {
        let _ = access;
        None
    }

    /// Lets other threads run, in a loop that waits for one of them.
    fn yield_now();

    /// Calls [`Resident::leave`] when the calling thread ends, if the resident still exists. Once for a thread and
    /// resident is enough.
    fn at_exit(resident: Weak<dyn Resident>);
}

/// Something with a part for each thread. If [`leave`](Self::leave) does nothing, the next thread of that number finds
/// what this one kept.
pub trait Resident: Send + Sync {
    /// The calling thread, whose number is `thread`, ends.
    ///
    /// # Safety
    ///
    /// The calling thread has that number, or had it last, and no longer uses the resident as its owner.
    unsafe fn leave(&self, thread: usize);
}
