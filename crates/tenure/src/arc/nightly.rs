//! What only a nightly compiler lets `Arc` and `Weak` implement: std's coercions, receivers and drop check.
//!
//! Compiled with `--cfg tenure_nightly`. These traits are not stable, and may change with any nightly;
//! `ci/nightly_toolchain.sh` names the one that this is written for.

use super::{Arc, Weak};
use core::marker::Unsize;
use core::ops::{CoerceUnsized, DispatchFromDyn, LegacyReceiver};
use core::pin::PinSafePointer;

/// `Arc<T>` becomes `Arc<dyn Trait>` by itself.
impl<T: ?Sized + Unsize<U>, U: ?Sized> CoerceUnsized<Arc<U>> for Arc<T> {}
impl<T: ?Sized + Unsize<U>, U: ?Sized> CoerceUnsized<Weak<U>> for Weak<T> {}

/// Methods that take `self: Arc<Self>` can be called on an `Arc<dyn Trait>`.
impl<T: ?Sized + Unsize<U>, U: ?Sized> DispatchFromDyn<Arc<U>> for Arc<T> {}
impl<T: ?Sized + Unsize<U>, U: ?Sized> DispatchFromDyn<Weak<U>> for Weak<T> {}

/// Methods may take `self: Arc<Self>`, `self: &Arc<Self>` and `self: Pin<Arc<Self>>`.
impl<T: ?Sized> LegacyReceiver for Arc<T> {}

// SAFETY: `deref` gives the same place every time, which is in the allocation and does not move with the `Arc`; a
// coercion changes the metadata alone.
unsafe impl<T: ?Sized> PinSafePointer for Arc<T> {}

// SAFETY: the drop touches the value only to drop it, which `PhantomData<Inner<T>>` tells the drop check. Size and
// alignment, which it asks for, are read from the pointer's metadata.
unsafe impl<#[may_dangle] T: ?Sized> Drop for Arc<T> {
    /// Gives the reference up, and with the last one drops the value.
    ///
    /// If the value's destructor panics the memory is released all the same.
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the drop.
        unsafe { self.give_up() };
    }
}

// SAFETY: the drop never touches the value. Size and alignment are read from the pointer's metadata.
unsafe impl<#[may_dangle] T: ?Sized> Drop for Weak<T> {
    /// Gives the reference up, and frees the memory with the last one of a dead value.
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the drop.
        unsafe { self.give_up() };
    }
}
