//! [`CachePadded`]: a value on a line of its own.

use super::{ISOLATION_BYTES, Layout, LineLayout};
use core::fmt;
use core::ops::{Deref, DerefMut};

/// A value that shares its cache line with nothing else.
///
/// Aligned and padded to a multiple of [`ISOLATION_BYTES`]. For a word that many cores write (a count, a lock, a
/// queue's head), or for the fields beside it that all cores read. One of the two suffices: isolate the smaller.
///
/// Cost: up to `ISOLATION_BYTES - 1` bytes of padding; no instructions. Aligned like crossbeam's type of
/// that name on x86-64 and AArch64, from and into which it converts (feature `crossbeam-utils`). But `#[derive(LineLayout)]`
/// knows its padding, and a `CachePadded` count is a [`RefCount`](crate::count::RefCount).
///
/// ```
/// use tenure::count::TicketRef;
/// use tenure::cache_line::{ISOLATION_BYTES, CachePadded};
///
/// struct Route {
///     refs: CachePadded<TicketRef>, // written by every core
///     gateway: u32,              // read by every core, on another line
/// }
///
/// let route = Route { refs: CachePadded::new(TicketRef::new()), gateway: 0x0a00_0001 };
/// let distance = (&raw const route.gateway).addr().abs_diff((&raw const route.refs).addr());
/// assert!(distance >= ISOLATION_BYTES);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(any(target_arch = "x86_64", target_arch = "aarch64"), repr(align(128)))]
#[cfg_attr(target_arch = "powerpc64", repr(align(128)))]
#[cfg_attr(target_arch = "s390x", repr(align(256)))]
#[cfg_attr(
    not(any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "powerpc64",
        target_arch = "s390x"
    )),
    repr(align(64))
)]
pub struct CachePadded<T> {
    value: T,
}

// The attribute above takes no constant.
const _: () = assert!(align_of::<CachePadded<u8>>() == ISOLATION_BYTES);

impl<T> CachePadded<T> {
    /// Puts `value` on a line of its own.
    pub const fn new(value: T) -> Self {
        Self { value }
    }

    /// The value, without a reference to the padding.
    ///
    /// # Safety
    ///
    /// `this` points into a live object.
    #[inline(always)]
    pub(crate) const unsafe fn raw(this: *const Self) -> *const T {
        // SAFETY: the place lies in a live object (caller).
        unsafe { &raw const (*this).value }
    }

    /// Takes the value out.
    pub fn into_inner(self) -> T {
        self.value
    }
}

/// The fields of `T`, at the offsets that they have in it.
impl<T: LineLayout> LineLayout for CachePadded<T> {
    const LAYOUT: &'static Layout = {
        assert!(core::mem::offset_of!(Self, value) == 0);
        &Layout { size: size_of::<Self>(), align: align_of::<Self>(), ..*T::LAYOUT }
    };
}

/// The bytes of a field of type `T` that hold something: what the derive takes for its size. The constant of
/// `Used<CachePadded<T>>` itself goes before the trait's, which all others have.
#[doc(hidden)]
#[derive(Debug)]
pub struct Used<T>(core::marker::PhantomData<T>);

impl<T> Used<CachePadded<T>> {
    #[doc(hidden)]
    pub const BYTES: usize = size_of::<T>();
}

#[doc(hidden)]
pub trait UsedBytes {
    const BYTES: usize;
}

impl<T> UsedBytes for Used<T> {
    const BYTES: usize = size_of::<T>();
}

impl<T> Deref for CachePadded<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for CachePadded<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> From<T> for CachePadded<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

#[cfg(feature = "crossbeam-utils")]
impl<T> From<crossbeam_utils::CachePadded<T>> for CachePadded<T> {
    fn from(theirs: crossbeam_utils::CachePadded<T>) -> Self {
        Self::new(theirs.into_inner())
    }
}

#[cfg(feature = "crossbeam-utils")]
impl<T> From<CachePadded<T>> for crossbeam_utils::CachePadded<T> {
    fn from(ours: CachePadded<T>) -> Self {
        Self::new(ours.into_inner())
    }
}

impl<T: fmt::Debug> fmt::Debug for CachePadded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache_line::line_of;

    #[test]
    fn neighbours_in_an_array_share_no_line() {
        let words = [CachePadded::new(0_u8), CachePadded::new(1), CachePadded::new(2)];
        for pair in words.windows(2) {
            let (a, b) = ((&raw const *pair[0]).addr(), (&raw const *pair[1]).addr());
            assert_ne!(line_of(a), line_of(b));
            assert_eq!(b - a, ISOLATION_BYTES);
        }
    }

    #[test]
    fn a_value_that_fills_more_than_a_line_ends_on_a_line_boundary() {
        assert_eq!(size_of::<CachePadded<[u8; ISOLATION_BYTES + 1]>>(), 2 * ISOLATION_BYTES);
    }

    #[test]
    fn the_value_goes_in_and_comes_out() {
        let mut isolated = CachePadded::from(7);
        *isolated += 1;
        assert_eq!(*isolated, 8);
        assert_eq!(std::format!("{isolated:?}"), "8");
        assert_eq!(isolated.into_inner(), 8);
    }

    #[cfg(feature = "crossbeam-utils")]
    #[test]
    fn crossbeams_is_ours_and_back() {
        let ours: CachePadded<u32> = crossbeam_utils::CachePadded::new(7).into();
        let theirs: crossbeam_utils::CachePadded<u32> = ours.into();
        assert_eq!((*ours, *theirs), (7, 7));
    }
}
