//! The proof that memory stays readable.

use core::fmt;
use core::marker::PhantomData;

/// A guard that keeps the memory of the objects that its scheme frees readable while it exists.
///
/// # Safety
///
/// While the guard exists, the memory of an object that its scheme frees, and that the guard's owner found alive, is
/// not freed or reused, even if the object dies. The code that frees an object ensures that it is put with a guard of
/// *its* scheme.
#[doc(hidden)]
pub unsafe trait KeepsReadable {}

/// Proof, for a put, that the memory of the count stays readable during `'w`.
///
/// Nothing at run time. Made by [`assume`](Readable::assume), or with the feature `seize` from one of its guards.
///
/// ```
/// use tenure::count::{RcuRef, Readable};
///
/// static FOREVER: RcuRef = RcuRef::new();
///
/// let _ = FOREVER.get();
/// // SAFETY: a static is never freed.
/// let readable = unsafe { Readable::assume() };
/// assert!(!FOREVER.put(readable).is_last());
/// ```
///
/// A put of [`RcuRef`](super::RcuRef) without one does not compile:
///
/// ```compile_fail,E0061
/// # use tenure::count::RcuRef;
/// let count = RcuRef::new();
/// let _ = count.put();
/// ```
///
/// For the guard of another scheme, such as crossbeam-epoch's, write a function that borrows it. A proof that outlives
/// its guard does not compile then:
///
/// ```compile_fail,E0505
/// # use tenure::count::{RcuRef, Readable};
/// # struct Guard;
/// fn readable(_guard: &Guard) -> Readable<'_> {
///     // SAFETY: what this scheme retires is freed after all of its guards are gone.
///     unsafe { Readable::assume() }
/// }
///
/// let count = RcuRef::new();
/// let guard = Guard;
/// let readable = readable(&guard);
/// drop(guard);
/// let _ = count.put(readable);
/// ```
#[derive(Clone, Copy)]
pub struct Readable<'w>(PhantomData<&'w ()>);

impl<'w> Readable<'w> {
    #[doc(hidden)]
    #[inline(always)]
    pub fn by<G: KeepsReadable + ?Sized>(guard: &'w G) -> Self {
        let _ = guard;
        Self(PhantomData)
    }

    /// The memory stays readable for a reason that only the caller knows.
    ///
    /// # Safety
    ///
    /// During `'w` the memory of every count that is put with this proof is not freed or reused, even if another
    /// thread destroys the object: it is never freed (a static, an arena), or the destroyer waits for this thread.
    #[must_use]
    #[inline(always)]
    pub const unsafe fn assume() -> Self {
        Self(PhantomData)
    }
}

#[cfg(feature = "seize")]
/// What was reachable when the guard was made is retired later, and seize frees nothing that was retired during the life
/// of a guard before the guard is gone.
impl<'w> From<&'w seize::LocalGuard<'_>> for Readable<'w> {
    fn from(_: &'w seize::LocalGuard<'_>) -> Self {
        Self(PhantomData)
    }
}

#[cfg(feature = "seize")]
/// An owned guard keeps memory readable as a local one does.
impl<'w> From<&'w seize::OwnedGuard<'_>> for Readable<'w> {
    fn from(_: &'w seize::OwnedGuard<'_>) -> Self {
        Self(PhantomData)
    }
}

impl fmt::Debug for Readable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Readable")
    }
}
