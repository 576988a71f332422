//! [`Objects`]: what a pool's handles and guards share, and the steps between a slot's states.

mod homecoming;

pub(super) use homecoming::Homecoming;

use super::key::LAST_USE;
use crate::count::TicketRef;
use crate::line::Isolated;
use crate::memory::{Atomic, Memory, Ordering, Resident};
use crate::pool::list::FreeList;
use crate::pool::shelf::{self, Shelf};
use crate::segments::CAPACITY;
use crate::shared::{RawShared, Shared};
use alloc::boxed::Box;
use alloc::sync::Weak;
use core::cell::UnsafeCell;
use core::iter::{from_fn, once};
use core::mem::{MaybeUninit, forget};
use core::ptr::NonNull;

/// A slot of a pool of `T`.
pub(super) type Slot<T, L> = shelf::Slot<Part<T, L>, <L as FreeList>::Memory>;

// What the module's text says of slots.
#[cfg(target_pointer_width = "64")]
const _: () = {
    use crate::memory::Native;
    use crate::pool::list::TaggedStack;
    assert!(size_of::<Slot<[u64; 4], TaggedStack<Native>>>() == 64);
    assert!(size_of::<Slot<[u64; 5], TaggedStack<Native>>>() == 128);
};

/// A pool's block, which the caller does not keep alive by having this.
pub(super) type Raw<T, L> = RawShared<Objects<T, L>, <L as FreeList>::Memory>;

/// Makes an object.
pub(super) type Make<T> = Box<dyn Fn() -> T + Send + Sync>;

