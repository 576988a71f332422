//! Objects of a `SlotPool` when it ends, when users' code panics, and when that code uses the pool that calls it.

use super::support::{keeping, tokens};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use tenure::pool::AcquireError;
use tenure::pool::generic::{SlotMut, SlotPool, SlotRef};
use tenure::pool::list::List;

fn closing_drops_what_is_idle_at_once_and_the_rest_as_it_comes_home<L: List>() {
    let (token, pool) = tokens::<L>();
    assert!(pool.is_empty());
    let (mine, shared) = (pool.acquire().unwrap(), SlotMut::share(pool.acquire().unwrap()));
    assert!(!pool.is_empty());
    keeping(&pool, 50, || {
        pool.close();
        assert_eq!(Arc::strong_count(&token), 2 + 2);
    });
    assert_eq!(pool.acquire().unwrap_err(), AcquireError::Closed);
    assert_eq!(
        AcquireError::Closed.to_string(),
        "the pool is closed: acquire before calling close()"
    );
    assert!(pool.is_closed() && pool.get(SlotRef::key(&shared)).is_none());
    mine.check();
    drop(mine);
    assert_eq!(Arc::strong_count(&token), 2 + 1);
    shared.clone().check();
    let mine = SlotRef::into_mut(shared).unwrap();
    let key = SlotMut::key(&mine);
    let shared = SlotMut::share(mine);
    assert!(pool.get(key).is_none(), "shared after the end");
    drop(shared);
    assert!(pool.is_empty());
    pool.close();
    pool.trim();
    assert_eq!(Arc::strong_count(&token), 2);
    drop(pool);
    assert_eq!(Arc::strong_count(&token), 1, "the pool's own: the block is gone");
}

fn a_guard_that_is_forgotten_leaks_its_object_and_nothing_is_unsound<L: List>() {
    let (token, pool) = tokens::<L>();
    let object = pool.acquire().unwrap();
    let place: *const _ = &raw const *object;
    // Kept for leak checkers; for the pool as good as forgotten.
    let kept = std::mem::ManuallyDrop::new(object);
    drop(pool);
    assert_eq!(Arc::strong_count(&token), 3);
    assert_eq!(place, &raw const **kept);
    drop(std::mem::ManuallyDrop::into_inner(kept));
    assert_eq!(Arc::strong_count(&token), 1);
}

#[derive(Default)]
struct Bomb {
    on_reset: bool,
    on_drop: bool,
    token: Option<Arc<()>>,
}

impl Bomb {
    fn reset(&mut self) {
        assert!(!self.on_reset, "in reset");
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.on_drop, "in drop");
    }
}

fn bombs<L: List>() -> SlotPool<Bomb, L> {
    SlotPool::builder(Bomb::default).reset(Bomb::reset).limit(3).list().build()
}

fn panics(action: impl FnOnce()) -> &'static str {
    let panic = catch_unwind(AssertUnwindSafe(action)).expect_err("it does not panic");
    panic.downcast_ref::<&str>().copied().expect("the panic is one of a test's own")
}

fn a_make_that_panics_leaves_the_pool_as_it_was<L: List>() {
    thread_local!(static MAKES: RefCell<bool> = const { RefCell::new(false) });
    let make = || assert!(MAKES.with_borrow(|&makes| makes), "in make");
    let pool = SlotPool::builder(make).limit(1).list::<L>().build();
    for _ in 0..2 {
        assert_eq!(panics(|| drop(pool.acquire())), "in make");
        assert!(pool.is_empty());
    }
    MAKES.set(true);
    assert!(pool.acquire().is_ok());
    assert_eq!(pool.stats().made, 1);
}

