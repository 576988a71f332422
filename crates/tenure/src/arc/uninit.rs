//! `Arc`s whose value is written after the allocation.

use super::Arc;
use super::inner::{Inner, Uninit};
use core::mem::MaybeUninit;
use core::ptr::NonNull;

impl<T> Arc<T> {
    /// Memory for a value that is still to be written.
    ///
    /// ```
    /// use tenure::sync::Arc;
    ///
    /// let mut five = Arc::<u32>::new_uninit();
    /// Arc::get_mut(&mut five).unwrap().write(5);
    /// // SAFETY: written.
    /// let five = unsafe { five.assume_init() };
    /// assert_eq!(*five, 5);
    /// ```
    #[must_use]
    #[inline]
    pub fn new_uninit() -> Arc<MaybeUninit<T>> {
        Arc::new(MaybeUninit::uninit())
    }

    /// As [`new_uninit`](Self::new_uninit), with every byte of the value zero.
    #[must_use]
    pub fn new_zeroed() -> Arc<MaybeUninit<T>> {
        let memory = Uninit::<MaybeUninit<T>>::zeroed();
        // SAFETY: any bytes are a `MaybeUninit`.
        unsafe { memory.assume_init() }
    }
}

impl<T> Arc<[T]> {
    /// Memory for `len` values that are still to be written. One allocation.
    ///
    /// # Panics
    ///
    /// If that many values are larger than the address space.
    ///
    /// ```
    /// use tenure::sync::Arc;
    ///
    /// let mut squares = Arc::<[u32]>::new_uninit_slice(4);
    /// for (n, place) in (0..).zip(Arc::get_mut(&mut squares).unwrap()) {
    ///     place.write(n * n);
    /// }
    /// // SAFETY: all four are written.
    /// let squares = unsafe { squares.assume_init() };
    /// assert_eq!(*squares, [0, 1, 4, 9]);
    /// ```
    #[must_use]
    pub fn new_uninit_slice(len: usize) -> Arc<[MaybeUninit<T>]> {
        let memory = Uninit::<[MaybeUninit<T>]>::slice(len);
        // SAFETY: any bytes are `MaybeUninit`s.
        unsafe { memory.assume_init() }
    }

    /// As [`new_uninit_slice`](Self::new_uninit_slice), with every byte of the values zero.
    ///
    /// # Panics
    ///
    /// If that many values are larger than the address space.
    #[must_use]
    pub fn new_zeroed_slice(len: usize) -> Arc<[MaybeUninit<T>]> {
        let memory = Uninit::<[MaybeUninit<T>]>::zeroed_slice(len);
        // SAFETY: any bytes are `MaybeUninit`s.
        unsafe { memory.assume_init() }
    }
}

impl<T> Arc<MaybeUninit<T>> {
    /// The same `Arc`, of a value that is there.
    ///
    /// # Safety
    ///
    /// The value has been written.
    #[must_use = "the value is dropped at once"]
    #[inline]
    pub unsafe fn assume_init(self) -> Arc<T> {
        let inner: NonNull<Inner<T>> = Self::into_inner_ptr(self).cast();
        // SAFETY: `MaybeUninit<T>` has the layout of `T`, and the bytes are one (caller). The
        // reference moves over.
        unsafe { Arc::from_inner(inner) }
    }
}

impl<T> Arc<[MaybeUninit<T>]> {
    /// The same `Arc`, of values that are there.
    ///
    /// # Safety
    ///
    /// All values have been written.
    #[must_use = "the values are dropped at once"]
    #[inline]
    pub unsafe fn assume_init(self) -> Arc<[T]> {
        let inner = Self::into_inner_ptr(self).as_ptr() as *mut Inner<[T]>;
        // SAFETY: not null a line ago.
        let inner = unsafe { NonNull::new_unchecked(inner) };
        // SAFETY: `[MaybeUninit<T>]` has the layout of `[T]`, and the bytes are one (caller). The
        // reference moves over.
        unsafe { Arc::from_inner(inner) }
    }
}
