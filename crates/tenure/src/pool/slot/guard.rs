//! [`SlotMut`] and [`SlotRef`]: an object in use, by one or by many.

use super::key::SlotKey;
use super::objects::{Slot, discard, release};
use crate::pool::list::{DefaultList, FreeList};
use core::fmt;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::ptr::NonNull;

/// Where an object in use is. Says nothing of whose it is.
///
/// One pointer, so that a guard moves in a register: what is more than that goes through memory whenever an
/// acquire is not inlined, and costs as much as the acquire.
struct Place<T, L: FreeList>(NonNull<Slot<T, L>>);

impl<T, L: FreeList> Clone for Place<T, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, L: FreeList> Copy for Place<T, L> {}

impl<T, L: FreeList> Place<T, L> {
    #[inline(always)]
    fn slot(&self) -> &Slot<T, L> {
        // SAFETY: a guard has the place, so the slot has an object, which keeps the block and with it all
        // slots alive.
        unsafe { self.0.as_ref() }
    }

    #[inline(always)]
    fn object(&self) -> *mut T {
        self.slot().part.value()
    }

    #[inline(always)]
    fn key(&self) -> SlotKey {
        SlotKey::new(self.slot().index(), self.slot().uses())
    }
}

/// An object of a [`SlotPool`](super::SlotPool), for its owner alone. Goes back to the pool when dropped.
///
/// May be sent to any thread and dropped there, and may outlive the pool's handles. It is one pointer, and writes no
/// reference count. No [key](Self::key) finds the object until it is [shared](Self::share).
///
/// A guard that is leaked (`mem::forget`) leaves its object in use for ever, counted by the limit.
///
/// # Variance
///
/// It is invariant in `T`, unlike a `Box`. What is written through it goes back to the pool, which hands it out as the
/// pool's `T` again: were this a `SlotMut<&'static str>` that could become a `SlotMut<&'a str>`, the pool would have a
/// dangling reference afterwards.
///
/// ```compile_fail
/// # use tenure::pool::SlotMut;
/// fn shorten<'a>(guard: SlotMut<&'static str>) -> SlotMut<&'a str> {
///     guard // error: lifetime may not live long enough
/// }
/// ```
///
/// # Panics
///
/// Dropping it panics where the pool's `reset` does. The object is dropped then, not used again.
pub struct SlotMut<T, L: FreeList = DefaultList> {
    place: Place<T, L>,
}

// SAFETY: it is the only way to the object, as a `Box`; and what it leads to beside the object, the pool's
// block, is made for many threads: objects there have been made under `T: Send`.
unsafe impl<T: Send, L: FreeList> Send for SlotMut<T, L> {}
// SAFETY: a shared one gives out `&T` and nothing else.
unsafe impl<T: Sync, L: FreeList> Sync for SlotMut<T, L> {}

// As `Box`. An object that was left half changed when a panic dropped its guard goes back, through `reset` if the pool has one.
impl<T: UnwindSafe, L: FreeList> UnwindSafe for SlotMut<T, L> {}
impl<T: RefUnwindSafe, L: FreeList> RefUnwindSafe for SlotMut<T, L> {}

impl<T, L: FreeList> SlotMut<T, L> {
    /// Takes over a slot in use.
    ///
    /// # Safety
    ///
    /// The caller is its user, exclusively.
    #[inline(always)]
    pub(super) unsafe fn new(slot: &Slot<T, L>) -> Self {
        Self { place: Place(NonNull::from(slot)) }
    }

    /// The name of this use, by which the pool finds the object once it is [shared](Self::share). Good until the
    /// object goes back to the pool; [`share`](Self::share) and [`into_mut`](SlotRef::into_mut) do not change it.
    ///
    /// Cost: one load.
    #[must_use]
    #[inline]
    pub fn key(&self) -> SlotKey {
        self.place.key()
    }

    /// Shares the object: from now on its [key](Self::key) finds it.
    ///
    /// Cost: one store.
    ///
    /// ```
    /// let pool = tenure::pool::SlotPool::<u32>::new();
    /// let mut object = pool.acquire()?;
    /// *object = 7;
    /// let key = object.key();
    /// assert!(pool.get(key).is_none());
    /// let shared = object.share();
    /// assert_eq!(*pool.get(key).unwrap(), 7);
    /// # drop(shared);
    /// # Ok::<(), tenure::pool::slot::AcquireError>(())
    /// ```
    #[inline]
    pub fn share(self) -> SlotRef<T, L> {
        let place = ManuallyDrop::new(self).place;
        // Release, in there: whoever finds the object sees what was written to it.
        place.slot().part.count.init();
        SlotRef { place }
    }

    /// Drops the object instead of giving it back to the pool: if it is broken, say.
    ///
    /// # Panics
    ///
    /// If the drop of `T` does. The slot is free nevertheless.
    pub fn discard(self) {
        let place = ManuallyDrop::new(self).place;
        // SAFETY: this was the guard of the slot's only user.
        unsafe { discard(place.0) };
    }
}

impl<T, L: FreeList> Deref for SlotMut<T, L> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the object is this guard's, which is borrowed.
        unsafe { &*self.place.object() }
    }
}

