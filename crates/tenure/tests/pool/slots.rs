//! `SlotPool` keeps its promises over every list.

use super::support::{beside_a_sleeper, keeping, tokens};
use std::cell::Cell;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use tenure::memory::{Memory, Native, Ordering};
use tenure::pool::generic::{BufferPool, PooledBuf, SlotMut, SlotPool, SlotRef};
use tenure::pool::list::{List, Magazines};
use tenure::pool::{AcquireError, SlotKey};

/// A pool is a field like any other, whatever its closures are.
struct Names<L: List> {
    pool: SlotPool<String, L>,
}

fn names<L: List>() -> Names<L> {
    let prefix = String::from("no one");
    let pool = SlotPool::builder(move || prefix.clone()).reset(String::clear).list().build();
    Names { pool }
}

fn an_object_is_made_once_and_reset_before_each_further_use<L: List>() {
    let Names { pool } = names::<L>();
    let mut name = pool.acquire().unwrap();
    assert_eq!(*name, "no one");
    name.push_str(" else");
    let place = name.as_ptr();
    drop(name);
    let name = pool.acquire().unwrap();
    assert!(name.is_empty() && name.as_ptr() == place);
    drop(SlotMut::share(name));
    assert_eq!(pool.acquire().unwrap().as_ptr(), place);
    assert_eq!((pool.stats().made, pool.stats().reused, pool.len()), (1, 2, 1));
}

fn without_a_reset_objects_are_as_they_were_left<L: List>() {
    let pool = SlotPool::builder(|| 1).list::<L>().build();
    *pool.acquire().unwrap() = 2;
    assert_eq!(*pool.acquire().unwrap(), 2);
}

fn a_key_finds_an_object_while_it_is_shared_and_at_no_other_time<L: List>() {
    let Names { pool } = names::<L>();
    let mine = pool.acquire().unwrap();
    let key = SlotMut::key(&mine);
    assert!(pool.get(key).is_none(), "exclusive");
    let shared = SlotMut::share(mine);
    assert_eq!(SlotRef::key(&shared), key);
    let (found, again) = (pool.get(key).unwrap(), pool.get(key).unwrap());
    assert!(std::ptr::eq(&*found, &*shared) && SlotRef::key(&found) == key);
    drop((shared, found));
    let mut mine = SlotRef::into_mut(again).unwrap();
    assert_eq!(SlotMut::key(&mine), key);
    assert!(pool.get(key).is_none(), "exclusive again");
    mine.push('!');
    let shared = SlotMut::share(mine);
    assert_eq!(*pool.get(key).unwrap(), "no one!");
    drop(shared);
    assert!(pool.get(key).is_none(), "idle");
}

fn a_key_is_a_word_and_words_that_are_no_keys_find_nothing<L: List>() {
    let Names { pool } = names::<L>();
    let object = SlotMut::share(pool.acquire().unwrap());
    let bits = SlotRef::key(&object).to_bits();
    assert!(pool.get(SlotKey::from_bits(bits)).is_some());
    for bit in 0..u64::BITS {
        assert!(pool.get(SlotKey::from_bits(bits ^ 1 << bit)).is_none(), "bit {bit}");
    }
    assert!(pool.get(SlotKey::from_bits(u64::MAX)).is_none());
    assert_eq!(pool.len(), 1);
}

fn into_mut_succeeds_for_the_only_reference<L: List>() {
    let Names { pool } = names::<L>();
    let shared = SlotMut::share(pool.acquire().unwrap());
    let other = shared.clone();
    let shared = SlotRef::into_mut(shared).unwrap_err();
    let found = pool.get(SlotRef::key(&shared)).unwrap();
    drop(other);
    let shared = SlotRef::into_mut(shared).unwrap_err();
    drop(found);
    assert_eq!(*SlotRef::into_mut(shared).unwrap(), "no one");
    assert_eq!(pool.stats().idle, 1);
}

