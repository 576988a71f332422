//! [`Domain`]: the workers that share objects.

use super::protocol::{Block, Core};
use super::{Context, Scheme, Seat, Shootdown, Statistics};
use crate::memory::{Memory, Native};
use crate::shared::Shared;
use core::fmt;

/// A set of workers that share objects of type `T`, and the objects.
///
/// Cloning gives another handle to the same domain. It lasts as long as any of its handles, [`Seat`]s and [`Context`]s.
///
/// Any number of seats may be taken, at any time; see the [module](super) for how they and objects meet. To go from
/// thread to thread it asks for `T: Send + Sync`, as do its seats and contexts: any of them may drop a value.
pub struct Domain<T, S: Scheme<M> = Shootdown, M: Memory = Native> {
    core: Shared<Core<T, S, M>, M>,
}

impl<T> Domain<T> {
    /// A domain without seats, of the default scheme: [`Shootdown`].
    #[must_use]
    pub fn new() -> Self {
        Self::new_in()
    }
}

impl<T, S: Scheme<M>, M: Memory> Domain<T, S, M> {
    /// [`new`](Domain::new) with any scheme. (And on any machine, for tests.)
    ///
    /// ```
    /// use tenure::lazy::{Domain, Mask};
    ///
    /// let domain = Domain::<String, Mask>::new_in();
    /// let context = domain.context("hello".into());
    /// assert_eq!(*context, "hello");
    /// ```
    #[must_use]
    pub fn new_in() -> Self {
        Self { core: Shared::new(Core::new()) }
    }

    /// Puts `value` on the heap, and returns its first context.
    #[must_use]
    pub fn context(&self, value: T) -> Context<T, S, M> {
        self.context_with(S::Object::default(), value)
    }

    pub(crate) fn context_with(&self, object: S::Object<T>, value: T) -> Context<T, S, M> {
        let block = Block::allocate(self.core.clone(), object, value);
        // SAFETY: the block is new, and so is its reference.
        unsafe { Context::from_raw(block) }
    }

    /// Takes a seat, for a worker.
    ///
    /// # Panics
    ///
    /// If there are 2^28 of them.
    ///
    /// Cost: a few atomic operations; where seats were dropped before, a look at places until a vacant one is found. A place
    /// takes a cache line or two, is used again by later seats, and stays until the domain goes. So take a seat for each
    /// worker, and not for each request or task.
    #[must_use]
    pub fn seat(&self) -> Seat<T, S, M> {
        Seat::take(self.core.clone())
    }

    /// Drops many contexts at once.
    ///
    /// As one loop over `drop` that begins when the iterator has ended, but all objects that lose their last context go in one shootdown: two looks at each seat
    /// and one barrier in all, where a loop takes that for each object.
    ///
    /// # Panics
    ///
    /// If a context is of another domain. It and those after it are dropped one by one.
    ///
    /// ```
    /// use tenure::lazy::Domain;
    ///
    /// let domain = Domain::new();
    /// let tenants: Vec<_> = (0..100).map(|id| domain.context(id)).collect();
    /// domain.drop_all(tenants);
    /// ```
    pub fn drop_all(&self, contexts: impl IntoIterator<Item = Context<T, S, M>>) {
        let last = contexts.into_iter().filter_map(|context| {
            assert!(context.is_of(&self.core), "this Context is of another Domain");
            context.put()
        });
        // SAFETY: `put` has told so; they are of this domain, and this handle keeps it.
        unsafe { S::retire(&self.core, last) };
    }

    /// What has happened so far. Relaxed: while others use the domain the figures are of different moments.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.core.statistics()
    }

    pub(crate) fn core(&self) -> &Shared<Core<T, S, M>, M> {
        &self.core
    }
}

impl<T> Default for Domain<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, S: Scheme<M>, M: Memory> Clone for Domain<T, S, M> {
    fn clone(&self) -> Self {
        Self { core: self.core.clone() }
    }
}

impl<T, S: Scheme<M>, M: Memory> fmt::Debug for Domain<T, S, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Domain")
            .field("scheme", &S::NAME)
            .field("statistics", &self.statistics())
            .finish()
    }
}
