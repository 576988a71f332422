//! The witness that memory stays readable.

use core::fmt;
use core::marker::PhantomData;

/// A guard that keeps the memory of the objects that its scheme frees readable while it exists.
///
/// For example seize's guards (feature `seize`), or a read lock that the destroyer takes for writing. To hand another
/// crate's guard, such as crossbeam-epoch's, to [`RcuRef::put`](super::RcuRef::put), implement this for a newtype of
/// it.
///
/// # Safety
///
/// While the guard exists, the memory of an object that its scheme frees, and that the guard's owner found alive, is
/// not freed or reused, even if the object dies. The code that frees an object ensures that it is put with a guard of
/// *its* scheme.
///
/// ```compile_fail,E0200
/// struct Nothing;
/// impl tenure::count::KeepsReadable for Nothing {} // error: requires an `unsafe impl` declaration
/// ```
pub unsafe trait KeepsReadable {}

#[cfg(feature = "seize")]
// SAFETY: an object that was reachable when the guard was made is retired later, and seize frees nothing that was
// retired during the life of a guard before the guard is gone.
unsafe impl KeepsReadable for seize::LocalGuard<'_> {}

#[cfg(feature = "seize")]
// SAFETY: as for `LocalGuard`.
unsafe impl KeepsReadable for seize::OwnedGuard<'_> {}

/// Proof, for a put, that the memory of the count stays readable during `'w`.
///
/// Nothing at run time. Made from a [`KeepsReadable`], or by [`assume`](Readable::assume).
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
/// Nor does one that outlives its guard:
///
/// ```compile_fail,E0505
/// # use tenure::count::{RcuRef, KeepsReadable, Readable};
/// struct Guard;
/// // SAFETY: the count below is a local that outlives its uses.
/// unsafe impl KeepsReadable for Guard {}
///
/// let count = RcuRef::new();
/// let guard = Guard;
/// let readable = Readable::by(&guard);
/// drop(guard);
/// let _ = count.put(readable);
/// ```
///
/// While the guard is there it does:
///
/// ```
/// # use tenure::count::{RcuRef, KeepsReadable, Readable};
/// # struct Guard;
/// # // SAFETY: the count below is a local that outlives its uses.
/// # unsafe impl KeepsReadable for Guard {}
/// # let count = RcuRef::new();
/// # let guard = Guard;
/// let readable = Readable::by(&guard);
/// assert!(count.put(readable).is_last());
/// drop(guard);
/// ```
#[derive(Clone, Copy)]
pub struct Readable<'w>(PhantomData<&'w ()>);

impl<'w> Readable<'w> {
    /// The memory stays readable because `guard` exists.
    #[inline(always)]
    pub fn by<G: KeepsReadable + ?Sized>(guard: &'w G) -> Self {
        let _ = guard;
        Self(PhantomData)
    }

    /// The memory stays readable for a reason that only the caller knows.
    ///
    /// # Safety
    ///
    /// During `'w` the memory of every count that is put with this witness is not freed or reused, even if another
    /// thread destroys the object: it is never freed (a static, an arena), or the destroyer waits for this thread.
    #[must_use]
    #[inline(always)]
    pub const unsafe fn assume() -> Self {
        Self(PhantomData)
    }
}

impl fmt::Debug for Readable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Readable")
    }
}
