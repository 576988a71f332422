//! [`SlotPoolBuilder`]: how a pool makes, resets and keeps its objects.

use super::SlotPool;
use super::objects::{Objects, Pool};
use crate::pool::lifecycle::{Class, Handle};
use crate::pool::{DefaultList, FreeList};
use crate::segments::CAPACITY;
use alloc::boxed::Box;
use core::marker::PhantomData;

/// More than any list lets a thread keep.
const MAGAZINE_SIZE: usize = usize::MAX;

/// Settings of a [`SlotPool`]. Made by [`SlotPool::builder`].
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
/// # Ok::<(), tenure::pool::AcquireError>(())
/// ```
#[must_use = "a builder does nothing until `build`"]
pub struct SlotPoolBuilder<T, L = DefaultList> {
    objects: Objects<T>,
    magazine_size: usize,
    limit: usize,
    list: PhantomData<fn() -> L>,
}

impl<T, L> SlotPoolBuilder<T, L> {
    pub(super) fn new(make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        Self {
            objects: Objects { make: Box::new(make), reset: None },
            magazine_size: MAGAZINE_SIZE,
            limit: usize::MAX,
            list: PhantomData,
        }
    }

    /// Prepares an object for its next user, on the thread that drops the last guard; by default nothing does. It may
    /// use the pool. If it panics, the object is dropped and the panic goes on.
    ///
    /// A function, such as `Vec::clear`, or a closure. Cost: an indirect call; a type parameter in its place would be
    /// one of every pool and guard.
    pub fn reset(mut self, reset: impl Fn(&mut T) + Send + Sync + 'static) -> Self {
        self.objects.reset = Some(Box::new(reset));
        self
    }

    /// How many idle objects one thread may keep. By default as many as the [list](Self::list) allows: 64 for
    /// [`Magazines`](crate::pool::Magazines), none for [`TaggedStack`](crate::pool::TaggedStack).
    pub fn magazine_size(mut self, objects: usize) -> Self {
        self.magazine_size = objects;
        self
    }

    /// The most objects at once, in use and idle; 2^28 - 8 at most and by default. With 0 every acquire is refused.
    pub fn limit(mut self, objects: usize) -> Self {
        self.limit = objects;
        self
    }

    /// The list of idle objects: [`DefaultList`] by default.
    pub fn list<K: FreeList>(self) -> SlotPoolBuilder<T, K> {
        let Self { objects, magazine_size, limit, list: _ } = self;
        SlotPoolBuilder { objects, magazine_size, limit, list: PhantomData }
    }
}

impl<T: Send + 'static, L: FreeList> SlotPoolBuilder<T, L> {
    /// The pool. It makes its first object for the first acquire.
    #[must_use]
    pub fn build(self) -> SlotPool<T, L> {
        let Self { objects, magazine_size, limit, list: _ } = self;
        SlotPool(Handle::new(|owner| {
            let class = Class::new(1, magazine_size, owner.clone());
            Pool::new(objects, [class], limit.min(CAPACITY as usize) as u64)
        }))
    }
}

impl<T, L: FreeList> core::fmt::Debug for SlotPoolBuilder<T, L> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SlotPoolBuilder")
            .field("resets", &self.objects.reset.is_some())
            .field("magazine_size", &self.magazine_size)
            .field("limit", &self.limit)
            .field("list", &L::NAME)
            .finish_non_exhaustive()
    }
}
