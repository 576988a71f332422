//! [`Objects`]: the contents of a [`SlotPool`](super::SlotPool).

use super::key::LAST_USE;
use crate::count::generic::TicketRef;
use crate::pool::lifecycle::{self, Class, Contents, Part, discard};
use crate::pool::list::List;
use alloc::boxed::Box;
use core::cell::UnsafeCell;
use core::convert::Infallible;
use core::mem::{MaybeUninit, forget};
use core::ptr::NonNull;

pub(super) type Reset<T> = dyn Fn(&mut T) + Send + Sync;

pub(super) struct Objects<T> {
    pub(super) make: Box<dyn Fn() -> T + Send + Sync>,
    pub(super) reset: Option<Box<Reset<T>>>,
}

pub(super) type Slot<T, L> = lifecycle::Slot<Objects<T>, L>;
pub(super) type Pool<T, L> = lifecycle::Pool<Objects<T>, L>;

// What the [pool](super::SlotPool)'s text says of slots.
#[cfg(target_pointer_width = "64")]
const _: () = {
    use crate::memory::Native;
    use crate::pool::list::TaggedStack;
    assert!(size_of::<Slot<[u64; 4], TaggedStack<Native>>>() == 64);
    assert!(size_of::<Slot<[u64; 5], TaggedStack<Native>>>() == 128);
};

pub(super) struct Place<T, L: List> {
    /// How many `SlotRef`s there are. Dead while there is a `SlotMut`, or no guard.
    pub(super) count: TicketRef<L::Memory>,
    /// The object, unless the slot is vacant.
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: the object goes with the slot from owner to owner, for which `T: Send` is enough. Threads share it only if
// `T: Sync`, which sending a `SlotRef` and `SlotPool::get` require.
unsafe impl<T: Send, L: List> Send for Place<T, L> {}
// SAFETY: as above.
unsafe impl<T: Send, L: List> Sync for Place<T, L> {}

impl<T, L: List> Place<T, L> {
    #[inline(always)]
    pub(super) fn value(&self) -> *mut T {
        self.value.get().cast()
    }
}

impl<T, L: List> Contents<L> for Objects<T> {
    type Made = T;
    type Failure = Infallible;
    type Place = Place<T, L>;
    type Classes = [Class<Self, L>; 1];
    const QUIET: bool = false;
    const LAST_USE: u64 = LAST_USE;

    fn make(&self, _class: &Class<Self, L>) -> Result<T, Infallible> {
        Ok((self.make)())
    }

