//! [`SlotPoolBuilder`]: how a pool makes, resets and keeps its objects.
#![allow(missing_docs, reason = "methods have their documentation in `pool::objects`")]

use super::SlotPool;
use super::objects::{Objects, Pool};
use crate::pool::lifecycle::{Class, Handle};
use crate::pool::list::{List, Magazines};
use crate::segments::CAPACITY;
use alloc::boxed::Box;
use core::marker::PhantomData;

/// More than any list lets a thread keep.
const MAGAZINE_SIZE: usize = usize::MAX;

/// A [`SlotPoolBuilder`](crate::pool::SlotPoolBuilder) for any list.
#[must_use = "a builder does nothing until `build`"]
pub struct SlotPoolBuilder<T, L = Magazines> {
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

    pub fn reset(mut self, reset: impl Fn(&mut T) + Send + Sync + 'static) -> Self {
        self.objects.reset = Some(Box::new(reset));
        self
    }

    pub fn magazine_size(mut self, objects: usize) -> Self {
        self.magazine_size = objects;
        self
    }

    pub fn limit(mut self, objects: usize) -> Self {
        self.limit = objects;
        self
    }

    /// The list of idle objects.
    pub fn list<K: List>(self) -> SlotPoolBuilder<T, K> {
        let Self { objects, magazine_size, limit, list: _ } = self;
        SlotPoolBuilder { objects, magazine_size, limit, list: PhantomData }
    }
}

impl<T: Send + 'static, L: List> SlotPoolBuilder<T, L> {
    #[must_use]
    pub fn build(self) -> SlotPool<T, L> {
        let Self { objects, magazine_size, limit, list: _ } = self;
        SlotPool(Handle::new(|owner| {
            let class = Class::new(1, magazine_size, owner.clone());
            Pool::new(objects, [class], limit.min(CAPACITY as usize) as u64)
        }))
    }
}

impl<T, L: List> core::fmt::Debug for SlotPoolBuilder<T, L> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SlotPoolBuilder")
            .field("resets", &self.objects.reset.is_some())
            .field("magazine_size", &self.magazine_size)
            .field("limit", &self.limit)
            .field("list", &L::NAME)
            .finish_non_exhaustive()
    }
}