fn a_make_that_closes_the_pool_makes_nothing<L: List>() {
    let (token, handle) = (Arc::new(()), Arc::new(Mutex::new(None::<SlotPool<Arc<()>, L>>)));
    let (made, closed_by) = (Arc::clone(&token), Arc::clone(&handle));
    let calls = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&calls);
    let pool = SlotPool::builder(move || {
        *counted.lock().unwrap() += 1;
        let handle = closed_by.lock().unwrap().take();
        handle.into_iter().for_each(|pool| pool.close());
        Arc::clone(&made)
    });
    let pool = pool.list().build();
    *handle.lock().unwrap() = Some(pool.clone());
    for _ in 0..2 {
        assert_eq!(pool.acquire().unwrap_err(), AcquireError::Closed);
    }
    assert_eq!(*calls.lock().unwrap(), 1, "a pool that is closed makes something");
    assert_eq!(Arc::strong_count(&token), 2, "what was made is dropped");
    assert_eq!((pool.len(), pool.stats().made), (0, 0));
}

fn an_object_whose_reset_panics_is_dropped_and_not_used_again<L: List>() {
    let pool = bombs::<L>();
    let token = Arc::new(());
    let arm = |bomb: &mut Bomb| (bomb.on_reset, bomb.token) = (true, Some(Arc::clone(&token)));
    let mut exclusive = pool.acquire().unwrap();
    arm(&mut exclusive);
    assert_eq!(panics(|| drop(exclusive)), "in reset");
    assert_eq!((Arc::strong_count(&token), pool.len()), (1, 0));
    let mut shared = pool.acquire().unwrap();
    assert!(!shared.on_reset, "a new one");
    arm(&mut shared);
    let shared = SlotMut::share(shared);
    let key = SlotRef::key(&shared);
    drop(shared.clone());
    assert_eq!(panics(|| drop(shared)), "in reset");
    assert_eq!((Arc::strong_count(&token), pool.len()), (1, 0));
    assert!(pool.get(key).is_none());
    assert!(Vec::from_iter((0..3).map(|_| pool.acquire().unwrap())).iter().all(|b| !b.on_reset));
}

fn a_drop_that_panics_leaves_a_slot_that_is_free_and_spares_no_other_object<L: List>() {
    let ends: [fn(SlotPool<Bomb, L>); 3] =
        [|pool| _ = pool.trim(), |pool| pool.close(), |pool| drop(pool)];
    for end in ends {
        for armed in 0..3 {
            let pool = bombs::<L>();
            let token = Arc::new(());
            let mut held = Vec::from_iter((0..3).map(|_| pool.acquire().unwrap()));
            for (at, bomb) in held.iter_mut().enumerate() {
                (bomb.on_drop, bomb.token) = (at == armed, Some(Arc::clone(&token)));
            }
            drop(held);
            let other = pool.clone();
            if armed == 0 {
                drop(other);
                assert_eq!(panics(|| end(pool)), "in drop");
            } else {
                let is_last = catch_unwind(AssertUnwindSafe(|| end(pool))).is_ok();
                assert_eq!(is_last, other.len() == 3, "a handle that is not the last ends nothing");
                if is_last {
                    assert_eq!(panics(|| drop(other)), "in drop");
                } else {
                    assert!(other.is_empty());
                }
            }
            assert_eq!(Arc::strong_count(&token), 1);
        }
    }
}

fn a_drop_that_panics_when_its_object_comes_home_late_is_the_users<L: List>() {
    let pool = bombs::<L>();
    let token = Arc::new(());
    let mut last = pool.acquire().unwrap();
    (last.on_drop, last.token) = (true, Some(Arc::clone(&token)));
    drop(pool);
    assert_eq!(panics(|| drop(last)), "in drop");
    assert_eq!(Arc::strong_count(&token), 1);
    let pool = bombs::<L>();
    let mut discarded = pool.acquire().unwrap();
    discarded.on_drop = true;
    assert_eq!(panics(|| SlotMut::discard(discarded)), "in drop");
    assert!(pool.is_empty() && pool.acquire().is_ok());
}

