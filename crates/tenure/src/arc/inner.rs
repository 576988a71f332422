//! The allocation behind an `Arc`: its layout, its start and end, and fat pointers into it on stable Rust.
//!
//! ```text
//!  0                16        16 rounded up to the alignment of T
//!  ├── Counts ──────┼─ (pad) ─┼── data: T ...
//! ```
//!
//! A pointer to an unsized `T` is an address and metadata (a length, a vtable). Stable Rust cannot take it apart. But a
//! pointer to the value and one to the allocation have the same metadata and turn into each other by an `as` cast, and
//! [`with_address`] writes a new address over the old one.
//!
//! The value may be dead while a `Weak` keeps the allocation, or about to be dropped by another thread. So size and
//! alignment are read from a reference to an `UnsafeCell<ManuallyDrop<T>>` at its place ([`layout_of`]), which claims
//! nothing about the value.

use super::counts::Counts;
use alloc::alloc::{alloc, alloc_zeroed, dealloc, handle_alloc_error};
use core::alloc::Layout;
use core::cell::UnsafeCell;
use core::mem::{self, ManuallyDrop};
use core::ptr::{self, NonNull};

#[repr(C)]
pub(super) struct Inner<T: ?Sized> {
    pub(super) counts: Counts,
    pub(super) data: T,
}

/// The layout of what `pointer` points to, alive or dead.
///
/// # Safety
///
/// `pointer` is aligned, points into an allocation for a `T`, initialised or not, and has that `T`'s metadata.
#[inline]
pub(crate) unsafe fn layout_of<T: ?Sized>(pointer: *const T) -> Layout {
    // SAFETY: the allocation outlives this statement (caller). The reference reads nothing, excludes no writer, since
    // all of it is inside an `UnsafeCell`, and claims no live value, since that is a `ManuallyDrop`.
    let husk = unsafe { &*(pointer as *const UnsafeCell<ManuallyDrop<T>>) };
    Layout::for_value(husk)
}

/// The value's place, counted from the start of the allocation.
#[inline]
const fn data_offset(align: usize) -> usize {
    size_of::<Counts>().next_multiple_of(align)
}

/// The value behind a pointer to the allocation.
///
/// # Safety
///
/// The allocation is live.
#[inline]
pub(super) unsafe fn data<T: ?Sized>(inner: NonNull<Inner<T>>) -> *mut T {
    // SAFETY: the field lies in a live allocation (caller). No reference is made, so the pointer keeps the provenance
    // of the whole allocation, which `from_data` needs.
    unsafe { &raw mut (*inner.as_ptr()).data }
}

/// The allocation around a pointer that [`data`] returned.
///
/// # Safety
///
/// `data` came from [`data`] (perhaps unsized since), and the allocation is live.
#[inline]
pub(super) unsafe fn from_data<T: ?Sized>(data: *const T) -> NonNull<Inner<T>> {
    // SAFETY: the value lies in a live allocation (caller), by the rule of `repr(C)` this far behind its start, which
    // is not null.
    unsafe {
        let offset = data_offset(layout_of(data).align());
        NonNull::new_unchecked(data.byte_sub(offset) as *mut Inner<T>)
    }
}

/// The counts behind a pointer to the allocation.
///
/// # Safety
///
/// The allocation is live while the counts are used. An operation that gives the caller's reference up may be the last.
#[inline(always)]
pub(super) unsafe fn counts<'a, T: ?Sized>(inner: NonNull<Inner<T>>) -> &'a Counts {
    // SAFETY: live (caller), and initialised with the allocation. All of it is atomics, so the reference may dangle
    // after the operation that gave them up.
    unsafe { &(*inner.as_ptr()).counts }
}

/// Frees the memory, without a look at the value.
///
/// # Safety
///
/// [`Counts`] told the caller to free it, and the value is dead or moved out.
#[cold]
pub(super) unsafe fn free<T: ?Sized>(inner: NonNull<Inner<T>>) {
    // SAFETY: the allocation is live. `Box` or `Uninit` allocated it with the layout of `Inner<T>`, for this type or
    // one that was unsized to it and has the same layout. No other thread touches it (caller).
    unsafe { dealloc(inner.as_ptr().cast(), layout_of(inner.as_ptr())) };
}

