//! [`Strong`]: a strong handle.
#![allow(missing_docs, reason = "methods have their documentation in `revocable::handles`")]

use super::generic::{Scheme, Shootdown};
use super::protocol::{Block, Protocol, SharedInner};
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;

/// A [`Strong`](super::Strong) of the scheme `S`.
pub struct Strong<T, S: Scheme = Shootdown> {
    /// First in its block. A pointer to the block would make strong handles invariant in `T`. They may be covariant, as they
    /// change no value.
    value: NonNull<T>,
    scheme: PhantomData<fn() -> S>,
}

// SAFETY: as for std's `Arc`: threads share the value, and any of them may drop it.
unsafe impl<T: Send + Sync, S: Scheme> Send for Strong<T, S> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync, S: Scheme> Sync for Strong<T, S> {}

impl<T, S: Scheme> Strong<T, S> {
    /// # Safety
    ///
    /// The caller owns a strong reference, and gives it away.
    pub(super) unsafe fn from_raw(block: NonNull<Block<T, S>>) -> Self {
        Self { value: block.cast(), scheme: PhantomData }
    }

    /// The reference is now the caller's, to be given back by [`from_raw`](Self::from_raw).
    pub(super) fn into_raw(self) -> NonNull<Block<T, S>> {
        ManuallyDrop::new(self).block()
    }

    #[inline(always)]
    pub(super) fn block(&self) -> NonNull<Block<T, S>> {
        self.value.cast()
    }

    /// Gives the reference back. Returns the block if that was the last one: the caller must retire it.
    pub(super) fn put(self) -> Option<NonNull<Block<T, S>>> {
        let block = self.into_raw();
        // SAFETY: the reference was this strong handle's.
        unsafe { put(block) }
    }

    pub(super) fn is_of(&self, domain: &SharedInner<T, S>) -> bool {
        // SAFETY: this strong handle keeps the block.
        let header = unsafe { Block::header(self.block()) };
        core::ptr::eq(&raw const *header.inner, &raw const **domain)
    }

    #[must_use]
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        this.value == other.value
    }
}

/// Another strong reference, unless the last one is gone.
///
/// # Safety
///
/// The block exists until the call returns.
pub(super) unsafe fn upgrade<T, S: Scheme>(block: NonNull<Block<T, S>>) -> Option<Strong<T, S>> {
    // SAFETY: the block exists.
    let header = unsafe { Block::header(block) };
    // SAFETY: the reference was just taken.
    header.strong.get().is_acquired().then(|| unsafe { Strong::from_raw(block) })
}

/// Returns the block if this was its last strong reference.
///
/// # Safety
///
/// The caller owns a strong reference.
unsafe fn put<T, S: Protocol>(block: NonNull<Block<T, S>>) -> Option<NonNull<Block<T, S>>> {
    // SAFETY: the caller's reference keeps the block until the put has decided.
    let strong = &unsafe { Block::header(block) }.strong;
    strong.put().is_last().then_some(block)
}

/// Gives a strong reference back, and retires the block if it was the last one.
///
/// # Safety
///
/// The caller owns a strong reference.
#[inline]
pub(super) unsafe fn give_back<T, S: Protocol>(block: NonNull<Block<T, S>>) {
    // SAFETY: the caller owns the reference.
    if let Some(block) = unsafe { put(block) } {
        // SAFETY: it was the last one.
        unsafe { retire(block) };
    }
}

/// # Safety
///
/// The caller put the block's last strong reference, and does not touch the block again.
#[cold]
unsafe fn retire<T, S: Protocol>(block: NonNull<Block<T, S>>) {
    // SAFETY: the block exists until it is retired. The clone keeps the domain after that.
    let inner = unsafe { Block::header(block) }.inner.clone();
    // SAFETY: the caller put the last reference; the block itself names its domain.
    unsafe { S::retire(&inner, core::iter::once(block)) };
}

impl<T, S: Scheme> Deref for Strong<T, S> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: this strong handle keeps the value.
        unsafe { self.value.as_ref() }
    }
}

impl<T, S: Scheme> Clone for Strong<T, S> {
    #[inline]
    fn clone(&self) -> Self {
        // SAFETY: this strong handle keeps the block.
        unsafe { Block::header(self.block()) }.strong.get_held();
        Self { ..*self }
    }
}

impl<T, S: Scheme> Drop for Strong<T, S> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the reference is this strong handle's, which is not used again.
        unsafe { give_back(self.block()) };
    }
}
