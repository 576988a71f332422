//! [`RefCnt`]: an [`ArcSwapAny`](::arc_swap::ArcSwapAny) holds an `Arc` or a `Weak` of this crate.

use super::{Arc, Weak};
use ::arc_swap::RefCnt;
use core::ptr;

/// ```
/// use tenure::sync::Arc;
///
/// type ArcSwap<T> = arc_swap::ArcSwapAny<Arc<T>>;
///
/// let config = ArcSwap::new(Arc::new(String::from("old")));
/// let before = config.load();
/// config.store(Arc::new(String::from("new")));
/// assert_eq!((before.as_str(), config.load().as_str()), ("old", "new"));
/// ```
// SAFETY: `into_raw` and `from_raw`, whose pointer is the value's: the same for all clones, never null, and another
// for each allocation that lives. Every reference is one in the count.
unsafe impl<T> RefCnt for Arc<T> {
    type Base = T;

    fn into_ptr(me: Self) -> *mut T {
        Self::into_raw(me).cast_mut()
    }

    fn as_ptr(me: &Self) -> *mut T {
        Self::as_ptr(me).cast_mut()
    }

    unsafe fn from_ptr(ptr: *const T) -> Self {
        // SAFETY: from `into_raw`; what is converted back too often is forgotten again (caller).
        unsafe { Self::from_raw(ptr) }
    }
}

/// A `Weak` to nothing is the null pointer.
// SAFETY: as above; two `Weak`s to nothing are the same, and null is no allocation's.
unsafe impl<T> RefCnt for Weak<T> {
    type Base = T;

    fn into_ptr(me: Self) -> *mut T {
        if me.counts().is_some() { me.into_raw().cast_mut() } else { ptr::null_mut() }
    }

    fn as_ptr(me: &Self) -> *mut T {
        if me.counts().is_some() { me.as_ptr().cast_mut() } else { ptr::null_mut() }
    }

    unsafe fn from_ptr(ptr: *const T) -> Self {
        if ptr.is_null() {
            return Self::new();
        }
        // SAFETY: from `into_raw`; what is converted back too often is forgotten again (caller).
        unsafe { Self::from_raw(ptr) }
    }
}
