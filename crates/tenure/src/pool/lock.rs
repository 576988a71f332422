//! [`Lock`]: one thread at a time, also after a fork.
//!
//! Without a queue, for short and rare work: moving idle slots, freeing memory at a limit. Waiting threads yield. The
//! word names the holder, so the child of a fork can take over from a lost one, and loses what that had in hand.

use crate::memory::{Atomic, Memory, Ordering, Threads};
use core::marker::PhantomData;

const UNLOCKED: u32 = 0;
/// The holder has no number and could borrow none: it is never taken for lost.
const UNNUMBERED: u32 = u32::MAX;

pub(crate) struct Lock<M: Memory>(M::AtomicU32);

/// Names the calling thread in locks: by its own number or a borrowed one.
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

    pub(crate) fn lock(&self) -> Held<'_, M> {
        let holder = Holder::new();
        self.lock_as(&holder);
        Held { lock: self, _holder: holder }
    }

    /// Waits for the lock. The caller [unlocks](Self::unlock) it while it still has `holder`.
    pub(crate) fn lock_as(&self, holder: &Holder<M>) {
        let mut expected = UNLOCKED;
        // Acquire: pairs with the Release in `unlock`.
        while let Err(by) =
            self.0.compare_exchange(expected, holder.word(), Ordering::Acquire, Ordering::Relaxed)
        {
            expected = UNLOCKED;
            match by {
                UNLOCKED => {}
                UNNUMBERED => M::yield_now(),
                by if M::is_lost(by as usize - 1) => expected = by,
                _ => M::yield_now(),
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
