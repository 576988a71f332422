//! [`Magazine`]: the idle slots of one thread, and who may touch them when. The [module](super) has the numbered rules.

use crate::memory::{Atomic, Memory, Ordering, Plain};

pub(super) const OPEN: u32 = 0;
/// Another thread is gathering the slots that threads keep.
pub(super) const RECLAIM: u32 = 1;
/// The list is closed.
pub(super) const CLOSED: u32 = 1 << 1;
/// No owner would empty the magazine at the end of its thread.
pub(super) const UNOWNED: u32 = 1 << 2;

const OUTSIDE: u32 = 0;
const INSIDE: u32 = 1;

pub(super) struct Magazine<M: Memory, const BATCH: usize> {
    /// Whether the owner is inside. Written by the owner alone.
    inside: M::AtomicU32,
    /// Why the owner must not go in; [`OPEN`] if it may.
    gate: M::AtomicU32,
    count: M::Plain<u32>,
    /// Two batches of slots, in the order in which they came.
    slots: [[M::Plain<u32>; BATCH]; 2],
}

// SAFETY: the plain fields, integers, are used through an `Access` alone, one at a time: rules 1 to 3.
unsafe impl<M: Memory, const BATCH: usize> Send for Magazine<M, BATCH> {}
// SAFETY: as above.
unsafe impl<M: Memory, const BATCH: usize> Sync for Magazine<M, BATCH> {}

impl<M: Memory, const BATCH: usize> Magazine<M, BATCH> {
    pub(super) fn new() -> Self {
        let batch = || core::array::from_fn(|_| Plain::new(0));
        Self {
            inside: Atomic::new(OUTSIDE),
            gate: Atomic::new(UNOWNED),
            count: Plain::new(0),
            slots: [batch(), batch()],
        }
    }

    #[inline(always)]
    pub(super) fn enter(&self) -> Option<Access<'_, M, BATCH>> {
        // Relaxed: the barrier orders it before the look at the gate.
        self.inside.store(INSIDE, Ordering::Relaxed);
        // Pairs with the heavy barrier of the thread that shuts the gate.
        M::light_barrier();
        // Acquire: pairs with the Release in `reopen`: what the reclaimer left.
        let gate = self.gate.load(Ordering::Acquire);
        if gate == OPEN {
            return Some(Access { magazine: self });
        }
        // Release: as in `exit`.
        self.inside.store(OUTSIDE, Ordering::Release);
        None
    }

    /// The owner comes out. Its last touch: a thread that closes the list then goes on.
    #[inline(always)]
    #[allow(clippy::needless_pass_by_value, reason = "the right to use the slots ends")]
    pub(super) fn exit(access: Access<'_, M, BATCH>) {
        // Release: pairs with the Acquire in `is_inside`: what the owner did in here.
        access.magazine.inside.store(OUTSIDE, Ordering::Release);
    }

    /// Whether the owner may be inside. For a thread that shut the gate and passed a heavy barrier.
    pub(super) fn is_inside(&self) -> bool {
        // Acquire: pairs with the Release in `exit`.
        self.inside.load(Ordering::Acquire) != OUTSIDE
    }

    /// The slots, for a reclaimer.
    ///
    /// # Safety
    ///
    /// Rule 2: the caller holds the list's lock, and found the owner not [inside](Self::is_inside) after it shut the
    /// gate and passed a heavy barrier. The gate stays shut while the access exists.
    pub(super) unsafe fn reclaim(&self) -> Access<'_, M, BATCH> {
        Access { magazine: self }
    }

    pub(super) fn is_shut(&self, bit: u32) -> bool {
        // Relaxed: a hint, unless the caller alone sets and clears the bit.
        self.gate.load(Ordering::Relaxed) & bit != 0
    }

    /// Sets `bit` of the gate. A heavy barrier has to follow.
    pub(super) fn shut(&self, bit: u32) {
        // Relaxed: the barrier orders it before the look at the owner.
        self.gate.fetch_or(bit, Ordering::Relaxed);
    }

    pub(super) fn reopen(&self, bit: u32) {
        // Release: pairs with the Acquire in `enter`.
        self.gate.fetch_sub(bit, Ordering::Release);
    }
}

pub(super) struct Access<'a, M: Memory, const BATCH: usize> {
    magazine: &'a Magazine<M, BATCH>,
}

impl<M: Memory, const BATCH: usize> Access<'_, M, BATCH> {
    #[inline(always)]
    fn count(&self) -> u32 {
        // SAFETY: `self` is the only access, so no thread writes.
        unsafe { self.magazine.count.read() }
    }

    #[inline(always)]
    fn set_count(&mut self, count: u32) {
        // SAFETY: `self` is the only access.
        self.magazine.count.with_mut(|field| unsafe { *field = count });
    }

    #[inline(always)]
    fn place(&self, at: u32) -> &M::Plain<u32> {
        &self.magazine.slots[at as usize / BATCH][at as usize % BATCH]
    }

    #[inline(always)]
    fn read(&self, at: u32) -> u32 {
        // SAFETY: as in `count`.
        unsafe { self.place(at).read() }
    }

    #[inline(always)]
    fn write(&mut self, at: u32, slot: u32) {
        // SAFETY: as in `set_count`.
        self.place(at).with_mut(|place| unsafe { *place = slot });
    }

    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<u32> {
        let count = self.count().checked_sub(1)?;
        let slot = self.read(count);
        self.set_count(count);
        Some(slot)
    }

    /// Adds a slot if there are fewer than `capacity`. Returns whether there were.
    #[inline(always)]
    #[must_use]
    pub(super) fn push_below(&mut self, capacity: u32, slot: u32) -> bool {
        let count = self.count();
        let fits = count < capacity;
        if fits {
            self.write(count, slot);
            self.set_count(count + 1);
        }
        fits
    }

    /// Hands the `n` slots that came first to `each`.
    pub(super) fn take_oldest(&mut self, n: u32, each: impl FnMut(u32)) {
        let count = self.count();
        let n = n.min(count);
        (0..n).map(|at| self.read(at)).for_each(each);
        for at in n..count {
            let slot = self.read(at);
            self.write(at - n, slot);
        }
        self.set_count(count - n);
    }
}
