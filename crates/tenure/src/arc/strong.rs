//! [`Arc`]: making one, sharing it, giving it up, and its raw pointers.

use super::counts::Counts;
use super::inner::{self, Common, Inner, Uninit};
use crate::count::Unsettled;
use alloc::boxed::Box;
use core::any::Any;
use core::marker::PhantomData;
use core::mem::{self, ManuallyDrop, MaybeUninit};
use core::num::NonZeroU16;
use core::ops::Deref;
use core::pin::Pin;
use core::ptr::{self, NonNull};

/// A thread-safe reference-counted pointer: std's `Arc` on a [`TicketRef`](crate::count::TicketRef).
///
/// It has all that std's `Arc` has on stable Rust, under the same names; the [module](super) lists the differences.
///
/// Cost: clone, downgrade and drop are one atomic add or subtraction each, on one cache line. So is the last drop of a
/// value that never had a `Weak`.
///
/// ```
/// use std::thread;
/// use tenure::sync::Arc;
///
/// let routes = Arc::new(vec!["10.0.0.0/8", "192.168.0.0/16"]);
/// let threads: Vec<_> = (0..4)
///     .map(|_| {
///         let routes = Arc::clone(&routes);
///         thread::spawn(move || routes.len())
///     })
///     .collect();
/// for thread in threads {
///     assert_eq!(thread.join().unwrap(), 2);
/// }
/// assert_eq!(Arc::strong_count(&routes), 1);
/// ```
///
/// It is `Send` and `Sync` if its value is both:
///
/// ```compile_fail,E0277
/// fn shared_by_threads<T: Send>(_: T) {}
/// shared_by_threads(tenure::sync::Arc::new(std::cell::Cell::new(1)));
/// ```
///
/// ```compile_fail,E0277
/// fn shared_by_threads<T: Sync>(_: T) {}
/// shared_by_threads(tenure::sync::Arc::new(std::rc::Rc::new(1)));
/// ```
pub struct Arc<T: ?Sized> {
    pub(super) ptr: NonNull<Inner<T>>,
    /// Dropping an `Arc` may drop a `T`.
    owns: PhantomData<Inner<T>>,
}

// SAFETY: a clone gives `&T` to any thread (`T: Sync`), and the last one drops the value or moves it out on any thread
// (`T: Send`). The counts are atomic.
unsafe impl<T: ?Sized + Sync + Send> Send for Arc<T> {}
// SAFETY: as above: any thread can clone a `&Arc<T>`.
unsafe impl<T: ?Sized + Sync + Send> Sync for Arc<T> {}

impl<T> Arc<T> {
    /// Moves `data` to the heap, behind a count of one. One allocation.
    #[must_use]
    #[inline]
    pub fn new(data: T) -> Self {
        let inner = Box::leak(Box::new(Inner { counts: Counts::new(), data }));
        // SAFETY: the counts are those of one Arc, this one.
        unsafe { Self::from_inner(inner.into()) }
    }

    /// [`new`](Self::new), pinned: a value that is not `Unpin` will not move again.
    #[must_use]
    pub fn pin(data: T) -> Pin<Self> {
        // SAFETY: an Arc's value moves only through `&mut`, which `Pin` withholds; Deref, Drop and Clone do not move
        // it.
        unsafe { Pin::new_unchecked(Self::new(data)) }
    }

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
        // SAFETY: any bytes are a `MaybeUninit`.
        unsafe { Uninit::<MaybeUninit<T>>::zeroed().assume_init() }
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
        // SAFETY: any bytes are `MaybeUninit`s.
        unsafe { Uninit::<[MaybeUninit<T>]>::slice(len).assume_init() }
    }

    /// As [`new_uninit_slice`](Self::new_uninit_slice), with every byte of the values zero.
    ///
    /// # Panics
    ///
    /// If that many values are larger than the address space.
    #[must_use]
    pub fn new_zeroed_slice(len: usize) -> Arc<[MaybeUninit<T>]> {
        // SAFETY: any bytes are `MaybeUninit`s.
        unsafe { Uninit::<[MaybeUninit<T>]>::zeroed_slice(len).assume_init() }
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
        // SAFETY: `MaybeUninit<T>` has the layout of `T`, and the bytes are one (caller). The reference moves over.
        unsafe { Arc::from_inner(Self::into_inner_ptr(self).cast()) }
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
        // SAFETY: it was not null before the cast. `[MaybeUninit<T>]` has the layout of `[T]`, and the bytes are one
        // (caller). The reference moves over.
        unsafe { Arc::from_inner(NonNull::new_unchecked(inner)) }
    }
}

