//! [`SlotPool`]: a key finds the use that it names or nothing, and a use ends once, with its last holder.

use super::memory::{InOrder, Loom};
use super::stage::{ALL, JoinHandle, Value, join_all, passes, spawn};
use tenure::memory::Threads;
use tenure::pool::SlotKey;
use tenure::pool::generic::{SlotMut, SlotPool, SlotRef};
use tenure::pool::list::TaggedStack;

/// In the pools of these models; loom sees its reads and writes.
struct Object(Value);

// SAFETY: loom runs all threads of a model on one thread of the system, and judges accesses itself.
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Object")
    }
}

type Pool<M> = SlotPool<Object, TaggedStack<M>>;

/// A pool of one object, written after it is acquired, and destroyed by the reset, which complains if nothing was
/// written.
fn pool<M: Threads>() -> Pool<M> {
    let make = || Object(Value::unborn());
    SlotPool::builder(make).reset(|object| object.0.destroy()).limit(1).list().build()
}

/// Acquires the object, if it is to be had, and shares it with `value` in it.
fn share<M: Threads>(pool: &Pool<M>, value: u32) -> Option<SlotRef<Object, TaggedStack<M>>> {
    let object = pool.acquire().ok()?;
    object.0.write(value);
    Some(SlotMut::share(object))
}

type Shared<M> = (SlotRef<Object, TaggedStack<M>>, SlotKey, Vec<JoinHandle<()>>);

/// The object with 7 in it, under threads that look its key up and may find these values.
fn shared_under<M: Threads>(
    pool: &Pool<M>,
    visitors: usize,
    may_find: fn(u32) -> bool,
) -> Shared<M> {
    let shared = share(pool, 7).unwrap();
    let key = SlotRef::key(&shared);
    let visitors = (0..visitors).map(|_| {
        let pool = pool.clone();
        spawn(move || {
            let found = pool.get(key);
            assert!(found.is_none_or(|found| may_find(found.0.look())), "a key finds another use");
        })
    });
    (shared, key, visitors.collect())
}

/// All guards are gone: the object was reset and is idle, once.
fn has_come_home<M: Threads>(pool: &Pool<M>) {
    let said = pool.stats();
    assert_eq!((said.made, said.in_use, said.idle), (1, 0, 1), "the slot is lost");
    let object = pool.acquire().expect("the slot is lost");
    assert!(object.0.is_destroyed(), "an object is handed out that was not reset");
    object.0.write(1);
    drop(object);
}

fn found_under_the_last_drop<M: Threads>(visitors: usize) {
    let pool = pool::<M>();
    let (shared, key, visitors) = shared_under(&pool, visitors, |value| value == 7);
    drop(shared);
    join_all(visitors);
    assert!(pool.get(key).is_none());
    has_come_home(&pool);
}

tests! {
    a_lookup_may_be_the_last_to_hold_what_it_found =>
        passes(ALL, || found_under_the_last_drop::<Loom>(1));
    two_lookups_may_be_the_last =>
        passes(Some(4), || found_under_the_last_drop::<Loom>(2));
}

/// Lookups by a key whose use ends ‖ the last drop, and the next use of the slot.
fn looked_up_across_uses<M: Threads>(visitors: usize) {
    let pool = pool::<M>();
    let (shared, key, visitors) = shared_under(&pool, visitors, |value| value == 7);
    drop(shared);
    // Not to be had while a visitor has it.
    if let Some(next) = share(&pool, 8) {
        assert_ne!(SlotRef::key(&next), key);
        assert_eq!(next.0.look(), 8);
        drop(next);
    }
    join_all(visitors);
    has_come_home(&pool);
}

tests! {
    a_stale_key_does_not_find_the_next_use =>
        passes(ALL, || looked_up_across_uses::<InOrder>(1));
    two_stale_keys_do_not_find_the_next_use =>
        passes(Some(3), || looked_up_across_uses::<InOrder>(2));
}

/// A lookup ‖ the only holder, who makes the object exclusive, writes to it and shares it again.
pub(crate) fn unshared_under_lookups<M: Threads>(visitors: usize) {
    let pool = pool::<M>();
    let (shared, _, visitors) = shared_under(&pool, visitors, |value| matches!(value, 7 | 8));
    if let Ok(mine) = SlotRef::into_mut(shared) {
        mine.0.write(8);
        drop(SlotMut::share(mine));
    }
    join_all(visitors);
    has_come_home(&pool);
}

tests! {
    what_is_unshared_is_not_read =>
        passes(ALL, || unshared_under_lookups::<InOrder>(1));
    what_is_unshared_is_read_by_neither_of_two =>
        passes(Some(3), || unshared_under_lookups::<InOrder>(2));
}

tests! {
    /// A guard comes home ‖ the last handle goes: the later one frees the slots.
    a_guard_that_comes_home_to_a_pool_that_ends_frees_it_or_leaves_it_to_be_freed =>
        passes(ALL, || {
            let pool = pool::<Loom>();
            let shared = share(&pool, 7).unwrap();
            let other = shared.clone();
            let guard = spawn(move || drop(other));
            drop(shared);
            drop(pool);
            guard.join().unwrap();
        });
}