struct Nested<L: List> {
    pool: Option<SlotPool<Nested<L>, L>>,
    held: Option<SlotMut<Nested<L>, L>>,
    in_reset: fn(&mut Self),
    in_drop: fn(&mut Self),
}

impl<L: List> Nested<L> {
    fn pool() -> SlotPool<Self, L> {
        let idle = |_: &mut Self| ();
        SlotPool::builder(move || Self { pool: None, held: None, in_reset: idle, in_drop: idle })
            .reset(|object| (object.in_reset)(object))
            .list()
            .build()
    }

    fn use_pool(&mut self) {
        let pool = self.pool.as_ref().unwrap();
        let (one, other) = (pool.acquire(), pool.acquire());
        if let Ok(one) = one {
            let one = SlotMut::share(one);
            assert_eq!(pool.get(SlotRef::key(&one)).is_none(), pool.is_closed());
        }
        drop(other);
    }
}

impl<L: List> Drop for Nested<L> {
    fn drop(&mut self) {
        (self.in_drop)(self);
    }
}

fn a_reset_may_use_the_pool_and_keep_what_it_acquires<L: List>() {
    let pool = Nested::<L>::pool();
    let mut outer = pool.acquire().unwrap();
    outer.pool = Some(pool.clone());
    outer.in_reset = |this| {
        this.use_pool();
        this.held = this.pool.take().unwrap().acquire().ok();
    };
    drop(outer);
    assert_eq!((pool.stats().in_use, pool.stats().idle), (1, 2));
    pool.trim();
    // The trim dropped an object whose guard gave another one back.
    assert_eq!((pool.stats().in_use, pool.stats().idle), (0, 1));
    pool.trim();
    assert!(pool.is_empty());
}

fn a_drop_may_use_trim_and_close_the_pool<L: List>() {
    let in_drops: [fn(&mut Nested<L>); 3] = [
        Nested::use_pool,
        |this| _ = this.pool.as_ref().unwrap().trim(),
        |this| this.pool.as_ref().unwrap().close(),
    ];
    for in_drop in in_drops {
        let pool = Nested::<L>::pool();
        let mut held = Vec::from_iter((0..3).map(|_| pool.acquire().unwrap()));
        for object in &mut held {
            object.pool = Some(pool.clone());
            object.in_drop = in_drop;
        }
        SlotMut::discard(held.pop().unwrap());
        drop(held);
        pool.trim();
        pool.close();
        assert!(pool.is_empty());
    }
}

fn an_object_may_have_the_last_handle_of_its_pool_until_it_is_reset<L: List>() {
    let pool = Nested::<L>::pool();
    let mut object = pool.acquire().unwrap();
    object.in_reset = |this| this.pool = None;
    let token = Arc::new(());
    // Dropped with the pool's block, as is its `make`.
    let kept = Arc::clone(&token);
    let outer = SlotPool::builder(move || Arc::clone(&kept)).list::<L>().build();
    drop(outer.acquire().unwrap());
    object.pool = Some(pool);
    drop(object);
    drop(outer);
    assert_eq!(Arc::strong_count(&token), 1);
}

claims! {
    closing_drops_what_is_idle_at_once_and_the_rest_as_it_comes_home,
    a_guard_that_is_forgotten_leaks_its_object_and_nothing_is_unsound,
    a_make_that_panics_leaves_the_pool_as_it_was,
    a_make_that_closes_the_pool_makes_nothing,
    an_object_whose_reset_panics_is_dropped_and_not_used_again,
    a_drop_that_panics_leaves_a_slot_that_is_free_and_spares_no_other_object,
    a_drop_that_panics_when_its_object_comes_home_late_is_the_users,
    a_reset_may_use_the_pool_and_keep_what_it_acquires,
    a_drop_may_use_trim_and_close_the_pool,
    an_object_may_have_the_last_handle_of_its_pool_until_it_is_reset,
}
