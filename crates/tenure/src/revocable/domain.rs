//! [`Domain`]: the workers that share objects.

use super::protocol::{Block, Inner, SharedInner};
use super::{LocalHandle, Scheme, Shootdown, Stats, Strong};
use crate::shared::Shared;
use core::fmt;

/// The workers that share objects of type `T`, and the objects. See the [module](super).
///
/// Lasts until its last clone, [`LocalHandle`] and [`Strong`] are gone. They go from thread to thread if
/// `T: Send + Sync`, because any of them may drop a value.
pub struct Domain<T, S: Scheme = Shootdown> {
    inner: SharedInner<T, S>,
}

impl<T> Domain<T> {
    /// A domain of the default scheme, [`Shootdown`].
    #[must_use]
    pub fn new() -> Self {
        Self::new_in()
    }
}

impl<T, S: Scheme> Domain<T, S> {
    /// A domain of any scheme.
    ///
    /// ```
    /// use tenure::revocable::{Domain, Mask};
    ///
    /// let domain = Domain::<String, Mask>::new_in();
    /// let strong = domain.strong("hello".into());
    /// assert_eq!(*strong, "hello");
    /// ```
    #[must_use]
    pub fn new_in() -> Self {
        Self { inner: Shared::new(Inner::new()) }
    }

    /// Puts `value` on the heap, and returns its first strong handle.
    #[must_use]
    pub fn strong(&self, value: T) -> Strong<T, S> {
        self.context_with(S::Object::default(), value)
    }

    pub(super) fn context_with(&self, object: S::Object<T>, value: T) -> Strong<T, S> {
        let block = Block::allocate(self.inner.clone(), object, value);
        // SAFETY: the block is new, and so is its reference.
        unsafe { Strong::from_raw(block) }
    }

    /// Registers a worker.
    ///
    /// Cost: a few atomic operations, and a search if handles were dropped before. A handle takes a slot of a cache
    /// line or two, which later handles reuse and the domain frees when it goes. So register workers, not requests or
    /// tasks.
    ///
    /// # Panics
    ///
    /// If there are 2^28 of them.
    #[must_use]
    pub fn register(&self) -> LocalHandle<T, S> {
        LocalHandle::new(self.inner.clone())
    }

    /// Drops many strong handles in one shootdown: two looks at each local handle and one barrier, where a loop over `drop`
    /// takes that for each object. The iterator is run to its end first.
    ///
    /// # Panics
    ///
    /// If a strong handle is of another domain. It and those after it are dropped one by one.
    ///
    /// ```
    /// use tenure::revocable::Domain;
    ///
    /// let domain = Domain::new();
    /// let tenants: Vec<_> = (0..100).map(|id| domain.strong(id)).collect();
    /// domain.drop_all(tenants);
    /// ```
    pub fn drop_all(&self, strongs: impl IntoIterator<Item = Strong<T, S>>) {
        let last = strongs.into_iter().filter_map(|strong| {
            assert!(strong.is_of(&self.inner), "this Strong is of another Domain");
            strong.put()
        });
        // SAFETY: `put` returns blocks of this domain whose last reference is gone; `self` keeps the domain.
        unsafe { S::retire(&self.inner, last) };
    }

    /// What has happened so far. While other threads use the domain the figures are of different moments.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.inner.stats()
    }

    pub(super) fn inner(&self) -> &Inner<T, S> {
        &self.inner
    }
}

impl<T> Default for Domain<T> {
    fn default() -> Self {
        Self::new()
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