    fn vacant(_class: &Class<Self, L>) -> Place<T, L> {
        Place { count: TicketRef::dead_in(), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    unsafe fn fill(place: &Place<T, L>, made: T) {
        // SAFETY: the caller owns the slot, which is vacant.
        unsafe { place.value().write(made) };
    }

    unsafe fn end(place: &Place<T, L>) {
        // SAFETY: the caller owns the slot, which has an object.
        unsafe { place.value().drop_in_place() };
    }

    #[inline(always)]
    unsafe fn class<'a>(part: &Part<Self, L>) -> &'a Class<Self, L>
    where
        T: 'a,
    {
        // SAFETY: passed on to the caller.
        &unsafe { part.pool.core() }.classes[0]
    }
}

/// Ends the use of a slot: the object is reset, and idle unless the slot is used up or the pool closed.
///
/// # Safety
///
/// As [`lifecycle::release`].
#[inline]
pub(super) unsafe fn release<T, L: List>(slot: NonNull<Slot<T, L>>) {
    /// Discards an object whose reset panics.
    struct UnlessReset<T, L: List>(NonNull<Slot<T, L>>);

    impl<T, L: List> Drop for UnlessReset<T, L> {
        fn drop(&mut self) {
            // SAFETY: made by the slot's user, who does not go on.
            unsafe { discard(self.0) };
        }
    }

    // SAFETY: the slot has an object, which keeps the pool.
    let (this, pool) = unsafe { (slot.as_ref(), slot.as_ref().part.pool.core()) };
    // Before the reset, after which the slot would have to be read again.
    let idle = NonNull::from(&pool.classes[0].table.idle);
    if let Some(reset) = &pool.contents.reset {
        let unless_reset = UnlessReset(slot);
        // SAFETY: the user has the object to itself.
        reset(unsafe { &mut *this.part.place.value() });
        forget(unless_reset);
    }
    if this.uses() == LAST_USE {
        // SAFETY: passed on to the caller.
        return unsafe { discard(slot) };
    }
    // SAFETY: passed on to the caller. `this` is not used again.
    unsafe { lifecycle::release(slot, idle) };
}

/// No key names two uses: slots whose generations have run out are retired.
#[cfg(test)]
mod tests {
    use super::super::{AcquireError, SlotMut, SlotPool, SlotRef};
    use super::LAST_USE;
    use crate::pool::list::{List, Magazines, Scan, TaggedStack};
    use std::sync::Arc;
    use std::vec::Vec;

    /// A pool of one object, idle, whose slot may be used `uses` times more.
    fn nearly_used_up<L: List>(uses: u64, token: &Arc<()>) -> SlotPool<Arc<()>, L> {
        let token = Arc::clone(token);
        let pool = SlotPool::builder(move || Arc::clone(&token)).limit(1).list::<L>().build();
        let first = pool.acquire().unwrap();
        pool.table().slot(0).preset_uses(LAST_USE + 2 - 2 * (uses + 1));
        drop(first);
        pool
    }

    fn index<L: List>(pool: &SlotPool<Arc<()>, L>) -> u32 {
        SlotMut::key(&pool.acquire().unwrap()).index()
    }

    #[test]
    fn a_pool_is_full_without_room_and_idle_objects() {
        let pool = SlotPool::builder(|| ()).limit(1).list::<TaggedStack>().build();
        assert!(!pool.0.is_full(1), "there is room");
        let only = pool.acquire().unwrap();
        assert!(pool.0.is_full(1));
        drop(only);
        assert!(!pool.0.is_full(1), "one is idle");
    }

    fn a_slot_is_used_to_its_last_generation_and_then_retired<L: List>() {
        let token = Arc::new(());
        let pool = nearly_used_up::<L>(3, &token);
        let mut keys = Vec::new();
        for use_ in 0..3 {
            let object = SlotMut::share(pool.acquire().unwrap());
            let key = SlotRef::key(&object);
            assert_eq!(key.index(), 0, "use {use_}");
            assert!(pool.get(key).is_some());
            assert!(!keys.contains(&key));
            keys.push(key);
            assert_eq!(Arc::strong_count(&token), 3);
        }
        assert_eq!(keys[2].uses(), LAST_USE);
        assert_eq!(Arc::strong_count(&token), 2, "the object of a retired slot is dropped");
        assert!(pool.is_empty());
        // Another slot, although the limit is one object: the retired one is not counted.
        let other = SlotMut::share(pool.acquire().unwrap());
        assert_eq!(SlotRef::key(&other).index(), 1);
        assert!(keys.into_iter().all(|key| pool.get(key).is_none()));
        assert_eq!(pool.acquire().unwrap_err(), AcquireError::Exhausted { limit: 1 });
        assert_eq!(pool.stats().in_use, 1);
        drop(other);
        pool.trim();
        pool.close();
        drop(pool);
        assert_eq!(Arc::strong_count(&token), 1);
    }

    fn an_exclusive_last_use_and_one_that_is_discarded_retire_too<L: List>() {
        let token = Arc::new(());
        for end in [drop, SlotMut::discard] {
            let pool = nearly_used_up::<L>(1, &token);
            end(pool.acquire().unwrap());
            assert_eq!(index(&pool), 1);
        }
        assert_eq!(Arc::strong_count(&token), 1);
    }

    fn a_last_use_that_outlives_the_pool_ends_it<L: List>() {
        let token = Arc::new(());
        let pool = nearly_used_up::<L>(1, &token);
        let object = pool.acquire().unwrap();
        drop(pool);
        assert_eq!(Arc::strong_count(&token), 3);
        drop(object);
        assert_eq!(Arc::strong_count(&token), 1);
    }

    macro_rules! claims {
        ($($claim:ident)*) => {$(
            mod $claim {
                #[test]
                fn over_every_list() {
                    super::$claim::<super::Scan>();
                    super::$claim::<super::TaggedStack>();
                    super::$claim::<super::Magazines>();
                }
            }
        )*};
    }

    claims! {
        a_slot_is_used_to_its_last_generation_and_then_retired
        an_exclusive_last_use_and_one_that_is_discarded_retire_too
        a_last_use_that_outlives_the_pool_ends_it
    }
}
