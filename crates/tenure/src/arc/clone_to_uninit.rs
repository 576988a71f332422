//! [`CloneToUninit`]: cloning a value whose size only the value knows, into memory that is there.

use core::ffi::CStr;

/// What [`Arc::make_mut`](super::Arc::make_mut) can clone.
///
/// Every `T: Clone`, and the unsized `[T]`, `str`, `CStr`, and with `std` `OsStr` and `Path`.
/// Stands in for the trait of this name in `core::clone`, which is not stable; so nobody else can
/// implement it.
pub trait CloneToUninit: sealed::CloneToUninit {}

impl<T: ?Sized + sealed::CloneToUninit> CloneToUninit for T {}

mod sealed {
    pub trait CloneToUninit {
        /// Writes a clone of `self` to `place`.
        ///
        /// A panic on the way leaves nothing in `place` that would have to be dropped.
        ///
        /// # Safety
        ///
        /// `place` has the alignment of `self`, is valid for writes of its size, and apart from it.
        unsafe fn clone_to_uninit(&self, place: *mut u8);
    }
}

impl<T: Clone> sealed::CloneToUninit for T {
    #[inline]
    unsafe fn clone_to_uninit(&self, place: *mut u8) {
        // SAFETY: room for a `T` (caller).
        unsafe { place.cast::<T>().write(self.clone()) };
    }
}

impl<T: Clone> sealed::CloneToUninit for [T] {
    unsafe fn clone_to_uninit(&self, place: *mut u8) {
        let mut written = Written { first: place.cast::<T>(), len: 0 };
        for element in self {
            // A panic drops what is written so far.
            let clone = element.clone();
            // SAFETY: at most the length of `self`, for which there is room (caller).
            let next = unsafe { written.first.add(written.len) };
            // SAFETY: as above; nothing is there yet.
            unsafe { next.write(clone) };
            written.len += 1;
        }
        core::mem::forget(written);
    }
}

/// The first elements of a slice that is being written.
struct Written<T> {
    first: *mut T,
    len: usize,
}

impl<T> Drop for Written<T> {
    fn drop(&mut self) {
        let written = core::ptr::slice_from_raw_parts_mut(self.first, self.len);
        // SAFETY: that many are written, and nobody else knows of them.
        unsafe { written.drop_in_place() };
    }
}

/// For types that are bytes.
macro_rules! bytewise {
    ($($(#[$attribute:meta])* $bytes:ty;)*) => {$(
        $(#[$attribute])*
        impl sealed::CloneToUninit for $bytes {
            #[inline]
            unsafe fn clone_to_uninit(&self, place: *mut u8) {
                let bytes = (&raw const *self).cast::<u8>();
                // SAFETY: the type owns nothing, so its bytes are a clone of it; as many as it has
                // are readable here, and writable there (caller).
                unsafe { bytes.copy_to_nonoverlapping(place, size_of_val(self)) };
            }
        }
    )*};
}

bytewise! {
    str;
    CStr;
    #[cfg(feature = "std")]
    std::ffi::OsStr;
    #[cfg(feature = "std")]
    std::path::Path;
}
