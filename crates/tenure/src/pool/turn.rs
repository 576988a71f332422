//! [`Turn`]: one thread at a time does what must not overlap, and a fork leaves no turn taken.
//!
//! A lock without a queue, for work that is short and rare: moving idle slots between places, freeing memory at a
//! limit. Whoever waits lets other threads run. The word names its holder, so that the child of a fork takes over
//! the turn of a thread that it does not have. What that thread had in hand is lost to the child.

use crate::memory::{Atomic, Memory, Ordering, Threads};
use core::marker::PhantomData;

/// No thread has the turn.
const NOBODY: u32 = 0;
/// The holder has no number, and there is none to be had: it is never taken for lost.
const UNNUMBERED: u32 = u32::MAX;

pub(crate) struct Turn<M: Memory>(M::AtomicU32);

/// What the calling thread takes turns as: its number, or one that it has borrowed.
pub(crate) struct Name<M: Threads> {
    number: Option<usize>,
    borrowed: bool,
    machine: PhantomData<M>,
}

/// The turn, which ends with this.
pub(crate) struct Held<'a, M: Threads> {
    turn: &'a Turn<M>,
    _name: Name<M>,
}

impl<M: Threads> Name<M> {
    pub(crate) fn new() -> Self {
        match M::thread() {
            Some(number) => Self::known(number),
            None => Self { number: M::borrow_number(), borrowed: true, machine: PhantomData },
        }
    }

    /// That of a thread which has this number, or had it last.
    pub(crate) fn known(number: usize) -> Self {
        Self { number: Some(number), borrowed: false, machine: PhantomData }
    }

    fn word(&self) -> u32 {
        self.number.map_or(UNNUMBERED, |number| number as u32 + 1)
    }
}

impl<M: Threads> Drop for Name<M> {
    fn drop(&mut self) {
        if let Some(number) = self.number.filter(|_| self.borrowed) {
            // SAFETY: borrowed in `new`. Turns that were taken by it have been given back.
            unsafe { M::return_number(number) };
        }
    }
}

/// Whether the holder of that name is a thread that a fork has left behind.
fn is_lost<M: Threads>(holder: u32) -> bool {
    holder != NOBODY && holder != UNNUMBERED && M::is_lost(holder as usize - 1)
}

impl<M: Threads> Turn<M> {
    pub(crate) fn new() -> Self {
        Self(Atomic::new(NOBODY))
    }

    /// Waits until it is the calling thread's turn.
    pub(crate) fn wait(&self) -> Held<'_, M> {
        let name = Name::new();
        self.take(&name);
        Held { turn: self, _name: name }
    }

    /// As [`wait`](Self::wait), until [`give`](Self::give). `name` is the caller's, and outlives that.
    pub(crate) fn take(&self, name: &Name<M>) {
        let mut from = NOBODY;
        // Acquire: pairs with the Release in `give`.
        while let Err(by) =
            self.0.compare_exchange(from, name.word(), Ordering::Acquire, Ordering::Relaxed)
        {
            from = NOBODY;
            if is_lost::<M>(by) {
                from = by;
            } else if by != NOBODY {
                M::yield_now();
            }
        }
    }

    /// Ends the turn that the caller has [taken](Self::take).
    pub(crate) fn give(&self) {
        // Release: pairs with the Acquire in `take`.
        self.0.store(NOBODY, Ordering::Release);
    }
}

impl<M: Threads> Drop for Held<'_, M> {
    fn drop(&mut self) {
        self.turn.give();
    }
}
