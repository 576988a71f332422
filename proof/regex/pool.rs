//! The pool of regex's caches, by the slots of tenure.

use core::panic::{RefUnwindSafe, UnwindSafe};
use tenure::pool::{SlotMut, SlotPool};

/// A slot is empty until a thread has made its value: `create` may borrow, so the pool cannot have it.
pub(super) struct Pool<T, F> {
    slots: SlotPool<Option<T>>,
    create: F,
}

// A `SlotPool` asks for more, since its objects can be shared. These are not.
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for Pool<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe + RefUnwindSafe> RefUnwindSafe for Pool<T, F> {}

impl<T: Send + 'static, F> Pool<T, F> {
    pub(super) fn new(create: F) -> Self {
        Self { slots: SlotPool::new(), create }
    }
}

impl<T: Send, F: Fn() -> T> Pool<T, F> {
    #[inline]
    pub(super) fn get(&self) -> PoolGuard<'_, T, F> {
        let mut slot = self.slots.acquire().expect("the pool has no limit");
        slot.get_or_insert_with(&self.create);
        PoolGuard { slot, pool: core::marker::PhantomData }
    }
}

impl<T, F> core::fmt::Debug for Pool<T, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Pool").field("slots", &self.slots).finish_non_exhaustive()
    }
}

pub(super) struct PoolGuard<'a, T: Send, F: Fn() -> T> {
    slot: SlotMut<Option<T>>,
    pool: core::marker::PhantomData<&'a Pool<T, F>>,
}

impl<T: Send, F: Fn() -> T> PoolGuard<'_, T, F> {
    #[inline]
    pub(super) fn value(&self) -> &T {
        self.slot.as_ref().expect("filled by `get`")
    }

    #[inline]
    pub(super) fn value_mut(&mut self) -> &mut T {
        self.slot.as_mut().expect("filled by `get`")
    }

    #[inline]
    pub(super) fn put(this: Self) {
        drop(this);
    }
}

impl<T: Send + core::fmt::Debug, F: Fn() -> T> core::fmt::Debug for PoolGuard<'_, T, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PoolGuard").field("value", self.value()).finish()
    }
}
