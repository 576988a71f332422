//! [`Domain`]: the workers that share objects.

use super::block::Block;
use super::protocol::Protocol;
use super::statistics::{Counters, Statistics};
use super::{Context, Scheme, Seat, Shootdown};
use crate::line::Isolated;
use crate::memory::{Atomic, Memory, Native, Ordering};
use crate::segments::{CAPACITY, Segments};
use crate::shared::Shared;
use core::fmt;

/// A set of workers that share objects of type `T`, and the objects.
///
/// Cloning gives another handle to the same domain. It lasts as long as any of its handles, [`Seat`]s and [`Context`]s.
///
/// Any number of seats may be taken, at any time; see the [module](super) for how they and objects meet. To go from
/// thread to thread it asks for `T: Send + Sync`, as do its seats and contexts: any of them may drop a value.
pub struct Domain<T, S: Scheme<M> = Shootdown, M: Memory = Native> {
    core: Shared<Core<T, S, M>, M>,
}

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

impl<T> Domain<T> {
    /// A domain without seats, of the default scheme: [`Shootdown`].
    #[must_use]
    pub fn new() -> Self {
        Self::new_in()
    }
}

impl<T, S: Scheme<M>, M: Memory> Domain<T, S, M> {
    /// [`new`](Domain::new) with any scheme. (And on any [machine](crate::memory), for tests.)
    ///
    /// ```
    /// use tenure::lazy::{Domain, Mask};
    ///
    /// let domain = Domain::<String, Mask>::new_in();
    /// let context = domain.context("hello".into());
    /// assert_eq!(*context, "hello");
    /// ```
    #[must_use]
    pub fn new_in() -> Self {
        Self { core: Shared::new(Core::new()) }
    }

    /// Puts `value` on the heap, and returns its first context.
    #[must_use]
    pub fn context(&self, value: T) -> Context<T, S, M> {
        self.context_with(S::Object::default(), value)
    }

    pub(crate) fn context_with(&self, object: S::Object<T>, value: T) -> Context<T, S, M> {
        let block = Block::allocate(self.core.clone(), object, value);
        // SAFETY: the block is new, and so is its reference.
        unsafe { Context::from_raw(block) }
    }

    /// Takes a seat, for a worker.
    ///
    /// # Panics
    ///
    /// If there are 2^28 of them.
    ///
    /// Cost: a few atomic operations; where seats were dropped before, a look at places until a vacant one is found. A place
    /// takes a cache line or two, is used again by later seats, and stays until the domain goes. So take a seat for each
    /// worker, and not for each request or task.
    #[must_use]
    pub fn seat(&self) -> Seat<T, S, M> {
        Seat::take(self.core.clone())
    }

    /// Drops many contexts at once.
    ///
    /// As one loop over `drop` that begins when the iterator has ended, but all objects that lose their last context go in one shootdown: two looks at each seat
    /// and one barrier in all, where a loop takes that for each object.
    ///
    /// # Panics
    ///
    /// If a context is of another domain. It and those after it are dropped one by one.
    ///
    /// ```
    /// use tenure::lazy::Domain;
    ///
    /// let domain = Domain::new();
    /// let tenants: Vec<_> = (0..100).map(|id| domain.context(id)).collect();
    /// domain.drop_all(tenants);
    /// ```
    pub fn drop_all(&self, contexts: impl IntoIterator<Item = Context<T, S, M>>) {
        let last = contexts.into_iter().filter_map(|context| {
            assert!(context.is_of(&self.core), "this Context is of another Domain");
            context.put()
        });
        // SAFETY: `put` has told so; they are of this domain, and this handle keeps it.
        unsafe { S::retire(&self.core, last) };
    }

    /// What has happened so far. Relaxed: while others use the domain the figures are of different moments.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let seats = self.core.slots().filter(|(_, slot)| {
            // Relaxed: a statistic.
            slot.taken.load(Ordering::Relaxed) != 0
        });
        self.core.counters.read(seats.count())
    }

    pub(crate) fn core(&self) -> &Shared<Core<T, S, M>, M> {
        &self.core
    }
}

impl<T> Default for Domain<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, S: Scheme<M>, M: Memory> Clone for Domain<T, S, M> {
    fn clone(&self) -> Self {
        Self { core: self.core.clone() }
    }
}

impl<T, S: Scheme<M>, M: Memory> fmt::Debug for Domain<T, S, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Domain")
            .field("scheme", &S::NAME)
            .field("statistics", &self.statistics())
            .finish()
    }
}
