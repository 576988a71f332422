//! [`LocalHandle`], and the [`Guard`] of what it uses.
#![allow(missing_docs, reason = "methods have their documentation in `revocable::handles`")]

use super::generic::{Scheme, Shootdown, Strong};
use super::protocol::{Block, Protocol, SharedInner, SlotState};
use super::strong::upgrade;
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;

/// A [`LocalHandle`](super::LocalHandle) of the scheme `S`.
pub struct LocalHandle<T, S: Scheme = Shootdown> {
    /// Its slot, in the domain, which does not move it.
    slot: NonNull<S::State<T>>,
    number: u32,
    inner: SharedInner<T, S>,
}

// SAFETY: only the handle's owner uses the slot, and may drop the value.
unsafe impl<T: Send + Sync, S: Scheme> Send for LocalHandle<T, S> {}
// SAFETY: a shared reference to a handle gives access to nothing.
unsafe impl<T: Send + Sync, S: Scheme> Sync for LocalHandle<T, S> {}

impl<T, S: Scheme> LocalHandle<T, S> {
    pub(super) fn new(inner: SharedInner<T, S>) -> Self {
        let (number, slot) = inner.acquire_slot();
        Self { slot: NonNull::from(slot), number, inner }
    }

    #[inline(always)]
    pub(super) fn state(&self) -> &S::State<T> {
        // SAFETY: slots stay where they are as long as the domain, which `inner` keeps.
        unsafe { self.slot.as_ref() }
    }

    #[cfg(test)]
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    #[inline(always)]
    #[track_caller]
    pub fn enter<'s>(&'s mut self, strong: &Strong<T, S>) -> Guard<'s, T, S> {
        let block = strong.block();
        if self.state().has(block) {
            // SAFETY: `&mut self` is the owner, and `strong` keeps the block during the call.
            unsafe { self.state().resume(block) };
        } else {
            self.switch(strong);
        }
        // SAFETY: the slot uses the block now, and the guard borrows the handle.
        unsafe { Guard::new(self.state(), block) }
    }

    #[inline(never)]
    #[track_caller]
    fn switch(&mut self, strong: &Strong<T, S>) {
        assert!(
            strong.is_of(&self.inner),
            "this Strong is of another Domain than this LocalHandle"
        );
        // SAFETY: as in `enter`; the block is of this domain.
        unsafe { self.state().switch(self.number, strong.block()) };
    }

    #[inline(always)]
    pub fn kept(&mut self) -> Option<Guard<'_, T, S>> {
        // SAFETY: `&mut self` is the owner.
        let block = unsafe { self.state().kept() }?;
        // SAFETY: as in `enter`.
        Some(unsafe { Guard::new(self.state(), block) })
    }

    #[inline]
    pub fn kept_or(
        &mut self,
        is_it: impl FnOnce(&T) -> bool,
        find: impl FnOnce() -> Option<Strong<T, S>>,
    ) -> Option<Guard<'_, T, S>> {
        // SAFETY: `&mut self` is the owner.
        if let Some(block) = unsafe { self.state().kept() } {
            // SAFETY: as in `enter`. The guard is returned, or dropped before the handle is used again.
            let kept = unsafe { Guard::new(self.state(), block) };
            if is_it(&kept) {
                return Some(kept);
            }
        }
        Some(self.enter(&find()?))
    }

    pub fn clear(&mut self) {
        // SAFETY: `&mut self` is the owner, and no guard borrows it.
        unsafe { self.state().clear(self.number) };
    }
}

impl<T, S: Scheme> Drop for LocalHandle<T, S> {
    fn drop(&mut self) {
        /// Releases the slot even if a destructor panics.
        struct Release<'s, T, S: Scheme>(&'s LocalHandle<T, S>);
        impl<T, S: Scheme> Drop for Release<'_, T, S> {
            fn drop(&mut self) {
                self.0.inner.release_slot(self.0.number);
            }
        }
        let Release(this) = &Release(self);
        // SAFETY: as in `clear`.
        unsafe { this.state().clear(this.number) };
    }
}

impl<T, S: Scheme> fmt::Debug for LocalHandle<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalHandle").field("number", &self.number).finish_non_exhaustive()
    }
}

/// A [`Guard`](super::Guard) of the scheme `S`.
#[must_use = "the object is in use until the guard is dropped"]
pub struct Guard<'s, T, S: Scheme = Shootdown> {
    /// An `S::State<T>`, without its type: guards are covariant in `T`, as [`Strong`]s are.
    state: NonNull<()>,
    /// First in its block.
    value: NonNull<T>,
    local: PhantomData<&'s mut ()>,
    scheme: PhantomData<fn() -> S>,
}

// SAFETY: the guard borrows the handle, so its owner alone uses the slot. Its drop may drop the value.
unsafe impl<T: Send + Sync, S: Scheme> Send for Guard<'_, T, S> {}
// SAFETY: a shared reference to a guard shares the value, and gives strong handles.
unsafe impl<T: Send + Sync, S: Scheme> Sync for Guard<'_, T, S> {}

impl<'s, T, S: Scheme> Guard<'s, T, S> {
    /// # Safety
    ///
    /// The slot uses the block. For `'s` the slot exists, and its owner does not use it otherwise.
    #[inline(always)]
    pub(super) unsafe fn new(state: &S::State<T>, block: NonNull<Block<T, S>>) -> Self {
        let (state, value) = (NonNull::from(state).cast(), block.cast());
        Self { state, value, local: PhantomData, scheme: PhantomData }
    }

    #[inline(always)]
    fn state(&self) -> &'s <S as Protocol>::State<T> {
        // SAFETY: `new` asks for a slot that exists for `'s`.
        unsafe { self.state.cast().as_ref() }
    }

    pub(super) fn block(&self) -> NonNull<Block<T, S>> {
        self.value.cast()
    }

    pub(super) fn into_state(self) -> &'s <S as Protocol>::State<T> {
        ManuallyDrop::new(self).state()
    }

    #[must_use]
    pub fn upgrade(this: &Self) -> Option<Strong<T, S>> {
        // SAFETY: rule 3 of `Protocol`: the block is in use.
        unsafe { upgrade(this.block()) }
    }
}

impl<T, S: Scheme> Deref for Guard<'_, T, S> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: rule 3 of `Protocol`: the block is in use.
        unsafe { self.value.as_ref() }
    }
}

impl<T, S: Scheme> Drop for Guard<'_, T, S> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the guard stands for the slot's use of this block.
        unsafe { self.state().leave(self.block()) };
    }
}
