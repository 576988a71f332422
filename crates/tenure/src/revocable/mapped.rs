//! [`Mapped`]: a part of what a guard shows.

use core::ops::Deref;
use core::ptr::NonNull;

/// Keeps the guard.
pub(crate) struct Mapped<G, U: ?Sized> {
    part: NonNull<U>,
    _guard: G,
}

// SAFETY: as a guard and a `&U`.
unsafe impl<G: Send, U: ?Sized + Sync> Send for Mapped<G, U> {}
// SAFETY: as above.
unsafe impl<G: Sync, U: ?Sized + Sync> Sync for Mapped<G, U> {}

impl<G: Deref, U: ?Sized> Mapped<G, U> {
    /// # Safety
    ///
    /// What the guard shows stays where it is, and as it is, until the guard is dropped.
    pub(crate) unsafe fn new(guard: G, part: impl FnOnce(&G::Target) -> &U) -> Self {
        Self { part: NonNull::from(part(&guard)), _guard: guard }
    }
}

impl<G, U: ?Sized> Deref for Mapped<G, U> {
    type Target = U;
    #[inline(always)]
    fn deref(&self) -> &U {
        // SAFETY: a part of what the guard shows.
        unsafe { self.part.as_ref() }
    }
}
