//! [`Threads`]: a machine that tells its threads apart.

use super::Memory;
use alloc::sync::Weak;

/// A machine whose threads have numbers.
///
/// For objects that keep a part of themselves for each thread. [`Native`](super::Native) implements it
/// with the feature `std`.
///
/// # Safety
///
/// What a thread keeps under its number is its own: no two threads have one number at a time, and a thread that
/// [is lost](Self::is_lost) does nothing any more.
pub unsafe trait Threads: Memory {
    /// The number of the calling thread, which no other thread has until this one ends.
    ///
    /// Numbers are small: those of ended threads are given out again. Who is given a number sees all
    /// that the thread did that had it before. `None` in a thread whose thread-locals are being
    /// destroyed, and where no thread of this machine runs.
    fn thread() -> Option<usize>;

    /// Whether the thread of that number is no more, and did not end: a fork left it behind. It did not come
    /// to the end of what it was doing.
    fn is_lost(thread: usize) -> bool;

    /// Lets other threads run, for one of them is waited for.
    fn yield_now();

    /// Calls [`Resident::leave`] when the calling thread ends, if the resident still exists then.
    ///
    /// Calling it once for each thread and resident is enough.
    fn at_exit(resident: Weak<dyn Resident>);
}

/// Something that keeps a part of itself for each thread.
pub trait Resident: Send + Sync {
    /// The calling thread, whose number is `thread`, ends.
    ///
    /// # Safety
    ///
    /// The calling thread has that number, or had it last, and does not use the resident any more as its owner.
    unsafe fn leave(&self, thread: usize);
}
