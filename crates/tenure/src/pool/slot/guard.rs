//! [`SlotMut`] and [`SlotRef`]: an object in use, by one or by many.
#![allow(missing_docs, reason = "methods have their documentation in `pool::objects`")]

use super::key::SlotKey;
use super::objects::{Slot, release};
use crate::pool::lifecycle::discard;
use crate::pool::list::{List, Magazines};
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::ptr::NonNull;

/// One pointer, so that a guard moves in a register: a larger one goes through memory whenever an acquire is not
/// inlined, which costs as much as the acquire.
struct Place<T, L: List>(NonNull<Slot<T, L>>);

impl<T, L: List> Clone for Place<T, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, L: List> Copy for Place<T, L> {}

impl<T, L: List> Place<T, L> {
    #[inline(always)]
    fn slot(&self) -> &Slot<T, L> {
        // SAFETY: while a guard has the place, the slot has an object, which keeps the pool and its slots.
        unsafe { self.0.as_ref() }
    }

    #[inline(always)]
    fn object(&self) -> *mut T {
        self.slot().part.place.value()
    }

    #[inline(always)]
    fn key(&self) -> SlotKey {
        SlotKey::new(self.slot().index(), self.slot().uses())
    }
}

/// A [`SlotMut`](crate::pool::SlotMut) of a pool with any list.
pub struct SlotMut<T, L: List = Magazines> {
    place: Place<T, L>,
}

// SAFETY: as a `Box`, it is the only way to the object. Its pool, made under `T: Send`, is shared by threads.
unsafe impl<T: Send, L: List> Send for SlotMut<T, L> {}
// SAFETY: a shared one gives out `&T` alone.
unsafe impl<T: Sync, L: List> Sync for SlotMut<T, L> {}

// As `Box`. An object that a panic left half changed goes back, through the pool's `reset` if there is one.
impl<T: UnwindSafe, L: List> UnwindSafe for SlotMut<T, L> {}
impl<T: RefUnwindSafe, L: List> RefUnwindSafe for SlotMut<T, L> {}

impl<T, L: List> SlotMut<T, L> {
    /// # Safety
    ///
    /// The caller is the slot's only user.
    #[inline(always)]
    pub(super) unsafe fn new(slot: &Slot<T, L>) -> Self {
        Self { place: Place(NonNull::from(slot)) }
    }

    #[must_use]
    #[inline]
    pub fn key(this: &Self) -> SlotKey {
        this.place.key()
    }

    #[inline]
    #[must_use = "the object goes back to the pool with the last `SlotRef`"]
    pub fn share(this: Self) -> SlotRef<T, L> {
        let place = ManuallyDrop::new(this).place;
        // Release, in there: a thread that finds the object sees what was written to it.
        place.slot().part.place.count.init();
        SlotRef { place }
    }

    pub fn discard(this: Self) {
        let place = ManuallyDrop::new(this).place;
        // SAFETY: this was the guard of the slot's only user.
        unsafe { discard(place.0) };
    }
}

impl<T, L: List> Deref for SlotMut<T, L> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the object is this guard's, which is borrowed.
        unsafe { &*self.place.object() }
    }
}

impl<T, L: List> DerefMut for SlotMut<T, L> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the object is this guard's alone, which is borrowed exclusively.
        unsafe { &mut *self.place.object() }
    }
}

impl<T, L: List> Drop for SlotMut<T, L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this guard of the slot's only user ends.
        unsafe { release(self.place.0) };
    }
}

/// A [`SlotRef`](crate::pool::SlotRef) of a pool with any list.
pub struct SlotRef<T, L: List = Magazines> {
    place: Place<T, L>,
}

// SAFETY: as `Arc`: they share the object (`Sync`), and the last one has it for itself (`Send`).
unsafe impl<T: Send + Sync, L: List> Send for SlotRef<T, L> {}
// SAFETY: as above; a shared one can be cloned.
unsafe impl<T: Send + Sync, L: List> Sync for SlotRef<T, L> {}

// As `Arc`.
impl<T: RefUnwindSafe, L: List> UnwindSafe for SlotRef<T, L> {}
impl<T: RefUnwindSafe, L: List> RefUnwindSafe for SlotRef<T, L> {}

impl<T, L: List> SlotRef<T, L> {
    /// # Safety
    ///
    /// The slot's count has one for the caller.
    #[inline(always)]
    pub(super) unsafe fn new(slot: &Slot<T, L>) -> Self {
        Self { place: Place(NonNull::from(slot)) }
    }

    #[must_use]
    #[inline]
    pub fn key(this: &Self) -> SlotKey {
        this.place.key()
    }

    pub fn into_mut(this: Self) -> Result<SlotMut<T, L>, Self> {
        // One reference and no ticket: no other holder, lookup or unfinished put. Lookups fail from now on. Acquire, in
        // there: sees what all other holders did.
        if this.place.slot().part.place.count.try_last() {
            let place = ManuallyDrop::new(this).place;
            return Ok(SlotMut { place });
        }
        Err(this)
    }
}

impl<T, L: List> Clone for SlotRef<T, L> {
    #[inline]
    fn clone(&self) -> Self {
        self.place.slot().part.place.count.get_held();
        Self { place: self.place }
    }
}

impl<T, L: List> Deref for SlotRef<T, L> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: while there is this reference, the use does not end and no `SlotMut` exists.
        unsafe { &*self.place.object() }
    }
}

impl<T, L: List> Drop for SlotRef<T, L> {
    #[inline]
    fn drop(&mut self) {
        // If this was not the last, the pool may be gone: nothing is touched.
        if self.place.slot().part.place.count.put().is_last() {
            // SAFETY: one thread alone learns that it is the last, and the count is dead: no other uses the object.
            unsafe { release(self.place.0) };
        }
    }
}

shown! {
    T: [T, L: List] SlotMut<T, L>;
    T: [T, L: List] SlotRef<T, L>;
}