fn the_limit_counts_objects_in_use_and_says_what_to_do<L: List>() {
    let pool = SlotPool::builder(|| 0).limit(2).list::<L>().build();
    let held = (pool.acquire().unwrap(), pool.acquire().unwrap());
    let refused = pool.acquire().unwrap_err();
    assert_eq!(refused, AcquireError::Exhausted { limit: 2 });
    assert_eq!(
        refused.to_string(),
        "no object: all 2 that the pool may have are in use; drop a guard, or build the pool with a \
         higher limit"
    );
    drop(held.0);
    assert!(pool.acquire().is_ok());
    SlotMut::discard(held.1);
    assert_eq!(pool.len(), 1);
    let held = (pool.acquire().unwrap(), pool.acquire().unwrap());
    assert!(pool.acquire().is_err());
    drop(held);
    assert_eq!(pool.stats().made, 3);
    assert_eq!((pool.limit(), pool.stats().acquired()), (2, 5));
    let none = SlotPool::builder(|| 0).limit(0).list::<L>().build();
    assert_eq!(none.acquire().unwrap_err(), AcquireError::Exhausted { limit: 0 });
}

fn at_the_limit_objects_that_sleeping_threads_keep_are_found<L: List>() {
    let pool = SlotPool::builder(|| 0).limit(40).list::<L>().build();
    keeping(&pool, 40, || {
        let held: Vec<_> = (0..40).map(|_| pool.acquire().unwrap()).collect();
        assert!(pool.acquire().is_err());
        drop(held);
    });
    assert_eq!(pool.stats().made, 40);
}

fn a_trim_drops_what_is_idle_and_nothing_else<L: List>() {
    let (token, pool) = tokens::<L>();
    let (mine, shared) = (pool.acquire().unwrap(), SlotMut::share(pool.acquire().unwrap()));
    keeping(&pool, 50, || {
        assert_eq!(Arc::strong_count(&token), 2 + 52);
        assert_eq!(pool.trim(), 50);
        assert_eq!(Arc::strong_count(&token), 2 + 2);
    });
    assert!(pool.get(SlotRef::key(&shared)).is_some());
    assert_eq!((mine.check(), shared.check(), pool.len()), ((), (), 2));
    drop((mine, shared));
    assert_eq!(pool.trim(), 2);
    assert!(pool.is_empty());
    assert_eq!(Arc::strong_count(&token), 2);
}

fn a_discarded_object_is_dropped_and_its_slot_used_again<L: List>() {
    let (token, pool) = tokens::<L>();
    let object = pool.acquire().unwrap();
    let key = SlotMut::key(&object);
    SlotMut::discard(object);
    assert_eq!((Arc::strong_count(&token), pool.len()), (2, 0));
    let next = SlotMut::share(pool.acquire().unwrap());
    assert!(SlotRef::key(&next) != key && pool.get(key).is_none());
    let index = |key: SlotKey| key.to_bits() % (1 << 28);
    assert_eq!(index(SlotRef::key(&next)), index(key));
}

fn make_and_reset_run_when_they_should<L: List>() {
    type Count = <Native as Memory>::AtomicU32;
    struct Counted(Arc<Count>);
    let (made, resets) = (Arc::new(Count::new(0)), Arc::new(Count::new(0)));
    let read = |count: &Count| count.load(Ordering::Relaxed);
    let (counter, inner) = (Arc::clone(&made), Arc::clone(&resets));
    let make = move || {
        counter.fetch_add(1, Ordering::Relaxed);
        Counted(Arc::clone(&inner))
    };
    let reset = |object: &mut Counted| {
        object.0.fetch_add(1, Ordering::Relaxed);
    };
    let pool = SlotPool::builder(make).reset(reset).list::<L>().build();
    assert_eq!(read(&made), 0, "nothing is made ahead");
    for use_ in 1..=5 {
        let object = SlotMut::share(pool.acquire().unwrap());
        assert_eq!((read(&made), read(&resets)), (1, use_ - 1));
        let other = object.clone();
        let object = SlotRef::into_mut(object).err().unwrap();
        drop(other);
        let object = SlotRef::into_mut(object);
        assert!(object.is_ok() && read(&resets) == use_ - 1, "sharing resets nothing");
    }
    pool.trim();
    assert_eq!(read(&resets), 5, "an idle object was reset when it became idle");
}

