//! [`Core`]: the places of a domain's seats, and what else its handles, seats and objects share.

use super::Protocol;
use crate::lazy::statistics::{Counters, Statistics};
use crate::line::Isolated;
use crate::memory::{Atomic, Memory, Ordering};
use crate::segments::{CAPACITY, Segments};

/// What a domain's handles share.
pub struct Core<T, S: Protocol<M>, M: Memory> {
    slots: Segments<Isolated<Slot<T, S, M>>, M>,
    /// Slots that have ever been taken: those with smaller numbers.
    known: M::AtomicU32,
    /// About how many of them are vacant.
    vacant: M::AtomicU32,
    /// Where to look for one first.
    cursor: M::AtomicU32,
    pub(crate) scheme: S::Domain<T>,
    pub(crate) counters: Counters<M>,
}

/// A place that seats take one after the other.
pub(crate) struct Slot<T, S: Protocol<M>, M: Memory> {
    taken: M::AtomicU32,
    pub(crate) scheme: S::Slot<T>,
}

impl<T, S: Protocol<M>, M: Memory> Slot<T, S, M> {
    /// A slot of the seat that is the first to have its number.
    fn taken() -> Self {
        Self { taken: Atomic::new(1), scheme: S::Slot::default() }
    }
}

// SAFETY: slots and the list of what ends lead from any thread to blocks, whose values are shared (`T: Sync`), and which
// whoever comes last drops (`T: Send`); who may touch them when is the schemes' subject.
unsafe impl<T: Send + Sync, S: Protocol<M>, M: Memory> Send for Core<T, S, M> {}
// SAFETY: as above; all else are atomics.
unsafe impl<T: Send + Sync, S: Protocol<M>, M: Memory> Sync for Core<T, S, M> {}

impl<T, S: Protocol<M>, M: Memory> Core<T, S, M> {
    pub(crate) fn new() -> Self {
        Self {
            slots: Segments::new(),
            known: Atomic::new(0),
            vacant: Atomic::new(0),
            cursor: Atomic::new(0),
            scheme: S::Domain::default(),
            counters: Counters::new(),
        }
    }

    /// Takes a slot, which is the caller's until [`give`](Self::give).
    pub(crate) fn take(&self) -> (u32, &Slot<T, S, M>) {
        // Relaxed, here and below: hints.
        if self.vacant.load(Ordering::Relaxed) > 0 {
            let first = self.cursor.load(Ordering::Relaxed);
            let mut slots = self.slots_in(first, u32::MAX).chain(self.slots_in(0, first));
            // Acquire: pairs with the Release in `give`: the slot as its last seat left it. The load spares the lines of
            // those that are taken.
            let vacant = slots.find(|(_, slot)| {
                let taken = &slot.taken;
                taken.load(Ordering::Relaxed) == 0
                    && taken.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
            });
            if let Some((number, slot)) = vacant {
                self.vacant.fetch_sub(1, Ordering::Relaxed);
                self.cursor.store(number + 1, Ordering::Relaxed);
                return (number, slot);
            }
        }
        // Before the addition, which so does not come to wrap around.
        assert!(
            self.known.load(Ordering::Relaxed) < CAPACITY,
            "there is room for {CAPACITY} seats"
        );
        // Relaxed: whoever has to find this slot has seen more than the number: see `slots`.
        let number = self.known.fetch_add(1, Ordering::Relaxed);
        (number, self.slots.get_or_grow(number, |_| Isolated::new(Slot::taken())))
    }

    /// Gives a slot back that the caller has taken and cleared.
    pub(crate) fn give(&self, number: u32, slot: &Slot<T, S, M>) {
        // Release: pairs with the Acquire in `take`.
        slot.taken.store(0, Ordering::Release);
        // Relaxed: hints.
        self.cursor.store(number, Ordering::Relaxed);
        self.vacant.fetch_add(1, Ordering::Relaxed);
    }

    /// What has happened so far.
    pub(crate) fn statistics(&self) -> Statistics {
        // Relaxed: a statistic.
        let is_taken = |slot: &Slot<T, S, M>| slot.taken.load(Ordering::Relaxed) != 0;
        self.counters.read(self.slots().filter(|(_, slot)| is_taken(slot)).count())
    }

    /// All slots that may have a block which the caller has.
    ///
    /// A seat is taken before it meets a block for the first time. Whoever ends the block has seen that it met it,
    /// so the slot's number and its segment as well.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (u32, &Slot<T, S, M>)> {
        self.slots_in(0, u32::MAX)
    }

    /// Those of them whose numbers are in that range.
    fn slots_in(&self, first: u32, end: u32) -> impl Iterator<Item = (u32, &Slot<T, S, M>)> {
        // Relaxed: see above.
        let known = self.known.load(Ordering::Relaxed);
        (first..end.min(known)).filter_map(|number| Some((number, &**self.slots.get(number)?)))
    }
}
