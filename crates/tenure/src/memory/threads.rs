//! [`Threads`]: a machine that tells its threads apart.

use super::Memory;
use alloc::sync::Weak;

/// A machine whose threads have numbers.
///
/// For objects that keep a part of themselves for each thread, as [`Magazines`](crate::pool::Magazines) do.
/// Without the feature `std`, [`Native`](super::Native) cannot tell its threads apart: none has a number.
///
/// # Safety
///
/// What a thread keeps under its number is its own while it is told that number: no two threads have one number at a time,
/// and a thread that [is lost](Self::is_lost) does nothing any more.
///
/// ```compile_fail,E0200
/// enum Mine {}
/// impl tenure::memory::Threads for Mine {} // error: requires an `unsafe impl` declaration
/// ```
pub unsafe trait Threads: Memory {
    /// The number of the calling thread, which no other thread has as long as this one is told it.
    ///
    /// Numbers are small, less than 2^31: those of ended threads are given out again. `None` in a thread whose thread-locals
    /// are being destroyed, and where no thread of this machine runs. A thread that was told a number and then `None` has
    /// given the number up, and still runs code. Who is given the number sees all that it did before that.
    fn thread() -> Option<usize>;

    /// Whether the thread of that number is gone without having ended: it belonged to the parent of this forked
    /// process. It may have been in the middle of anything.
    fn is_lost(thread: usize) -> bool;

    /// A number for a thread that has none, which no other thread has until it is [returned](Self::return_number).
    ///
    /// For a thread whose thread-locals are being destroyed. [`thread`](Self::thread) does not tell it. `None` where no
    /// number can be had.
    #[must_use]
    fn borrow_number() -> Option<usize> {
        None
    }

    /// Returns a number.
    ///
    /// # Safety
    ///
    /// The calling thread has [borrowed](Self::borrow_number) it, and uses nothing any more that it has by it.
    unsafe fn return_number(thread: usize) {
        unreachable!("number {thread} was not borrowed: there is none to be had");
    }

    /// Lets other threads run. Called in a loop that waits for one of them.
    fn yield_now();

    /// Calls [`Resident::leave`] when the calling thread ends, if the resident still exists then.
    ///
    /// Calling it once for each thread and resident is enough.
    fn at_exit(resident: Weak<dyn Resident>);
}

/// Something that keeps a part of itself for each thread.
///
/// Safe to implement: one whose [`leave`](Self::leave) does nothing leaves what the thread kept to the next one of its number.
pub trait Resident: Send + Sync {
    /// The calling thread, whose number is `thread`, ends.
    ///
    /// # Safety
    ///
    /// The calling thread has that number, or had it last, and does not use the resident any more as its owner.
    unsafe fn leave(&self, thread: usize);
}
