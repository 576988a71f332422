//! Conversions into `Arc`: from values, boxes, strings and slices; and [`CloneToUninit`], for unsized values.

use super::Arc;
use super::inner::{Inner, Uninit};
use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::ffi::CString;
use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::CStr;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::ptr::NonNull;

impl<T> From<T> for Arc<T> {
    /// [`Arc::new`].
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> From<Box<T>> for Arc<T> {
    /// Moves the value, of any size, into an allocation with counts: one allocation, one deallocation.
    ///
    /// ```
    /// use std::fmt::Display;
    /// use tenure::sync::Arc;
    ///
    /// let boxed: Box<dyn Display> = Box::new(5);
    /// let shared: Arc<dyn Display> = Arc::from(boxed);
    /// assert_eq!(shared.to_string(), "5");
    /// ```
    fn from(value: Box<T>) -> Self {
        let mut moved = Uninit::like(&*value);
        let size = size_of_val(&*value);
        let value = Box::into_raw(value);
        let (from, to) = (value.cast::<u8>(), moved.data().cast::<u8>());
        // SAFETY: two allocations with room for this value; the old bytes are not used as a value again.
        unsafe { from.copy_to_nonoverlapping(to, size) };
        // SAFETY: `ManuallyDrop` has the layout of what it wraps. The box frees the memory, not the value, which has
        // moved.
        drop(unsafe { Box::from_raw(value as *mut ManuallyDrop<T>) });
        // SAFETY: written.
        unsafe { moved.assume_init() }
    }
}

impl<T> From<Vec<T>> for Arc<[T]> {
    /// Moves the elements: one allocation, one deallocation.
    fn from(mut values: Vec<T>) -> Self {
        let mut moved = Uninit::<[T]>::slice(values.len());
        let to = moved.data().cast::<T>();
        // SAFETY: room for as many elements; the vector forgets them in the next statement.
        unsafe { values.as_ptr().copy_to_nonoverlapping(to, values.len()) };
        // SAFETY: zero elements are always initialised.
        unsafe { values.set_len(0) };
        // SAFETY: written.
        unsafe { moved.assume_init() }
    }
}

impl<T, const N: usize> From<[T; N]> for Arc<[T]> {
    fn from(values: [T; N]) -> Self {
        crate::unsize!(Arc::new(values) => [T])
    }
}

impl<T> FromIterator<T> for Arc<[T]> {
    /// Collects into a vector, then moves it into an `Arc`. If the iterator panics its elements are dropped.
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Self {
        Vec::from_iter(iter).into()
    }
}

impl<T, const N: usize> TryFrom<Arc<[T]>> for Arc<[T; N]> {
    type Error = Arc<[T]>;

    /// The same allocation as an array, if the length is `N`.
    fn try_from(slice: Arc<[T]>) -> Result<Self, Self::Error> {
        if slice.len() != N {
            return Err(slice);
        }
        let inner: NonNull<Inner<[T; N]>> = Arc::into_inner_ptr(slice).cast();
        // SAFETY: `N` elements in a row are an array; the reference moves over.
        Ok(unsafe { Arc::from_inner(inner) })
    }
}

impl From<Arc<str>> for Arc<[u8]> {
    /// The same allocation.
    fn from(text: Arc<str>) -> Self {
        // SAFETY: a `str` may be read as the bytes that it is, and has their layout.
        unsafe { Arc::from_raw(Arc::into_raw(text) as *const [u8]) }
    }
}

impl<T: Clone> From<&[T]> for Arc<[T]> {
    /// Clones the elements. If one panics, those before it are dropped.
    fn from(values: &[T]) -> Self {
        Self::copy_of(values)
    }
}

impl<T: Clone> From<&mut [T]> for Arc<[T]> {
    /// Clones the elements. If one panics, those before it are dropped.
    fn from(values: &mut [T]) -> Self {
        Self::copy_of(values)
    }
}

/// The string types: each from its borrowed forms and its owned one, by one copy.
macro_rules! strings {
    ($($borrowed:ty, $owned:ty;)*) => {$(
        impl From<&$borrowed> for Arc<$borrowed> {
            fn from(text: &$borrowed) -> Self {
                Self::copy_of(text)
            }
        }
        impl From<&mut $borrowed> for Arc<$borrowed> {
            fn from(text: &mut $borrowed) -> Self {
                Self::copy_of(text)
            }
        }
        impl From<$owned> for Arc<$borrowed> {
            fn from(text: $owned) -> Self {
                let text: &$borrowed = &text;
                Self::copy_of(text)
            }
        }
    )*};
}

strings! {
    str, String;
    CStr, CString;
}
#[cfg(feature = "std")]
strings! {
    std::ffi::OsStr, std::ffi::OsString;
    std::path::Path, std::path::PathBuf;
}

impl<'a, B> From<Cow<'a, B>> for Arc<B>
where
    B: ToOwned + ?Sized,
    Arc<B>: From<&'a B> + From<B::Owned>,
{
    fn from(value: Cow<'a, B>) -> Self {
        match value {
            Cow::Borrowed(value) => Self::from(value),
            Cow::Owned(value) => Self::from(value),
        }
    }
}

impl<T: Default> Default for Arc<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

/// The empty slice. Allocates its counts.
impl<T> Default for Arc<[T]> {
    fn default() -> Self {
        Self::from([])
    }
}

/// The empty string. Allocates its counts.
impl Default for Arc<str> {
    fn default() -> Self {
        Self::from("")
    }
}

/// The empty string. Allocates its counts.
impl Default for Arc<CStr> {
    fn default() -> Self {
        Self::from(c"")
    }
}

impl<T: ?Sized> Default for Pin<Arc<T>>
where
    Arc<T>: Default,
{
    fn default() -> Self {
        // SAFETY: as in `Arc::pin`: an Arc's value never moves by itself, and this one is fresh.
        unsafe { Pin::new_unchecked(Arc::default()) }
    }
}

/// What [`Arc::make_mut`] can clone: every `T: Clone`, `[T]`, `str`, `CStr`, and with `std` `OsStr` and `Path`. Stands
/// in for the unstable trait of this name in `core::clone`, so it is sealed.
#[doc(hidden)]
pub trait CloneToUninit: sealed::CloneToUninit {}

impl<T: ?Sized + sealed::CloneToUninit> CloneToUninit for T {}

mod sealed {
    pub trait CloneToUninit {
        /// Writes a clone of `self` to `place`. A panic leaves nothing in `place` that would have to be dropped.
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
            // SAFETY: at most the length of `self`, for which there is room (caller); nothing is there yet.
            unsafe { written.first.add(written.len).write(clone) };
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
        // SAFETY: that many are written, and nothing else refers to them.
        unsafe { written.drop_in_place() };
    }
}

macro_rules! bytewise {
    ($($(#[$attribute:meta])* $bytes:ty;)*) => {$(
        $(#[$attribute])*
        impl sealed::CloneToUninit for $bytes {
            #[inline]
            unsafe fn clone_to_uninit(&self, place: *mut u8) {
                let bytes = (&raw const *self).cast::<u8>();
                // SAFETY: the type owns nothing, so its bytes are a clone of it; there is room for them (caller).
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
