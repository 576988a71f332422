//! [`Domain`]: the workers that share objects.
#![allow(missing_docs, reason = "methods have their documentation in `revocable::handles`")]

use super::Stats;
use super::generic::{LocalHandle, Scheme, Shootdown, Strong};
use super::protocol::{Block, Inner, SharedInner};
use crate::shared::Shared;
use core::fmt;

/// A [`Domain`](super::Domain) of the scheme `S`.
pub struct Domain<T, S: Scheme = Shootdown> {
    inner: SharedInner<T, S>,
}

impl<T, S: Scheme> Domain<T, S> {
    #[must_use]
    pub fn new_in() -> Self {
        Self { inner: Shared::new(Inner::new()) }
    }

    #[must_use]
    pub fn strong(&self, value: T) -> Strong<T, S> {
        self.strong_with(S::Object::default(), value)
    }

    pub(super) fn strong_with(&self, object: S::Object<T>, value: T) -> Strong<T, S> {
        let block = Block::allocate(self.inner.clone(), object, value);
        // SAFETY: the block is new, and so is its reference.
        unsafe { Strong::from_raw(block) }
    }

    #[must_use]
    pub fn register(&self) -> LocalHandle<T, S> {
        LocalHandle::new(self.inner.clone())
    }

    pub fn drop_all(&self, strongs: impl IntoIterator<Item = Strong<T, S>>) {
        let last = strongs.into_iter().filter_map(|strong| {
            assert!(strong.is_of(&self.inner), "this Strong is of another Domain");
            strong.put()
        });
        // SAFETY: `put` returns blocks of this domain whose last reference is gone; `self` keeps the domain.
        unsafe { S::retire(&self.inner, last) };
    }

    #[must_use]
    pub fn stats(&self) -> Stats {
        self.inner.stats()
    }

    pub(super) fn inner(&self) -> &Inner<T, S> {
        &self.inner
    }
}

impl<T, S: Scheme> Clone for Domain<T, S> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl<T, S: Scheme> fmt::Debug for Domain<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Domain")
            .field("scheme", &S::NAME)
            .field("statistics", &self.stats())
            .finish()
    }
}
