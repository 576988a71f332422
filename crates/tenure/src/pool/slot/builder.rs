//! [`Builder`]: how a pool makes, resets and keeps its objects.

use super::SlotPool;
use super::objects::{Make, Objects};
use super::owner::Owner;
use crate::memory::Resident;
use crate::pool::list::{DefaultList, FreeList};
use crate::shared::Shared;
use alloc::boxed::Box;
use alloc::sync::{Arc, Weak};
use core::marker::PhantomData;

/// More than any list lets a thread keep.
const HOARD: usize = usize::MAX;

/// What a [`SlotPool`] is to be like. Made by [`SlotPool::builder`].
///
/// ```
/// use tenure::pool::{SlotPool, TaggedStack};
///
/// let pool = SlotPool::builder(|| Vec::<u8>::with_capacity(4096))
///     .reset(Vec::clear)
///     .limit(1_000)
///     .list::<TaggedStack>()
///     .build();
/// assert!(pool.acquire()?.capacity() >= 4096);
/// # Ok::<(), tenure::pool::slot::AcquireError>(())
/// ```
#[must_use = "a builder does nothing until `build`"]
pub struct Builder<T, L = DefaultList> {
    make: Make<T>,
    reset: Option<fn(&mut T)>,
    hoard: usize,
    limit: usize,
    list: PhantomData<fn() -> L>,
}

impl<T, L> Builder<T, L> {
    pub(super) fn new(make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        Self {
            make: Box::new(make),
            reset: None,
            hoard: HOARD,
            limit: usize::MAX,
            list: PhantomData,
        }
    }

    /// What is done to an object before it goes back to the pool; nothing by default.
    ///
    /// It runs on the thread that drops the last guard, and may use the pool. If it panics, the object is
    /// dropped and the panic goes on.
    ///
    /// A function pointer: `Vec::clear`, or a closure that captures nothing. What else a reset needs can be kept in
    /// the object. The reset is on the fast path, where a boxed closure would cost a look into a vtable. A generic
    /// closure would be a type parameter in the name of every pool and guard.
    pub fn reset(mut self, reset: fn(&mut T)) -> Self {
        self.reset = Some(reset);
        self
    }

    /// How many idle objects one thread may keep to itself. By default as many as the [list](Self::list) lets it,
    /// which is 64 for [`Magazines`](crate::pool::Magazines) and none for the others.
    pub fn hoard(mut self, objects: usize) -> Self {
        self.hoard = objects;
        self
    }

    /// How many objects there may be at once, in use and idle. By default 2^28 - 8, which is also the most: more is
    /// taken for that. With 0 no object is to be had.
    pub fn limit(mut self, objects: usize) -> Self {
        self.limit = objects;
        self
    }

    /// The [list](crate::pool::list) of idle objects: [`DefaultList`] by default.
    pub fn list<M: FreeList>(self) -> Builder<T, M> {
        let Self { make, reset, hoard, limit, list: _ } = self;
        Builder { make, reset, hoard, limit, list: PhantomData }
    }
}

impl<T: Send + 'static, L: FreeList> Builder<T, L> {
    /// The pool. It makes no object before one is asked for. Cannot fail, unlike that of buffers.
    #[must_use]
    pub fn build(self) -> SlotPool<T, L> {
        let Self { make, reset, hoard, limit, list: _ } = self;
        SlotPool(Arc::new_cyclic(|owner: &Weak<Owner<T, L>>| {
            let owner: Weak<dyn Resident> = owner.clone();
            Owner { shared: Shared::new(Objects::new(make, reset, hoard, limit, owner)) }
        }))
    }
}

impl<T, L: FreeList> core::fmt::Debug for Builder<T, L> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Builder")
            .field("resets", &self.reset.is_some())
            .field("hoard", &self.hoard)
            .field("limit", &self.limit)
            .field("list", &L::NAME)
            .finish_non_exhaustive()
    }
}
