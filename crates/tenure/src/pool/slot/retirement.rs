//! That no key names two uses: slots whose generations have run out are retired.

use super::key::LAST_USE;
use super::{AcquireError, SlotPool};
use crate::pool::list::{FreeList, Magazines, Scan, TaggedStack};
use std::sync::Arc;
use std::vec::Vec;

/// A pool of one object whose slot is idle and may be used `uses` times more.
fn nearly_used_up<L: FreeList>(uses: u64, token: &Arc<()>) -> SlotPool<Arc<()>, L> {
    let token = Arc::clone(token);
    let pool = SlotPool::builder(move || Arc::clone(&token)).limit(1).list::<L>().build();
    let first = pool.acquire().unwrap();
    pool.0.shared.shelf.slot(0).preset_uses(LAST_USE + 2 - 2 * (uses + 1));
    drop(first);
    pool
}

fn a_slot_is_used_to_its_last_generation_and_then_retired<L: FreeList>() {
    let token = Arc::new(());
    let pool = nearly_used_up::<L>(3, &token);
    let mut keys = Vec::new();
    for use_ in 0..3 {
        let object = pool.acquire().unwrap().share();
        assert_eq!(object.key().index(), 0, "use {use_}");
        assert!(pool.get(object.key()).is_some());
        assert!(!keys.contains(&object.key()));
        keys.push(object.key());
        assert_eq!(Arc::strong_count(&token), 3);
    }
    assert_eq!(keys[2].uses(), LAST_USE);
    assert_eq!(Arc::strong_count(&token), 2, "the object of a retired slot is dropped");
    assert!(pool.is_empty());
    // Another slot, although there may be one object: the retired one is not counted.
    let other = pool.acquire().unwrap().share();
    assert_eq!(other.key().index(), 1);
    for key in keys {
        assert!(pool.get(key).is_none());
    }
    assert_eq!(pool.acquire().unwrap_err(), AcquireError::Exhausted { limit: 1 });
    assert_eq!(pool.statistics().in_use, 1);
    drop(other);
    pool.trim();
    pool.close();
    drop(pool);
    assert_eq!(Arc::strong_count(&token), 1);
}

fn an_exclusive_last_use_and_one_that_is_discarded_retire_too<L: FreeList>() {
    let token = Arc::new(());
    let pool = nearly_used_up::<L>(1, &token);
    drop(pool.acquire().unwrap());
    assert_eq!(pool.acquire().unwrap().key().index(), 1);
    drop(pool);
    let pool = nearly_used_up::<L>(1, &token);
    pool.acquire().unwrap().discard();
    assert_eq!(pool.acquire().unwrap().key().index(), 1);
    drop(pool);
    assert_eq!(Arc::strong_count(&token), 1);
}

fn a_last_use_that_outlives_the_pool_ends_it<L: FreeList>() {
    let token = Arc::new(());
    let pool = nearly_used_up::<L>(1, &token);
    let object = pool.acquire().unwrap();
    drop(pool);
    assert_eq!(Arc::strong_count(&token), 3);
    drop(object);
    assert_eq!(Arc::strong_count(&token), 1);
}

macro_rules! claims {
    ($($room:ident: $list:ty,)*) => {$(
        mod $room {
            use super::*;

            #[test]
            fn a_slot_is_used_to_its_last_generation_and_then_retired() {
                super::a_slot_is_used_to_its_last_generation_and_then_retired::<$list>();
            }

            #[test]
            fn an_exclusive_last_use_and_one_that_is_discarded_retire_too() {
                super::an_exclusive_last_use_and_one_that_is_discarded_retire_too::<$list>();
            }

            #[test]
            fn a_last_use_that_outlives_the_pool_ends_it() {
                super::a_last_use_that_outlives_the_pool_ends_it::<$list>();
            }
        }
    )*};
}

claims! {
    scan: Scan,
    tagged_stack: TaggedStack,
    magazines: Magazines,
}
