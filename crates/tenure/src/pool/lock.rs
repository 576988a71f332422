//! [`Lock`]: one thread at a time, also after a fork.
//!
//! A lock without a queue, for work that is short and rare: moving idle slots, freeing memory at a limit. A thread
//! that waits lets other threads run. The word names its holder. So the child of a fork can take over a lock whose
//! holder exists only in the parent; what that thread had in hand is lost to the child.

use crate::memory::{Atomic, Memory, Ordering, Threads};
use core::marker::PhantomData;

const UNLOCKED: u32 = 0;
/// The holder has no number and could borrow none: it is never taken for lost.
const UNNUMBERED: u32 = u32::MAX;

pub(crate) struct Lock<M: Memory>(M::AtomicU32);

/// As what the calling thread holds locks: its number, or one that it has borrowed.
pub(crate) struct Holder<M: Threads> {
    number: Option<usize>,
    borrowed: bool,
    machine: PhantomData<M>,
}

/// Unlocks when dropped.
pub(crate) struct Held<'a, M: Threads> {
    lock: &'a Lock<M>,
    _holder: Holder<M>,
}

impl<M: Threads> Holder<M> {
    pub(crate) fn new() -> Self {
        match M::thread() {
            Some(number) => Self::known(number),
            None => Self { number: M::borrow_number(), borrowed: true, machine: PhantomData },
        }
    }

    /// The calling thread, which has this number or had it last.
    pub(crate) fn known(number: usize) -> Self {
        Self { number: Some(number), borrowed: false, machine: PhantomData }
    }

    fn word(&self) -> u32 {
        self.number.map_or(UNNUMBERED, |number| number as u32 + 1)
    }
}

impl<M: Threads> Drop for Holder<M> {
    fn drop(&mut self) {
        if let Some(number) = self.number.filter(|_| self.borrowed) {
            // SAFETY: borrowed in `new`. A `Held` unlocks before it drops its holder.
            unsafe { M::return_number(number) };
        }
    }
}

impl<M: Threads> Lock<M> {
    pub(crate) fn new() -> Self {
        Self(Atomic::new(UNLOCKED))
    }

    /// Waits for the lock.
    pub(crate) fn lock(&self) -> Held<'_, M> {
        let holder = Holder::new();
        self.lock_as(&holder);
        Held { lock: self, _holder: holder }
    }

    /// Waits for the lock, which the caller gives up by [`unlock`](Self::unlock), while it still has `holder`.
    pub(crate) fn lock_as(&self, holder: &Holder<M>) {
        let mut expected = UNLOCKED;
        // Acquire: pairs with the Release in `unlock`.
        while let Err(by) =
            self.0.compare_exchange(expected, holder.word(), Ordering::Acquire, Ordering::Relaxed)
        {
            let is_lost = by != UNLOCKED && by != UNNUMBERED && M::is_lost(by as usize - 1);
            expected = if is_lost { by } else { UNLOCKED };
            if !is_lost && by != UNLOCKED {
                M::yield_now();
            }
        }
    }

    /// Gives up a lock that the caller holds.
    pub(crate) fn unlock(&self) {
        // Release: pairs with the Acquire in `lock_as`.
        self.0.store(UNLOCKED, Ordering::Release);
    }
}

impl<M: Threads> Drop for Held<'_, M> {
    fn drop(&mut self) {
        self.lock.unlock();
    }
}