impl<T: ?Sized> Arc<T> {
    /// # Safety
    ///
    /// `ptr` points to a live allocation, and the result takes over one of its strong references.
    #[inline(always)]
    pub(super) unsafe fn from_inner(ptr: NonNull<Inner<T>>) -> Self {
        Self { ptr, owns: PhantomData }
    }

    /// The allocation, with the strong reference of `this`.
    #[inline(always)]
    pub(super) fn into_inner_ptr(this: Self) -> NonNull<Inner<T>> {
        let ptr = this.ptr;
        mem::forget(this);
        ptr
    }

    #[inline(always)]
    pub(super) fn counts(&self) -> &Counts {
        // SAFETY: this Arc keeps the allocation alive.
        unsafe { inner::counts(self.ptr) }
    }

    /// The value, for reading; for writing while this is the only reference.
    #[inline(always)]
    pub(super) fn data(&self) -> *mut T {
        // SAFETY: this Arc keeps the allocation alive.
        unsafe { inner::data(self.ptr) }
    }

    /// # Safety
    ///
    /// [`Counts`] told the caller that the value is its own, for the reference in `this`.
    pub(super) unsafe fn take_data(this: Self) -> T
    where
        T: Sized,
    {
        let inner = Self::into_inner_ptr(this);
        // SAFETY: the value is ours (caller), and moved out before the result is dropped.
        let _common = unsafe { Common::new(inner) };
        // SAFETY: live, because the common reference is ours. Nothing else has access to the value, now or later.
        unsafe { inner::data(inner).read() }
    }

    /// A raw pointer to the value that stands for `this`, to be given back to [`from_raw`](Self::from_raw). No atomic
    /// operation.
    #[must_use = "the reference leaks unless the pointer is given back to from_raw"]
    #[inline]
    pub fn into_raw(this: Self) -> *const T {
        Self::as_ptr(&*ManuallyDrop::new(this))
    }

    /// Where the value is. Valid while an `Arc` to it exists.
    #[must_use]
    #[inline]
    pub fn as_ptr(this: &Self) -> *const T {
        this.data()
    }

    /// The `Arc` that [`into_raw`](Self::into_raw) turned into `ptr`.
    ///
    /// # Safety
    ///
    /// `ptr` came from `into_raw` of a `tenure::sync::Arc<U>` (std's has another layout), and stands for a strong
    /// reference that is given up nowhere else. `U` is `T`, or has its size and alignment and `T` may be read from its
    /// bytes; for unsized types `ptr` may have been unsized or upcast since.
    ///
    /// ```
    /// use tenure::sync::Arc;
    ///
    /// let text: Arc<str> = Arc::from("over the boundary and back");
    /// let raw = Arc::into_raw(text);
    /// // SAFETY: from `into_raw` above, and given back once.
    /// let text = unsafe { Arc::from_raw(raw) };
    /// assert_eq!(&*text, "over the boundary and back");
    /// ```
    #[inline]
    pub unsafe fn from_raw(ptr: *const T) -> Self {
        // SAFETY: from `into_raw`, which is `inner::data`, and kept live by the reference that the caller gives.
        unsafe { Self::from_inner(inner::from_data(ptr)) }
    }

    /// One more strong reference for a raw pointer. One add.
    ///
    /// # Safety
    ///
    /// `ptr` as in [`from_raw`](Self::from_raw), and a strong reference exists throughout the call.
    #[inline]
    pub unsafe fn increment_strong_count(ptr: *const T) {
        // SAFETY: as the caller ensures; the reference is looked at, not taken.
        let this = ManuallyDrop::new(unsafe { Self::from_raw(ptr) });
        this.counts().clone_strong();
    }

    /// Gives up one strong reference that a raw pointer stands for, and the value with the last one.
    ///
    /// # Safety
    ///
    /// As [`from_raw`](Self::from_raw).
    #[inline]
    pub unsafe fn decrement_strong_count(ptr: *const T) {
        // SAFETY: the caller gives its reference.
        drop(unsafe { Self::from_raw(ptr) });
    }

