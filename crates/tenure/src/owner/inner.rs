//! The allocation behind an owner and its handles: a head, then the value, laid out as that of an
//! [`Arc`](crate::arc::Arc).

use super::closing::Ending;
use crate::arc::{layout_of, with_address};
use crate::cells::{CELLS, ThreadRef};
use alloc::alloc::{alloc, dealloc, handle_alloc_error};
use alloc::boxed::Box;
use core::alloc::Layout;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

#[repr(C)]
pub(super) struct Inner<T: ?Sized> {
    head: Head,
    value: T,
}

pub(super) struct Head {
    pub(super) count: ThreadRef,
    pub(super) ending: Ending,
}

impl Head {
    fn new() -> Self {
        Self { count: ThreadRef::new_in(&CELLS), ending: Ending::new() }
    }
}

/// The value's place, counted from the start of the allocation.
const fn offset(align: usize) -> usize {
    size_of::<Head>().next_multiple_of(align)
}

impl<T> Inner<T> {
    pub(super) fn new(value: T) -> NonNull<Self> {
        NonNull::from(Box::leak(Box::new(Self { head: Head::new(), value })))
    }
}

impl<T: ?Sized> Inner<T> {
    /// Moves the value over.
    pub(super) fn from_box(value: Box<T>) -> NonNull<Self> {
        let of_value = Layout::for_value(&*value);
        let layout = Layout::new::<Head>().extend(of_value);
        let (layout, at) = layout.expect("the value is larger than the address space");
        let layout = layout.pad_to_align();
        debug_assert_eq!(at, offset(of_value.align()));
        let head = Head::new();
        // SAFETY: the head is in it, so its size is not zero.
        let memory = unsafe { alloc(layout) };
        let Some(inner) = NonNull::new(with_address(&raw const *value, memory) as *mut Self) else {
            handle_alloc_error(layout)
        };
        // SAFETY: fresh memory for an `Inner` with the metadata of `value`, which begins with the head.
        unsafe { inner.cast::<Head>().write(head) };
        let value = Box::into_raw(value);
        // SAFETY: two allocations with room for this value; the old bytes are not used as a value again.
        unsafe { value.cast::<u8>().copy_to_nonoverlapping(memory.add(at), of_value.size()) };
        // SAFETY: `ManuallyDrop` has the layout of what it wraps. The box frees the memory, not the value, which moved.
        drop(unsafe { Box::from_raw(value as *mut ManuallyDrop<T>) });
        inner
    }
}

/// # Safety
///
/// The allocation is live for `'a`.
#[inline(always)]
pub(super) unsafe fn head<'a, T: ?Sized>(inner: NonNull<Inner<T>>) -> &'a Head {
    // SAFETY: live (caller), and written once.
    unsafe { &(*inner.as_ptr()).head }
}

/// # Safety
///
/// The allocation is live.
#[inline(always)]
pub(super) unsafe fn value<T: ?Sized>(inner: NonNull<Inner<T>>) -> *mut T {
    // SAFETY: the field lies in a live allocation (caller). No reference is made, so the pointer keeps the provenance
    // of the whole allocation, which `from_value` needs.
    unsafe { &raw mut (*inner.as_ptr()).value }
}

/// # Safety
///
/// The pointer came from [`value`] (perhaps unsized since), and the allocation is live.
pub(super) unsafe fn from_value<T: ?Sized>(value: *const T) -> NonNull<Inner<T>> {
    // SAFETY: the value lies in a live allocation (caller), by the rule of `repr(C)` this far behind its start, which
    // is not null.
    unsafe {
        let offset = offset(layout_of(value).align());
        NonNull::new_unchecked(value.byte_sub(offset) as *mut Inner<T>)
    }
}

/// Drops the value, says so to who waits, and frees the memory if the owner has gone.
///
/// # Safety
///
/// The caller got the last put of the count, and uses the allocation no more.
#[cold]
#[inline(never)]
pub(super) unsafe fn destroy<T: ?Sized>(inner: NonNull<Inner<T>>) {
    struct References<T: ?Sized>(NonNull<Inner<T>>);

    impl<T: ?Sized> Drop for References<T> {
        fn drop(&mut self) {
            // SAFETY: live: the references have not left.
            let ended = unsafe { head(self.0) }.ending.ended();
            // SAFETY: the last put was the caller's of `destroy`, and the value is gone.
            unsafe { leave(self.0) };
            ended.tell();
        }
    }

    // Also if the destructor panics.
    let _references = References(inner);
    // SAFETY: alive, the caller's alone, and not used after this.
    unsafe { value(inner).drop_in_place() };
}

/// The owner leaves the allocation, or the references do. The second one frees it.
///
/// # Safety
///
/// As [`ThreadRef::leave`], and the allocation is live.
pub(super) unsafe fn leave<T: ?Sized>(inner: NonNull<Inner<T>>) {
    // SAFETY: live (caller).
    let count = unsafe { head(inner) }.count;
    // SAFETY: the count is of `CELLS`; the rest is the caller's promise.
    if !unsafe { count.leave() } {
        return;
    }
    // SAFETY: the last reference has been put, and the owner has gone: no other thread has a way to it.
    unsafe { count.retire(&CELLS) };
    // SAFETY: as above, so it is live up to here. `new` or `from_box` allocated it with the layout of this `Inner`, or of
    // one that was unsized to it, and its value has been dropped.
    unsafe {
        inner.cast::<Head>().drop_in_place();
        dealloc(inner.as_ptr().cast(), layout_of(inner.as_ptr()));
    }
}