/// `pointer` with another address, and the provenance of that.
#[inline]
pub(crate) fn with_address<T: ?Sized>(pointer: *const T, address: *mut u8) -> *mut T {
    const { assert!(size_of::<*mut T>() >= size_of::<*mut u8>()) };
    let mut pointer = pointer.cast_mut();
    // SAFETY: the variable is at least as large and aligned as a thin pointer. Fat pointers begin with their address on
    // every compiler so far, which is asserted below.
    unsafe { (&raw mut pointer).cast::<*mut u8>().write(address) };
    // Folds away.
    assert!(
        ptr::addr_eq(pointer, address),
        "this compiler lays fat pointers out in an unknown way"
    );
    pointer
}

/// A new allocation whose counts say "one `Arc`" and whose value is still to be written. Its drop frees it, so that a
/// panic on the way to the value leaks nothing.
pub(super) struct Uninit<T: ?Sized> {
    inner: NonNull<Inner<T>>,
    layout: Layout,
}

impl<T> Uninit<T> {
    pub(super) fn zeroed() -> Self {
        Self::allocate(Layout::new::<T>(), alloc_zeroed, <*mut u8>::cast)
    }
}

impl<T> Uninit<[T]> {
    pub(super) fn slice(len: usize) -> Self {
        Self::slice_by(len, alloc)
    }

    pub(super) fn zeroed_slice(len: usize) -> Self {
        Self::slice_by(len, alloc_zeroed)
    }

    fn slice_by(len: usize, allocator: unsafe fn(Layout) -> *mut u8) -> Self {
        let data = Layout::array::<T>(len).expect("the slice is larger than the address space");
        Self::allocate(data, allocator, |memory| {
            ptr::slice_from_raw_parts_mut(memory.cast::<T>(), len) as *mut Inner<[T]>
        })
    }
}

impl<T: ?Sized> Uninit<T> {
    /// With the size, alignment and metadata of `value`.
    pub(super) fn like(value: &T) -> Self {
        Self::allocate(Layout::for_value(value), alloc, |memory| {
            with_address(value, memory) as *mut Inner<T>
        })
    }

    fn allocate(
        data: Layout,
        allocator: unsafe fn(Layout) -> *mut u8,
        as_inner: impl FnOnce(*mut u8) -> *mut Inner<T>,
    ) -> Self {
        let layout = Layout::new::<Counts>().extend(data);
        let (layout, offset) = layout.expect("the value is larger than the address space");
        let layout = layout.pad_to_align();
        debug_assert_eq!(offset, data_offset(data.align()));

        // SAFETY: the counts are in it, so its size is not zero.
        let Some(inner) = NonNull::new(as_inner(unsafe { allocator(layout) })) else {
            handle_alloc_error(layout);
        };
        // SAFETY: fresh memory of the layout of an `Inner<T>`, which begins with the counts.
        unsafe { inner.cast::<Counts>().write(Counts::new()) };
        // SAFETY: just allocated, for a `T` with the metadata that `as_inner` knows.
        debug_assert_eq!(unsafe { layout_of(inner.as_ptr()) }, layout);
        Self { inner, layout }
    }

    #[inline]
    pub(super) fn data(&mut self) -> *mut T {
        // SAFETY: live until `self` is dropped.
        unsafe { data(self.inner) }
    }

    #[inline]
    pub(super) fn into_inner(self) -> NonNull<Inner<T>> {
        let inner = self.inner;
        mem::forget(self);
        inner
    }
}

impl<T: ?Sized> Drop for Uninit<T> {
    fn drop(&mut self) {
        // SAFETY: `allocate` made it with this layout, and it was not handed out.
        unsafe { dealloc(self.inner.as_ptr().cast(), self.layout) };
    }
}

/// The weak reference that all `Arc`s own together, in the hand of the one that ended the value. Its drop gives it up,
/// so that memory is freed although the value's destructor panics.
pub(super) struct Common<T: ?Sized>(NonNull<Inner<T>>);

impl<T: ?Sized> Common<T> {
    /// # Safety
    ///
    /// [`Counts`] told the caller that the value is its own, and the value is gone before the result is dropped.
    #[inline]
    pub(super) unsafe fn new(inner: NonNull<Inner<T>>) -> Self {
        Self(inner)
    }
}

impl<T: ?Sized> Drop for Common<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the common reference is ours until this call gives it up.
        if unsafe { counts(self.0) }.drop_common() {
            // SAFETY: no Weak is left; the value is gone, see `new`.
            unsafe { free(self.0) };
        }
    }
}