    /// The number of `Weak`s at some moment of the call.
    #[must_use]
    pub fn weak_count(this: &Self) -> usize {
        this.counts().weak_count()
    }

    /// The number of `Arc`s at some moment of the call, this one included. Above 2^31 it means "saturated": the value
    /// is never dropped.
    #[must_use]
    pub fn strong_count(this: &Self) -> usize {
        this.counts().strong_count()
    }

    /// Whether both share one allocation. Metadata (a vtable, a length) is not compared.
    #[must_use]
    #[inline]
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        ptr::addr_eq(this.ptr.as_ptr(), other.ptr.as_ptr())
    }

    /// # Safety
    ///
    /// Called once, as the last use of this `Arc`.
    #[inline(always)]
    pub(super) unsafe fn give_up(&mut self) {
        if let Some(unsettled) = self.counts().strong.put_begin(NonZeroU16::MIN) {
            // SAFETY: the reference was this Arc's, which is not used after this (caller).
            unsafe { Self::drop_slow(self.ptr, unsettled) };
        }
    }

    /// Ends the value if that was the last `Arc`, and the allocation if no `Weak` is left. Takes the pointer by value,
    /// so that the fast path of a drop needs no stack.
    ///
    /// # Safety
    ///
    /// `unsettled` came from the put of the reference of an `Arc` with this pointer, which is not used after this.
    #[cold]
    #[inline(never)]
    unsafe fn drop_slow(ptr: NonNull<Inner<T>>, unsettled: Unsettled) {
        // SAFETY: a put that has not ended keeps the counts readable.
        if !unsafe { inner::counts(ptr) }.strong.put_end(unsettled).is_last() {
            return;
        }
        // Given up after the value's destructor, which may clone and drop Weaks to itself, and may panic.
        // SAFETY: that was the last; the value is dropped in the next statement.
        let _common = unsafe { Common::new(ptr) };
        // SAFETY: the common reference keeps the allocation. The value is ours alone, alive, and not used after this.
        unsafe { inner::data(ptr).drop_in_place() };
    }
}

impl Arc<dyn Any + Send + Sync> {
    /// The same `Arc` with its concrete type. No atomic operation.
    ///
    /// # Errors
    ///
    /// `self`, if the value is of another type.
    ///
    /// ```
    /// use std::any::Any;
    /// use tenure::sync::Arc;
    ///
    /// let any: Arc<dyn Any + Send + Sync> = tenure::unsize!(Arc::new(5_u32) => dyn Any + Send + Sync);
    /// let any = any.downcast::<String>().unwrap_err();
    /// assert_eq!(*any.downcast::<u32>().unwrap(), 5);
    /// ```
    #[inline]
    pub fn downcast<T>(self) -> Result<Arc<T>, Self>
    where
        T: Any + Send + Sync,
    {
        if !(*self).is::<T>() {
            return Err(self);
        }
        // SAFETY: the value is a `T`, so the allocation is an `Inner<T>`; the reference moves over.
        Ok(unsafe { Arc::from_inner(Self::into_inner_ptr(self).cast()) })
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: alive while an Arc exists, and not written during this borrow: `get_mut` and `make_mut` borrow the
        // only Arc exclusively.
        unsafe { &*self.data() }
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    /// Another `Arc` to the same value. One add.
    #[inline]
    fn clone(&self) -> Self {
        self.counts().clone_strong();
        // SAFETY: the reference that was just taken.
        unsafe { Self::from_inner(self.ptr) }
    }
}

/// With `tenure_nightly` the implementation is in `traits.rs`.
#[cfg(not(tenure_nightly))]
impl<T: ?Sized> Drop for Arc<T> {
    /// Gives the reference up, and with the last one drops the value. If its destructor panics the memory is released
    /// all the same.
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the drop.
        unsafe { self.give_up() };
    }
}

impl<T: ?Sized> Uninit<T> {
    /// # Safety
    ///
    /// The value has been written.
    #[inline]
    pub(super) unsafe fn assume_init(self) -> Arc<T> {
        // SAFETY: the counts say "one Arc", and the value is there (caller).
        unsafe { Arc::from_inner(self.into_inner()) }
    }
}
