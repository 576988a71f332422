//! [`Threads`]: a machine that tells its threads apart.

use super::Memory;
use alloc::sync::Weak;

/// A machine whose threads have numbers.
///
/// For objects that keep a part of themselves for each thread, as [`Magazines`](crate::pool::Magazines) do. Without the
/// feature `std`, [`Native`](super::Native) cannot tell its threads apart: none has a number.
///
/// # Safety
///
/// No two threads are told one number at a time, and a thread that [is lost](Self::is_lost) does nothing any more. So
/// what a thread keeps under its number is its own.
///
/// ```compile_fail,E0200
/// enum Mine {}
/// impl tenure::memory::Threads for Mine {} // error: requires an `unsafe impl` declaration
/// ```
pub unsafe trait Threads: Memory {
    /// The number of the calling thread.
    ///
    /// Small, less than 2^31: numbers of ended threads are given out again, to threads that see all their last owner
    /// did. `None` in a thread whose thread-locals are being destroyed, and if no thread of this machine runs. A thread
    /// that was told a number and then `None` has given the number up, and still runs code.
    fn thread() -> Option<usize>;

    /// Whether the thread of that number was left behind by a fork, in the middle of anything.
    fn is_lost(thread: usize) -> bool;

    /// A number for a thread whose thread-locals are being destroyed, until it is [returned](Self::return_number).
    ///
    /// [`thread`](Self::thread) does not tell it. `None` if there is none to be had.
    #[must_use]
    fn borrow_number() -> Option<usize> {
        None
    }

    /// Returns a number.
    ///
    /// # Safety
    ///
    /// The calling thread [borrowed](Self::borrow_number) it, and no longer uses what it has by it.
    unsafe fn return_number(thread: usize) {
        unreachable!("number {thread} was not borrowed: there is none to be had");
    }

    /// Lets other threads run, in a loop that waits for one of them.
    fn yield_now();

    /// Calls [`Resident::leave`] when the calling thread ends, if the resident still exists. Once for a thread and
    /// resident is enough.
    fn at_exit(resident: Weak<dyn Resident>);
}

/// Something that keeps a part of itself for each thread.
///
/// If [`leave`](Self::leave) does nothing, the next thread of that number finds what this one kept.
pub trait Resident: Send + Sync {
    /// The calling thread, whose number is `thread`, ends.
    ///
    /// # Safety
    ///
    /// The calling thread has that number, or had it last, and no longer uses the resident as its owner.
    unsafe fn leave(&self, thread: usize);
}