fn pools_say_what_they_have<L: List>() {
    let (_token, pool) = tokens::<L>();
    let held = (pool.acquire().unwrap(), pool.acquire().unwrap());
    drop(pool.acquire().unwrap());
    let (one, two) = (pool.stats(), held.0);
    assert_eq!((one.made, one.reused, one.in_use, one.idle), (3, 0, 2, 1));
    assert_eq!(format!("{two:?} {:?}", SlotMut::share(held.1)), "Token Token");
    let said = format!("{pool:?}");
    assert!(said.contains(L::NAME) && said.contains("made: 3"), "{said}");
}

fn guards_are_one_pointer_and_so_are_optional_ones<L: List>() {
    assert_eq!(size_of::<Option<SlotMut<String, L>>>(), size_of::<usize>());
    assert_eq!(size_of::<Option<SlotRef<String, L>>>(), size_of::<usize>());
}

fn handles_are_one_pool<L: List>() {
    let Names { pool } = names::<L>();
    let other = pool.clone();
    let object = SlotMut::share(pool.acquire().unwrap());
    assert!(other.get(SlotRef::key(&object)).is_some());
    drop(pool);
    assert!(other.get(SlotRef::key(&object)).is_some() && !other.is_closed());
}

/// As `Box`, `Arc` and `Vec` do: `Cell` is what a shared reference may leave in disorder.
#[test]
fn guards_go_through_a_panic_as_the_containers_of_std_do() {
    macro_rules! same {
        ($ours:ty, $theirs:ty) => {
            assert_eq!(has!($ours: UnwindSafe), has!($theirs: UnwindSafe));
            assert_eq!(has!($ours: RefUnwindSafe), has!($theirs: RefUnwindSafe));
        };
    }
    same!(SlotMut<u8>, Box<u8>);
    same!(SlotMut<Cell<u8>>, Box<Cell<u8>>);
    same!(SlotMut<&mut u8>, Box<&mut u8>);
    same!(SlotRef<u8>, Arc<u8>);
    same!(SlotRef<Cell<u8>>, Arc<Cell<u8>>);
    same!(SlotRef<&mut u8>, Arc<&mut u8>);
    same!(PooledBuf, Vec<u8>);
    same!(SlotPool<u8>, Arc<u8>);
    same!(SlotPool<Cell<u8>>, Arc<Cell<u8>>);
    assert!(has!(SlotMut<u8>: UnwindSafe) && !has!(SlotRef<Cell<u8>>: UnwindSafe));
}

claims! {
    an_object_is_made_once_and_reset_before_each_further_use,
    without_a_reset_objects_are_as_they_were_left,
    a_key_finds_an_object_while_it_is_shared_and_at_no_other_time,
    a_key_is_a_word_and_words_that_are_no_keys_find_nothing,
    into_mut_succeeds_for_the_only_reference,
    the_limit_counts_objects_in_use_and_says_what_to_do,
    at_the_limit_objects_that_sleeping_threads_keep_are_found,
    a_trim_drops_what_is_idle_and_nothing_else,
    a_discarded_object_is_dropped_and_its_slot_used_again,
    make_and_reset_run_when_they_should,
    pools_say_what_they_have,
    guards_are_one_pointer_and_so_are_optional_ones,
    handles_are_one_pool,
}

/// What a thread keeps in its magazine another one does not find, and makes anew.
#[test]
fn a_thread_keeps_as_much_as_its_magazine_may_have() {
    for (size, made) in [(0, 1), (1, 2)] {
        let pool = SlotPool::builder(|| 0).magazine_size(size).list::<Magazines<Native>>().build();
        beside_a_sleeper(|| drop(pool.acquire().unwrap()), || drop(pool.acquire().unwrap()));
        assert_eq!(pool.stats().made, made, "objects in a magazine: {size}");

        let pool = BufferPool::builder().magazine_bytes(size * 64).list::<Magazines<Native>>();
        let pool = pool.classes(64, 1).build().unwrap();
        beside_a_sleeper(|| drop(pool.acquire(1).unwrap()), || drop(pool.acquire(1).unwrap()));
        assert_eq!(pool.stats().made, made, "buffers in a magazine: {size}");
    }
}
