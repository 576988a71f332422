//! [`Registered`]: the guard that users hold.
#![allow(missing_docs, reason = "methods have their documentation in `registry`")]

use super::entry::Entry;
use super::linger::give;
use super::machine::RegistryCount;
use crate::count::GetResult;
use crate::count::generic::TicketRef;
use core::ops::Deref;
use core::ptr::NonNull;

/// A [`Registered`](super::Registered) that is counted by `C`.
pub struct Registered<K, V, C: RegistryCount = TicketRef>(NonNull<Entry<K, V, C>>);

// SAFETY: as std's `Arc` of a `K` and a `V`.
unsafe impl<K: Send + Sync, V: Send + Sync, C: RegistryCount> Send for Registered<K, V, C> {}
// SAFETY: as above.
unsafe impl<K: Send + Sync, V: Send + Sync, C: RegistryCount> Sync for Registered<K, V, C> {}

impl<K, V, C: RegistryCount> Registered<K, V, C> {
    /// # Safety
    ///
    /// The caller owns a reference, and makes the entry ready before any other code gets the `Registered`.
    #[inline(always)]
    pub(super) unsafe fn from_raw(entry: NonNull<Entry<K, V, C>>) -> Self {
        Self(entry)
    }

    #[inline(always)]
    pub(super) fn entry(&self) -> &Entry<K, V, C> {
        // SAFETY: the reference keeps the entry.
        unsafe { self.0.as_ref() }
    }

    #[must_use]
    pub fn key(this: &Self) -> &K {
        &this.entry().key
    }

    #[must_use]
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        this.0 == other.0
    }

    #[must_use]
    pub fn count(this: &Self) -> u32 {
        this.entry().count.read()
    }
}

impl<K, V, C: RegistryCount> Deref for Registered<K, V, C> {
    type Target = V;
    #[inline(always)]
    fn deref(&self) -> &V {
        // SAFETY: a `Registered` that users have is to a ready entry, and keeps the value.
        unsafe { self.entry().value() }
    }
}

impl<K, V, C: RegistryCount> Clone for Registered<K, V, C> {
    #[inline(always)]
    fn clone(&self) -> Self {
        match self.entry().count.get() {
            GetResult::Acquired => Self(self.0),
            GetResult::Dead => dead(),
        }
    }
}

#[cold]
#[inline(never)]
fn dead() -> ! {
    panic!("cloned a `Registered` whose count is dead: a reference was released twice")
}

impl<K, V, C: RegistryCount> Drop for Registered<K, V, C> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the reference is this `Registered`'s, which ends here.
        if self.entry().notes_drops() && unsafe { give(self.0) } {
            return;
        }
        // SAFETY: as above, and the ring did not get it.
        unsafe { Entry::put_and_end(self.0) };
    }
}

smart_pointer! { V: [K, V, C: RegistryCount] Registered<K, V, C>; }
