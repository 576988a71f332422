//! [`Ref`]: what users hold.

use super::Concurrent;
use super::entry::Entry;
use super::ground::Ground;
use super::key::Key;
use crate::count::{Get, RefCount, TicketRef};
use core::fmt;
use core::ops::Deref;
use core::ptr::NonNull;

/// A reference to an object of a [`Registry`](super::Registry).
///
/// One pointer. Cost: a clone is one get of the count, a drop one put: with `TicketRef` one atomic addition and one
/// subtraction. The last one removes the object from the registry and runs its destructor, which may be on any thread.
/// A reference may outlive the registry's handles.
///
/// What is not the object's has no `self`, so that it is not in the way of the object's own methods.
pub struct Ref<K: Key, V, C: RefCount + 'static = TicketRef, G: Ground = Concurrent>(
    NonNull<Entry<K, V, C, G>>,
);

// SAFETY: as std's `Arc` of what is `Send` and `Sync`.
unsafe impl<K: Key, V: Send + Sync, C: RefCount + 'static, G: Ground> Send for Ref<K, V, C, G> {}
// SAFETY: as above.
unsafe impl<K: Key, V: Send + Sync, C: RefCount + 'static, G: Ground> Sync for Ref<K, V, C, G> {}

impl<K: Key, V, C: RefCount + 'static, G: Ground> Ref<K, V, C, G> {
    /// Takes over a reference.
    ///
    /// # Safety
    ///
    /// The caller owns it. The entry is ready before the reference is given to anybody else.
    #[inline(always)]
    pub(super) unsafe fn from_raw(entry: NonNull<Entry<K, V, C, G>>) -> Self {
        Self(entry)
    }

    #[inline(always)]
    pub(super) fn entry(&self) -> &Entry<K, V, C, G> {
        // SAFETY: the reference keeps the entry.
        unsafe { self.0.as_ref() }
    }

    /// The key of the object.
    #[must_use]
    pub fn key(this: &Self) -> &K {
        this.entry().key()
    }

    /// Whether both are references to one object.
    #[must_use]
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        this.0 == other.0
    }

    /// The number of references at some moment of the call.
    #[must_use]
    pub fn count(this: &Self) -> u32 {
        // SAFETY: the reference keeps the entry.
        unsafe { Entry::count(this.0) }.read()
    }
}

impl<K: Key, V, C: RefCount + 'static, G: Ground> Deref for Ref<K, V, C, G> {
    type Target = V;
    #[inline(always)]
    fn deref(&self) -> &V {
        // SAFETY: users have references to ready entries only.
        unsafe { Entry::value(self.0) }
    }
}

impl<K: Key, V, C: RefCount + 'static, G: Ground> Clone for Ref<K, V, C, G> {
    #[inline(always)]
    fn clone(&self) -> Self {
        // SAFETY: the reference keeps the entry.
        match unsafe { Entry::count(self.0) }.get() {
            Get::Acquired => Self(self.0),
            Get::Dead => dead(),
        }
    }
}

#[cold]
#[inline(never)]
fn dead() -> ! {
    panic!(
        "a reference to an object whose count is dead was cloned: something has released it twice"
    )
}

impl<K: Key, V, C: RefCount + 'static, G: Ground> Drop for Ref<K, V, C, G> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: this one's, which ends here.
        if unsafe { Entry::put(self.0) }.is_last() {
            // SAFETY: just told so.
            unsafe { Entry::end(self.0) };
        }
    }
}

impl<K: Key, V, C: RefCount + 'static, G: Ground> AsRef<V> for Ref<K, V, C, G> {
    fn as_ref(&self) -> &V {
        self
    }
}

impl<K: Key, V: fmt::Debug, C: RefCount + 'static, G: Ground> fmt::Debug for Ref<K, V, C, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<K: Key, V: fmt::Display, C: RefCount + 'static, G: Ground> fmt::Display for Ref<K, V, C, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