/// The permanent part of a slot.
pub(super) struct Part<T, L: FreeList> {
    /// The pool's block, so that a guard need be no more than a pointer to its slot.
    pub(super) of: Raw<T, L>,
    /// How many `SlotRef`s there are. Dead while there is a `SlotMut`, or nobody.
    pub(super) count: TicketRef<L::Memory>,
    /// The object, unless the slot is vacant.
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: the object goes with the slot from owner to owner, which `T: Send` is enough for. Whoever shares it
// between threads has `T: Sync`: `SlotRef` is sent, and `SlotPool::get` is called, only then.
unsafe impl<T: Send, L: FreeList> Send for Part<T, L> {}
// SAFETY: as above.
unsafe impl<T: Send, L: FreeList> Sync for Part<T, L> {}

impl<T, L: FreeList> Part<T, L> {
    fn vacant(of: Raw<T, L>) -> Self {
        Self { of, count: TicketRef::dead_in(), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// Where the object is.
    #[inline(always)]
    pub(super) fn value(&self) -> *mut T {
        self.value.get().cast()
    }
}

/// The objects of a pool.
pub(super) struct Objects<T, L: FreeList> {
    pub(super) shelf: Shelf<Part<T, L>, L>,
    make: Make<T>,
    reset: Option<fn(&mut T)>,
    limit: u32,
    /// 1 once the pool is closed.
    closed: <L::Memory as Memory>::AtomicU32,
    tally: Isolated<Tally<L::Memory>>,
}

/// What is written when objects come and go, away from what every acquire reads.
struct Tally<M: Memory> {
    /// Below [`ONE_GONE`]: objects there are. From there on: objects that have gone, modulo 2^32. So a word that is
    /// found a second time says that nothing came or went between. It is not so after a multiple of 2^32 objects has,
    /// which takes minutes.
    present: M::AtomicU64,
    /// Objects there ever were.
    made: M::AtomicU64,
}

const ONE_GONE: u64 = 1 << u32::BITS;

/// Why there is no new object.
pub(super) enum Refused {
    Closed,
    /// There were as many as there may be, when the tally was this.
    Limit(u64),
    /// Every slot that there can be has been used up, or has an object.
    NoSlot,
}

impl<T, L: FreeList> Objects<T, L> {
    pub(super) fn new(
        make: Make<T>,
        reset: Option<fn(&mut T)>,
        hoard: usize,
        limit: usize,
        owner: Weak<dyn Resident>,
    ) -> Self {
        Self {
            shelf: Shelf::new(hoard, owner),
            make,
            reset,
            limit: limit.min(CAPACITY as usize) as u32,
            closed: Atomic::new(0),
            tally: Isolated::new(Tally { present: Atomic::new(0), made: Atomic::new(0) }),
        }
    }

    #[inline(always)]
    pub(super) fn is_closed(&self) -> bool {
        // Relaxed: who was told that the pool is closed sees it; for others the order does not matter.
        self.closed.load(Ordering::Relaxed) != 0
    }

    pub(super) fn limit(&self) -> u32 {
        self.limit
    }

    /// How many objects there are.
    pub(super) fn present(&self) -> u32 {
        self.tally() as u32
    }

    /// The number of objects, and a number that is another one when objects have gone.
    pub(super) fn tally(&self) -> u64 {
        // Relaxed: for whoever compares two of them, what lies between orders them.
        self.tally.present.load(Ordering::Relaxed)
    }

    /// How many objects there ever were.
    pub(super) fn made(&self) -> u64 {
        // Relaxed: a snapshot.
        self.tally.made.load(Ordering::Relaxed)
    }

    /// Counts an object that is about to be made, if there may be another one.
    fn allow(&self) -> Result<Allowance<'_, T, L>, Refused> {
        let present = &self.tally.present;
        // Relaxed, all of it: the number alone is at stake.
        let mut found = present.load(Ordering::Relaxed);
        // Never above the limit, not even for a moment: somebody else would be refused for nothing.
        while (found as u32) < self.limit {
            let counted = present.compare_exchange_weak(
                found,
                found + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match counted {
                Ok(_) => return Ok(Allowance(self)),
                Err(now) => found = now,
            }
        }
        Err(Refused::Limit(found))
    }
}

/// The right to one more object, given up if it comes to none.
struct Allowance<'a, T, L: FreeList>(&'a Objects<T, L>);

impl<T, L: FreeList> Drop for Allowance<'_, T, L> {
    fn drop(&mut self) {
        // Relaxed: as in `allow`.
        self.0.tally.present.fetch_add(ONE_GONE - 1, Ordering::Relaxed);
    }
}

/// A slot in use with a new object in it.
pub(super) fn make<T, L: FreeList>(
    shared: &Shared<Objects<T, L>, L::Memory>,
) -> Result<&Slot<T, L>, Refused> {
    let objects = &**shared;
    let allowance = objects.allow()?;
    // First: should it panic, there is no slot to be vacated.
    let value = (objects.make)();
    if objects.is_closed() {
        // Meanwhile, by `make` perhaps.
        return Err(Refused::Closed);
    }
    let slot = objects.shelf.vacancy(|| Part::vacant(shared.as_raw())).ok_or(Refused::NoSlot)?;
    // SAFETY: the slot is vacant and this thread's.
    unsafe { slot.part.value().write(value) };
    // The object keeps the block alive from here on, and is counted: `Emptied` ends both.
    let _: Raw<T, L> = shared.clone().into_raw();
    forget(allowance);
    // Relaxed: only a number.
    objects.tally.made.fetch_add(1, Ordering::Relaxed);
    slot.begin_use();
    Ok(slot)
}

/// An idle slot, in use from now on, whichever thread hoards it. `None`: there was none at some moment of the call.
pub(super) fn find_hoarded<T, L: FreeList>(
    shared: &Shared<Objects<T, L>, L::Memory>,
) -> Option<&Slot<T, L>> {
    let shelf = &shared.shelf;
    L::gather(once(shelf.idle()), || shelf.reuse(|_| ()))
}

/// Ends the use of a slot: the object is reset, and idle unless the slot is used up or the pool closed.
///
/// # Safety
///
/// The caller is the slot's user, exclusively, and touches nothing of the pool afterwards that something else
/// does not keep alive.
#[inline]
pub(super) unsafe fn release<T, L: FreeList>(
    // No reference: the slot may be gone before this returns.
    slot: NonNull<Slot<T, L>>,
) {
    // SAFETY: the slot has an object, which keeps the block alive until it is released below.
    let Slot { part, .. } = unsafe { slot.as_ref() };
    let raw = part.of;
    // SAFETY: as above.
    let objects = unsafe { raw.core() };
    if let Some(reset) = objects.reset {
        let unless_reset = Discard(slot);
        // SAFETY: the caller has the object for itself.
        reset(unsafe { &mut *part.value() });
        forget(unless_reset);
    }
    // SAFETY: as above.
    if unsafe { slot.as_ref() }.uses() == LAST_USE {
        // SAFETY: the caller's.
        return unsafe { discard(slot) };
    }
    let mut home = Homecoming::new(raw);
    // SAFETY: the list tells of slots with objects that it does not keep.
    let push = |index| unsafe { home.push(index) };
    // SAFETY: the caller is the slot's user. `objects` and the slot are not used again.
    unsafe { Shelf::release(NonNull::from(&objects.shelf), slot, push) };
    if !home.is_empty() {
        home.empty();
    }
}

/// Drops the object of a slot in use, and ends its use.
///
/// # Safety
///
/// As [`release`].
#[cold]
#[inline(never)]
pub(super) unsafe fn discard<T, L: FreeList>(slot: NonNull<Slot<T, L>>) {
    // SAFETY: the slot has an object, which keeps the block alive.
    let slot = unsafe { slot.as_ref() };
    let (raw, index) = (slot.part.of, slot.index());
    slot.end_use();
    // SAFETY: the slot was the caller's, and is in no list.
    unsafe { empty(raw, index) };
}

/// Discards the object of a slot in use whose user cannot go on: its reset panics, say.
struct Discard<T, L: FreeList>(NonNull<Slot<T, L>>);

impl<T, L: FreeList> Drop for Discard<T, L> {
    fn drop(&mut self) {
        // SAFETY: made by the slot's user, who does not go on.
        unsafe { discard(self.0) };
    }
}

/// Drops the object of a slot, and makes the slot vacant; or leaves it be if it was used up.
///
/// # Safety
///
/// The slot has an object, is the caller's, not in use and in no list. Afterwards the block may be gone.
pub(super) unsafe fn empty<T, L: FreeList>(raw: Raw<T, L>, index: u32) {
    // SAFETY: the object keeps the block alive.
    let objects = unsafe { raw.core() };
    // Also if the object's drop panics.
    let _emptied = Emptied { raw, index };
    // SAFETY: the slot has an object, and nobody else uses it.
    unsafe { objects.shelf.slot(index).part.value().drop_in_place() };
}

/// What follows when the object of a slot is gone.
struct Emptied<T, L: FreeList> {
    raw: Raw<T, L>,
    index: u32,
}

impl<T, L: FreeList> Drop for Emptied<T, L> {
    fn drop(&mut self) {
        // SAFETY: the reference that the object had is given up below.
        let objects = unsafe { self.raw.core() };
        drop(Allowance(objects));
        if objects.shelf.slot(self.index).uses() < LAST_USE {
            // SAFETY: the slot is this thread's, not in use, and its object is gone.
            unsafe { objects.shelf.vacate(self.index) };
        }
        // SAFETY: `make` left a reference behind for the object. `objects` is not used again.
        drop(unsafe { Shared::from_raw(self.raw) });
    }
}

/// Drops idle objects, wherever they are. Returns how many.
pub(super) fn trim<T, L: FreeList>(shared: &Shared<Objects<T, L>, L::Memory>) -> usize {
    let mut home = Homecoming::new(shared.as_raw());
    let idle = shared.shelf.idle();
    let dropped = L::gather(once(idle), || {
        // SAFETY: the slot is acquired: it has an object and is this thread's.
        from_fn(|| idle.acquire(|_| ())).map(|index| unsafe { home.push(index) }).count()
    });
    home.empty();
    dropped
}

/// Closes the pool, and drops what is idle.
pub(super) fn close<T, L: FreeList>(shared: &Shared<Objects<T, L>, L::Memory>) {
    // Relaxed: see `is_closed`.
    shared.closed.store(1, Ordering::Relaxed);
    let mut home = Homecoming::new(shared.as_raw());
    // SAFETY: the list tells of slots with objects that it does not keep.
    shared.shelf.idle().close(|index| unsafe { home.push(index) });
    home.empty();
}
