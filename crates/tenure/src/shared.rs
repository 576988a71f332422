//! [`Shared`]: a heap block that handles keep alive together, such as a pool's and its slots.
//!
//! Guards must not count: pools exist to avoid a count that every acquire and release writes. So each slot with
//! contents holds one reference, idle or in use, and the pool's handle one. A guard needs none, since its slot has
//! contents.
//!
//! Idle slots must not keep a pool alive: when the handle goes, closing the pool empties them. The last slot to come
//! home ends the block.

use crate::count::generic::TicketRef;
use crate::memory::Memory;
use alloc::boxed::Box;
use core::ops::Deref;
use core::ptr::NonNull;

pub(crate) struct Shared<C, M: Memory>(NonNull<Block<C, M>>);

struct Block<C, M: Memory> {
    references: TicketRef<M>,
    core: C,
}

// SAFETY: as std's `Arc`: the core is shared, and the last pointer drops it on any thread.
unsafe impl<C: Send + Sync, M: Memory> Send for Shared<C, M> {}
// SAFETY: as above.
unsafe impl<C: Send + Sync, M: Memory> Sync for Shared<C, M> {}

impl<C, M: Memory> Shared<C, M> {
    pub(crate) fn new(core: C) -> Self {
        let block = Block { references: TicketRef::new_in(), core };
        Self(NonNull::from(Box::leak(Box::new(block))))
    }

    #[cfg(feature = "registry")]
    pub(crate) fn references(&self) -> u32 {
        // SAFETY: `self` has a reference, so the block exists.
        unsafe { self.0.as_ref() }.references.read()
    }

    /// The caller gives its reference back by [`from_raw`](Self::from_raw).
    pub(crate) fn into_raw(self) -> RawShared<C, M> {
        let raw = RawShared(self.0);
        core::mem::forget(self);
        raw
    }

    /// Good while a reference keeps the block alive.
    pub(crate) fn as_raw(&self) -> RawShared<C, M> {
        RawShared(self.0)
    }

    /// Takes over a reference that [`into_raw`](Self::into_raw) left behind.
    ///
    /// # Safety
    ///
    /// There is one, and this is the only call that takes it over.
    pub(crate) unsafe fn from_raw(raw: RawShared<C, M>) -> Self {
        Self(raw.0)
    }
}

impl<C, M: Memory> Clone for Shared<C, M> {
    fn clone(&self) -> Self {
        // SAFETY: `self` has a reference, so the block exists.
        unsafe { self.0.as_ref() }.references.get_held();
        Self(self.0)
    }
}

impl<C, M: Memory> Deref for Shared<C, M> {
    type Target = C;
    #[inline(always)]
    fn deref(&self) -> &C {
        // SAFETY: `self` has a reference, so the block exists.
        unsafe { &self.0.as_ref().core }
    }
}

impl<C, M: Memory> Drop for Shared<C, M> {
    fn drop(&mut self) {
        // SAFETY: `self` has a reference, so the block exists.
        if unsafe { self.0.as_ref() }.references.put().is_last() {
            // SAFETY: allocated by `new`; the last reference is gone, so no other thread touches the block.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

/// A [`Shared`] that does not count.
pub(crate) struct RawShared<C, M: Memory>(NonNull<Block<C, M>>);

impl<C, M: Memory> Clone for RawShared<C, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C, M: Memory> Copy for RawShared<C, M> {}

impl<C, M: Memory> RawShared<C, M> {
    /// One more reference.
    ///
    /// # Safety
    ///
    /// A reference keeps the block alive during the call.
    pub(crate) unsafe fn to_shared(self) -> Shared<C, M> {
        // SAFETY: the block is alive (caller).
        unsafe { self.0.as_ref() }.references.get_held();
        Shared(self.0)
    }

    /// # Safety
    ///
    /// A reference keeps the block alive for `'a`.
    #[inline(always)]
    pub(crate) unsafe fn core<'a>(self) -> &'a C {
        // SAFETY: alive for `'a` (caller), and never borrowed for writing.
        unsafe { &self.0.as_ref().core }
    }
}
