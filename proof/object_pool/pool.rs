//! The pool that searches its pages, by the slots of tenure.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use tenure::pool::{SlotMut, SlotPool};

pub struct LinearObjectPool<T>(SlotPool<T>);

impl<T: Send + 'static> LinearObjectPool<T> {
    #[inline]
    pub fn new<R, I>(init: I, reset: R) -> Self
    where
        R: Fn(&mut T) + 'static + Send + Sync,
        I: Fn() -> T + 'static + Clone + Send + Sync,
    {
        Self(SlotPool::with(init, reset))
    }
}

impl<T> LinearObjectPool<T> {
    #[inline]
    pub fn pull(&self) -> LinearReusable<'_, T> {
        LinearReusable { object: self.object(), pool: PhantomData }
    }

    #[inline]
    pub fn pull_owned(self: &Arc<Self>) -> LinearOwnedReusable<T> {
        // What is in use keeps the slots: nothing has to be counted.
        LinearOwnedReusable(self.object())
    }

    #[inline]
    fn object(&self) -> SlotMut<T> {
        self.0.acquire().expect("the pool has no limit")
    }
}

pub struct LinearReusable<'a, T> {
    object: SlotMut<T>,
    pool: PhantomData<&'a LinearObjectPool<T>>,
}

pub struct LinearOwnedReusable<T>(SlotMut<T>);

impl<T> Deref for LinearReusable<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.object
    }
}

impl<T> DerefMut for LinearReusable<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.object
    }
}

impl<T> Deref for LinearOwnedReusable<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for LinearOwnedReusable<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