impl<T, L: FreeList> DerefMut for SlotMut<T, L> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the object is this guard's alone, which is borrowed exclusively.
        unsafe { &mut *self.place.object() }
    }
}

impl<T, L: FreeList> Drop for SlotMut<T, L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this is the guard of the slot's only user, and ends.
        unsafe { release(self.place.0) };
    }
}

impl<T: fmt::Debug, L: FreeList> fmt::Debug for SlotMut<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: fmt::Display, L: FreeList> fmt::Display for SlotMut<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// An object of a [`SlotPool`](super::SlotPool) that several share. Goes back to the pool with the last of them.
///
/// Cost: a clone is one atomic add on the count beside the object, a drop one atomic subtraction, and the last
/// drop one compare-exchange more. The count may share a line with the object. If many threads read the object while
/// others clone and drop references, put it into an [`Isolated`](crate::line::Isolated).
///
/// # Variance
///
/// It is invariant in `T`, unlike an `Arc`: the last one can be turned [into a `SlotMut`](Self::into_mut), which
/// writes what the pool hands out again.
///
/// ```compile_fail
/// # use tenure::pool::SlotRef;
/// fn shorten<'a>(guard: SlotRef<&'static str>) -> SlotRef<&'a str> {
///     guard // error: lifetime may not live long enough
/// }
/// ```
///
/// # Panics
///
/// Dropping the last one panics where the pool's `reset` does. The object is dropped then, not used again.
pub struct SlotRef<T, L: FreeList = DefaultList> {
    place: Place<T, L>,
}

// SAFETY: as `Arc`: they share the object (`Sync`), and the last one has it for itself (`Send`).
unsafe impl<T: Send + Sync, L: FreeList> Send for SlotRef<T, L> {}
// SAFETY: as above; a shared one can be cloned.
unsafe impl<T: Send + Sync, L: FreeList> Sync for SlotRef<T, L> {}

// As `Arc`.
impl<T: RefUnwindSafe, L: FreeList> UnwindSafe for SlotRef<T, L> {}
impl<T: RefUnwindSafe, L: FreeList> RefUnwindSafe for SlotRef<T, L> {}

impl<T, L: FreeList> SlotRef<T, L> {
    /// Takes over a reference to a slot's object.
    ///
    /// # Safety
    ///
    /// The slot's count has one for the caller.
    #[inline(always)]
    pub(super) unsafe fn new(slot: &Slot<T, L>) -> Self {
        Self { place: Place(NonNull::from(slot)) }
    }

    /// The name of this use, by which the pool finds the object. The same as when it was a [`SlotMut`].
    ///
    /// Cost: one load.
    #[must_use]
    #[inline]
    pub fn key(&self) -> SlotKey {
        self.place.key()
    }

    /// The object for the caller alone, if this is the only reference. No key finds it until it is shared again.
    ///
    /// A [lookup](super::SlotPool::get) that is under way counts as a reference, even one with a stale key that will
    /// find nothing. So this may fail, and succeed a moment later.
    ///
    /// Cost: one compare-exchange.
    ///
    /// # Errors
    ///
    /// The reference itself, if there are others.
    ///
    /// ```
    /// let pool = tenure::pool::SlotPool::<Vec<u8>>::new();
    /// let shared = pool.acquire()?.share();
    /// let (key, other) = (shared.key(), shared.clone());
    /// let shared = shared.into_mut().unwrap_err(); // the other one is there
    /// drop(other);
    /// let mut mine = shared.into_mut().unwrap();
    /// mine.push(1);
    /// assert!(mine.key() == key && pool.get(key).is_none());
    /// # Ok::<(), tenure::pool::slot::AcquireError>(())
    /// ```
    pub fn into_mut(self) -> Result<SlotMut<T, L>, Self> {
        // One reference and no ticket: no other holder, no lookup that got one and no put that has not
        // ended. Lookups from now on fail. Acquire, in there: sees what all other holders did.
        if self.place.slot().part.count.try_last() {
            let place = ManuallyDrop::new(self).place;
            return Ok(SlotMut { place });
        }
        Err(self)
    }
}

impl<T, L: FreeList> Clone for SlotRef<T, L> {
    #[inline]
    fn clone(&self) -> Self {
        self.place.slot().part.count.get_held();
        Self { place: self.place }
    }
}

impl<T, L: FreeList> Deref for SlotRef<T, L> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: this reference keeps the object from being used again, and nobody has it exclusively.
        unsafe { &*self.place.object() }
    }
}

impl<T, L: FreeList> Drop for SlotRef<T, L> {
    #[inline]
    fn drop(&mut self) {
        // After "not the last" the block may be gone: nothing is touched.
        if self.place.slot().part.count.put().is_last() {
            // SAFETY: told to one, and the count is dead: nobody else uses the object, or comes to.
            unsafe { release(self.place.0) };
        }
    }
}

impl<T: fmt::Debug, L: FreeList> fmt::Debug for SlotRef<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: fmt::Display, L: FreeList> fmt::Display for SlotRef<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
