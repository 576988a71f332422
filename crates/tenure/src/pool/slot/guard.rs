//! [`SlotMut`] and [`SlotRef`]: an object in use, by one or by many.

use super::key::SlotKey;
use super::objects::{Slot, release};
use crate::pool::lifecycle::discard;
use crate::pool::{DefaultList, FreeList};
use core::fmt;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::ptr::NonNull;

/// One pointer, so that a guard moves in a register: a larger one goes through memory whenever an acquire is not
/// inlined, which costs as much as the acquire.
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

/// An object of a [`SlotPool`](super::SlotPool), for its owner alone. Goes back to the pool when dropped.
///
/// One pointer, and no reference count. It may be sent to any thread, and outlive the pool's handles. A leaked guard
/// (`mem::forget`) leaves its object in use.
///
/// It dereferences to the object, so its own operations are functions, not methods: `SlotMut::key(&guard)`.
///
/// # Variance
///
/// Invariant in `T`, unlike a `Box`: the pool hands out what is written through it as a `T` again, and would get a
/// dangling reference if a `SlotMut<&'static str>` could become a `SlotMut<&'a str>`.
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
/// If the pool's [`reset`](super::SlotPoolBuilder::reset) does, on drop.
pub struct SlotMut<T, L: FreeList = DefaultList> {
    place: Place<T, L>,
}

// SAFETY: as a `Box`, it is the only way to the object. Its pool, made under `T: Send`, is shared by threads.
unsafe impl<T: Send, L: FreeList> Send for SlotMut<T, L> {}
// SAFETY: a shared one gives out `&T` alone.
unsafe impl<T: Sync, L: FreeList> Sync for SlotMut<T, L> {}

// As `Box`. An object that a panic left half changed goes back, through the pool's `reset` if there is one.
impl<T: UnwindSafe, L: FreeList> UnwindSafe for SlotMut<T, L> {}
impl<T: RefUnwindSafe, L: FreeList> RefUnwindSafe for SlotMut<T, L> {}

impl<T, L: FreeList> SlotMut<T, L> {
    /// # Safety
    ///
    /// The caller is the slot's only user.
    #[inline(always)]
    pub(super) unsafe fn new(slot: &Slot<T, L>) -> Self {
        Self { place: Place(NonNull::from(slot)) }
    }

    /// The name of this use, by which the pool finds the object once it is [shared](Self::share). Good until the object
    /// goes back to the pool. Cost: one load.
    #[must_use]
    #[inline]
    pub fn key(this: &Self) -> SlotKey {
        this.place.key()
    }

    /// Shares the object: from now on its [key](Self::key) finds it. Cost: one store.
    ///
    /// ```
    /// use tenure::pool::{SlotMut, SlotPool};
    ///
    /// let pool = SlotPool::<u32>::new();
    /// let mut object = pool.acquire()?;
    /// *object = 7;
    /// let key = SlotMut::key(&object);
    /// assert!(pool.get(key).is_none());
    /// let shared = SlotMut::share(object);
    /// assert_eq!(*pool.get(key).unwrap(), 7);
    /// # drop(shared);
    /// # Ok::<(), tenure::pool::AcquireError>(())
    /// ```
    #[inline]
    #[must_use = "the object goes back to the pool with the last `SlotRef`"]
    pub fn share(this: Self) -> SlotRef<T, L> {
        let place = ManuallyDrop::new(this).place;
        // Release, in there: a thread that finds the object sees what was written to it.
        place.slot().part.place.count.init();
        SlotRef { place }
    }

    /// Drops the object, for example a broken one, instead of giving it back to the pool.
    ///
    /// # Panics
    ///
    /// If the drop of `T` does. The slot is free nevertheless.
    pub fn discard(this: Self) {
        let place = ManuallyDrop::new(this).place;
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
        // SAFETY: this guard of the slot's only user ends.
        unsafe { release(self.place.0) };
    }
}

/// An object of a [`SlotPool`](super::SlotPool) that several share. Goes back to the pool with the last of them.
///
/// A clone is one atomic add on the count beside the object, a drop one subtraction, the last drop a compare-exchange
/// more. The count may share a line with the object: if many threads read it while others clone and drop references,
/// put it into a [`CachePadded`](crate::cache_line::CachePadded).
///
/// It dereferences to the object, so its own operations are functions: `SlotRef::key(&guard)`.
///
/// # Variance
///
/// Invariant in `T`, unlike an `Arc`: the last one can become a [`SlotMut`](Self::into_mut).
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
/// If the pool's [`reset`](super::SlotPoolBuilder::reset) does, on the last drop.
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
    /// # Safety
    ///
    /// The slot's count has one for the caller.
    #[inline(always)]
    pub(super) unsafe fn new(slot: &Slot<T, L>) -> Self {
        Self { place: Place(NonNull::from(slot)) }
    }

    /// The name of this use: that of the [`SlotMut`] before. Cost: one load.
    #[must_use]
    #[inline]
    pub fn key(this: &Self) -> SlotKey {
        this.place.key()
    }

    /// The object for the caller alone, if this is the only reference. No key finds it until it is shared again. Cost:
    /// one compare-exchange.
    ///
    /// # Errors
    ///
    /// The reference itself, if there are others. A [lookup](super::SlotPool::get) under way counts as one, even by a
    /// stale key: this may fail, and succeed a moment later.
    ///
    /// ```
    /// use tenure::pool::{SlotMut, SlotPool, SlotRef};
    ///
    /// let pool = SlotPool::<Vec<u8>>::new();
    /// let shared = SlotMut::share(pool.acquire()?);
    /// let (key, other) = (SlotRef::key(&shared), shared.clone());
    /// let shared = SlotRef::into_mut(shared).unwrap_err(); // there is another one
    /// drop(other);
    /// let mut mine = SlotRef::into_mut(shared).unwrap();
    /// mine.push(1);
    /// assert!(SlotMut::key(&mine) == key && pool.get(key).is_none());
    /// # Ok::<(), tenure::pool::AcquireError>(())
    /// ```
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

impl<T, L: FreeList> Clone for SlotRef<T, L> {
    #[inline]
    fn clone(&self) -> Self {
        self.place.slot().part.place.count.get_held();
        Self { place: self.place }
    }
}

impl<T, L: FreeList> Deref for SlotRef<T, L> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: while there is this reference, the use does not end and no `SlotMut` exists.
        unsafe { &*self.place.object() }
    }
}

impl<T, L: FreeList> Drop for SlotRef<T, L> {
    #[inline]
    fn drop(&mut self) {
        // If this was not the last, the pool may be gone: nothing is touched.
        if self.place.slot().part.place.count.put().is_last() {
            // SAFETY: one thread alone learns that it is the last, and the count is dead: no other uses the object.
            unsafe { release(self.place.0) };
        }
    }
}

macro_rules! formats {
    ($($guard:ident: $format:ident)*) => {$(
        impl<T: fmt::$format, L: FreeList> fmt::$format for $guard<T, L> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    )*};
}

formats! { SlotMut: Debug SlotMut: Display SlotRef: Debug SlotRef: Display }
