//! [`Hoard`]: the slots of one thread, and who may touch them when.
//!
//! The numbered rules are in the documentation of the [module](super).

use crate::memory::{Atomic, Memory, Ordering, Plain};

/// A gate without bits: the owner may go in.
pub(super) const OPEN: u32 = 0;
/// Somebody takes back what threads hoard.
pub(super) const RECLAIM: u32 = 1;
/// The list is closed, for ever.
pub(super) const CLOSED: u32 = 1 << 1;
/// The hoard has no owner who would empty it when the thread ends.
pub(super) const UNSEATED: u32 = 1 << 2;

const NOBODY: u32 = 0;
const SOMEBODY: u32 = 1;

pub(super) struct Hoard<M: Memory, const BATCH: usize> {
    /// Whether the owner is using the hoard. Written by the owner alone.
    inside: M::AtomicU32,
    /// Why the owner must not go in; [`OPEN`] if it may.
    gate: M::AtomicU32,
    count: M::Plain<u32>,
    /// The slots, those that came last at the end. Two crates' worth.
    slots: [[M::Plain<u32>; BATCH]; 2],
}

// SAFETY: the plain fields are used through a `Stock` alone, of which there is one at a time: rules 1 to 3. They are
// integers.
unsafe impl<M: Memory, const BATCH: usize> Send for Hoard<M, BATCH> {}
// SAFETY: as above.
unsafe impl<M: Memory, const BATCH: usize> Sync for Hoard<M, BATCH> {}

impl<M: Memory, const BATCH: usize> Hoard<M, BATCH> {
    pub(super) fn new() -> Self {
        let crates = || core::array::from_fn(|_| Plain::new(0));
        Self {
            inside: Atomic::new(NOBODY),
            gate: Atomic::new(UNSEATED),
            count: Plain::new(0),
            slots: [crates(), crates()],
        }
    }

    /// The owner goes in, unless the gate is shut.
    #[inline(always)]
    pub(super) fn enter(&self) -> Option<Stock<'_, M, BATCH>> {
        // Relaxed: the barrier orders it before the look at the gate.
        self.inside.store(SOMEBODY, Ordering::Relaxed);
        // Pairs with the heavy barrier of whoever shuts the gate.
        M::light_barrier();
        // Acquire: pairs with the Release in `reopen`: what the reclaimer left.
        let gate = self.gate.load(Ordering::Acquire);
        if gate == OPEN {
            return Some(Stock { hoard: self });
        }
        // Release: as in `exit`.
        self.inside.store(NOBODY, Ordering::Release);
        None
    }

    /// The owner comes out. Its last touch: whoever closes the list waits for no more.
    #[inline(always)]
    #[allow(clippy::needless_pass_by_value, reason = "the right to use the slots ends")]
    pub(super) fn exit(stock: Stock<'_, M, BATCH>) {
        // Release: pairs with the Acquire in `is_inside`: what the owner did in here.
        stock.hoard.inside.store(NOBODY, Ordering::Release);
    }

    /// Whether the owner may be using the hoard. To be asked after shutting the gate and a heavy barrier.
    pub(super) fn is_inside(&self) -> bool {
        // Acquire: pairs with the Release in `exit`.
        self.inside.load(Ordering::Acquire) != NOBODY
    }

    /// The slots, for a reclaimer.
    ///
    /// # Safety
    ///
    /// Rule 2: the caller has the list's turn, has found the owner not [inside](Self::is_inside)
    /// after it shut the gate and passed a heavy barrier, and the gate stays shut while the stock exists.
    pub(super) unsafe fn stock(&self) -> Stock<'_, M, BATCH> {
        Stock { hoard: self }
    }

    /// Whether `bit` of the gate is set, as far as the caller knows.
    pub(super) fn is_shut(&self, bit: u32) -> bool {
        // Relaxed: a hint, unless the caller is the one who sets and clears the bit.
        self.gate.load(Ordering::Relaxed) & bit != 0
    }

    /// Sets `bit` of the gate. A heavy barrier has to follow.
    pub(super) fn shut(&self, bit: u32) {
        // Relaxed: the barrier orders it before the look at the owner.
        self.gate.fetch_or(bit, Ordering::Relaxed);
    }

    /// Clears `bit` of the gate, which is set.
    pub(super) fn reopen(&self, bit: u32) {
        // Release: pairs with the Acquire in `enter`.
        self.gate.fetch_sub(bit, Ordering::Release);
    }
}

/// The right to use a hoard's slots, now.
pub(super) struct Stock<'a, M: Memory, const BATCH: usize> {
    hoard: &'a Hoard<M, BATCH>,
}

impl<M: Memory, const BATCH: usize> Stock<'_, M, BATCH> {
    #[inline(always)]
    fn count(&self) -> u32 {
        // SAFETY: nobody else uses the hoard: `self` is the right to.
        unsafe { self.hoard.count.read() }
    }

    #[inline(always)]
    fn set_count(&mut self, count: u32) {
        // SAFETY: as in `count`.
        self.hoard.count.with_mut(|field| unsafe { *field = count });
    }

    #[inline(always)]
    fn place(&self, at: u32) -> &M::Plain<u32> {
        &self.hoard.slots[at as usize / BATCH][at as usize % BATCH]
    }

    /// Takes the slot that came last.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<u32> {
        let count = self.count().checked_sub(1)?;
        // SAFETY: as in `count`.
        let slot = unsafe { self.place(count).read() };
        self.set_count(count);
        Some(slot)
    }

    /// Adds a slot if there are fewer than `capacity`. Returns whether there were.
    #[inline(always)]
    #[must_use]
    pub(super) fn push_below(&mut self, capacity: u32, slot: u32) -> bool {
        let count = self.count();
        let has_room = count < capacity;
        if has_room {
            self.write(count, slot);
            self.set_count(count + 1);
        }
        has_room
    }

    #[inline(always)]
    fn write(&mut self, at: u32, slot: u32) {
        // SAFETY: as in `count`.
        self.place(at).with_mut(|place| unsafe { *place = slot });
    }

    /// Hands the `n` slots that came first to `each`.
    pub(super) fn take_oldest(&mut self, n: u32, mut each: impl FnMut(u32)) {
        let count = self.count();
        let n = n.min(count);
        for at in 0..n {
            // SAFETY: as in `count`.
            each(unsafe { self.place(at).read() });
        }
        for at in n..count {
            // SAFETY: as in `count`.
            let slot = unsafe { self.place(at).read() };
            self.write(at - n, slot);
        }
        self.set_count(count - n);
    }
}
