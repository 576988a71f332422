//! Every public operation that does something.

use crate::is_inside;
use crate::world::{Kept, Value, World};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;
use tenure::counter::{Counter, Gauge, Histogram};
use tenure::owner::{Owner, Shared};
use tenure::pool::AcquireError;
use tenure::pool::BufferPool;
use tenure::pool::generic::{SlotMut, SlotPool, SlotRef};
use tenure::pool::list::List;
use tenure::rcu::{RcuCell, RcuGuard};
use tenure::registry::generic::{Registered, Registry, RegistryCount};
use tenure::revocable::Guard;
use tenure::revocable::generic::{self, Domain, Scheme, Strong};

#[derive(Clone, Copy)]
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) act: for<'w> fn(&'w World) -> Kept<'w>,
    /// It has a part for each thread.
    pub(crate) is_by_thread: bool,
}

macro_rules! operations {
    ($($name:ident $(: $trait:ident)*),* $(,)?) => {
        &[$(operations!(@ $name $($trait)*)),*]
    };
    (@ $name:ident) => {
        Operation { name: stringify!($name), act: |world| $name(world), is_by_thread: false }
    };
    (@ $name:ident by_thread) => {
        Operation { is_by_thread: true, ..operations!(@ $name) }
    };
}

pub(crate) const OPERATIONS: &[Operation] = operations! {
    count: by_thread, take_the_sum, gauge: by_thread, record: by_thread, counters_that_go,
    share: by_thread, share_what_may_close, owners_that_go, close, close_the_shared_one, drop_owners,
    look_up, acquire: by_thread, come_and_go: by_thread, come_and_go_by_rcu: by_thread, fail, acquire_in_a_task, linger: by_thread,
    registries_that_go,
    take_an_object: by_thread, find_an_object, discard_an_object, take_one_of_a_stack, objects_in_a_task, pools_that_go,
    take_a_buffer: by_thread, take_a_pair, freeze_a_buffer, buffers_in_a_task, buffer_pools_that_go,
    read: by_thread, read_with_a_reader, store, replace, update, compare_and_store, caches_that_go,
    enter, enter_with_a_mask, retire, retire_with_a_mask, retire_many,
};

/// Not for an allocator: see the module `pool`.
pub(crate) const OUTSIDE: &[Operation] = operations! {
    trim, at_the_limit, wait_at_the_limit, wait_for_the_end, wait_for_a_turn,
};

fn none<'w>() -> Kept<'w> {
    Box::new(())
}

fn is_pending(future: impl Future) -> bool {
    let poll = pin!(future).poll(&mut TaskContext::from_waker(Waker::noop()));
    matches!(poll, Poll::Pending)
}

fn at_once<R>(future: impl Future<Output = R>) -> R {
    match pin!(future).poll(&mut TaskContext::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("it waits"),
    }
}

// --- counter ---

fn count(world: &World) -> Kept<'_> {
    world.truth.counted.fetch_add(3, SeqCst);
    world.counter.add(3);
    let _ = world.counter.sum();
    none()
}

fn take_the_sum(world: &World) -> Kept<'_> {
    world.truth.taken.fetch_add(world.counter.take(), SeqCst);
    none()
}

fn gauge(world: &World) -> Kept<'_> {
    struct Lowers<'w>(&'w Gauge);
    impl Drop for Lowers<'_> {
        fn drop(&mut self) {
            self.0.add(-1);
        }
    }
    world.gauge.add(1);
    Box::new(Lowers(&world.gauge))
}

fn record(world: &World) -> Kept<'_> {
    world.truth.recorded.fetch_add(1, SeqCst);
    world.histogram.record(50);
    assert!(world.histogram.buckets().count() == 3 && world.histogram.count() > 0);
    none()
}

fn counters_that_go(_: &World) -> Kept<'_> {
    let (counter, gauge, histogram) = (Counter::new(), Gauge::new(), Histogram::new([1]));
    counter.add(2);
    gauge.add(-2);
    histogram.record(2);
    assert_eq!((counter.sum(), gauge.sum(), histogram.sum()), (2, -2, 2));
    Box::new((counter, gauge, histogram))
}

// --- owner ---

fn share(world: &World) -> Kept<'_> {
    let shared = world.owner.share();
    shared.check();
    assert!(Shared::ptr_eq(&shared, &shared.clone()));
    Box::new(shared)
}

fn share_what_may_close(world: &World) -> Kept<'_> {
    let shared = world.closable.try_share();
    if let Some(shared) = &shared {
        shared.check();
    }
    Box::new(shared)
}

fn owners_that_go(world: &World) -> Kept<'_> {
    let owners = [Owner::new(world.maker.make(8)), Owner::from(Box::new(world.maker.make(9)))];
    let shared = owners.each_ref().map(Owner::share);
    drop(owners);
    shared.iter().for_each(|shared| shared.check());
    Box::new(shared)
}

fn close(world: &World) -> Kept<'_> {
    let owner = Owner::new(world.maker.make(10));
    let shared = owner.share();
    let (mut closing, other) = (owner.close(), owner.close());
    assert!(owner.try_share().is_none() && is_pending(&mut closing) && is_pending(&mut closing));
    drop(other);
    shared.check();
    drop(shared);
    at_once(closing);
    Box::new(owner)
}

fn close_the_shared_one(world: &World) -> Kept<'_> {
    let mut closing = world.closable.close();
    let _: bool = is_pending(&mut closing);
    Box::new(closing)
}

fn drop_owners(world: &World) -> Kept<'_> {
    let owners = [11, 12].map(|number| Owner::new(world.maker.make(number)));
    let shared = owners[0].share();
    Owner::drop_all(owners);
    shared.check();
    Box::new(shared)
}

fn wait_for_the_end(world: &World) -> Kept<'_> {
    let owner = Owner::new(world.maker.make(13));
    drop(owner.share());
    owner.close().wait();
    none()
}

// --- registry ---

/// What is created in an allocator is created nowhere else.
fn key(number: u64) -> u64 {
    number + if is_inside() { 1_000 } else { 0 }
}

fn acquire_one<C: RegistryCount>(
    registry: &Registry<u64, Value, C>,
    key: u64,
    world: &World,
) -> Registered<u64, Value, C> {
    let object = registry.acquire(&key, || world.maker.make(key));
    object.check();
    assert_eq!((object.number, *Registered::key(&object)), (key, key));
    object
}

fn look_up(world: &World) -> Kept<'_> {
    let found = [1, 2, 1_001, 1_002].map(|key| world.registry.get(&key));
    found.iter().flatten().for_each(|object| object.check());
    let all = world.registry.snapshot();
    all.iter().for_each(|object| object.check());
    let _ = (world.registry.len(), world.registry.is_empty(), world.registry.stats());
    Box::new((found, all))
}

fn acquire(world: &World) -> Kept<'_> {
    let object = acquire_one(&world.registry, key(1), world);
    assert!(Registered::count(&object) > 0 && Registered::ptr_eq(&object, &object.clone()));
    Box::new(object)
}

/// More than a batch, so that memory is freed; in an allocator under Miri a few.
fn many() -> std::ops::Range<u64> {
    10..if cfg!(miri) && is_inside() { 13 } else { 80 }
}

fn come_and_go(world: &World) -> Kept<'_> {
    many().for_each(|number| drop(acquire_one(&world.registry, key(number), world)));
    none()
}

fn come_and_go_by_rcu(world: &World) -> Kept<'_> {
    many().for_each(|number| drop(acquire_one(&world.rcu_registry, key(number), world)));
    none()
}

fn fail(world: &World) -> Kept<'_> {
    assert!(world.registry.try_acquire(&key(2), || Err("no")).is_err());
    none()
}

fn acquire_in_a_task(world: &World) -> Kept<'_> {
    let (created, failed) = (key(3), key(4));
    let create = async { world.maker.make(created) };
    let mut future = Box::pin(world.registry.acquire_async(&created, create));
    // Another thread may be creating it.
    let polled = future.as_mut().poll(&mut TaskContext::from_waker(Waker::noop()));
    let fails = world.registry.try_acquire_async(&failed, async { Err(()) });
    let _: bool = is_pending(fails);
    match polled {
        Poll::Ready(object) => Box::new(object),
        Poll::Pending => none(),
    }
}

fn linger(world: &World) -> Kept<'_> {
    (1..6).for_each(|number| drop(acquire_one(&world.lingering, key(number), world)));
    world.lingering.sweep();
    let kept = acquire_one(&world.lingering, key(1), world);
    world.lingering.trim();
    Box::new(kept)
}

fn registries_that_go(world: &World) -> Kept<'_> {
    let hasher = std::hash::RandomState::new();
    let counted: Registry<u64, Value> = Registry::with_hasher(hasher.clone());
    drop(acquire_one(&counted, 1, world));
    let registry: Registry<u64, Value> = Registry::with_linger_and_hasher(2, hasher);
    (0..4).for_each(|number| drop(acquire_one(&registry, number, world)));
    Box::new((acquire_one(&registry, 1, world), registry.clone()))
}

// --- pool ---

fn take_an_object(world: &World) -> Kept<'_> {
    let objects = [(); 3].map(|()| world.objects.acquire().unwrap());
    objects.iter().for_each(|object| object.check());
    Box::new(objects)
}

fn find_an_object(world: &World) -> Kept<'_> {
    let object = world.objects.acquire().unwrap();
    let key = SlotMut::key(&object);
    let shared = SlotMut::share(object);
    let found = world.objects.get(key).unwrap();
    found.check();
    assert!(SlotRef::key(&found) == key && SlotRef::into_mut(found).is_err());
    let _ = (world.objects.len(), world.objects.is_empty(), world.objects.stats().acquired());
    Box::new(shared)
}

fn discard_an_object(world: &World) -> Kept<'_> {
    SlotMut::discard(world.objects.acquire().unwrap());
    none()
}

fn take_one_of_a_stack(world: &World) -> Kept<'_> {
    let object = world.stacked.acquire().unwrap();
    object.check();
    Box::new(object)
}

fn objects_in_a_task(world: &World) -> Kept<'_> {
    let object = at_once(world.objects.acquire_async()).unwrap();
    object.check();
    Box::new((object, world.objects.acquire_timeout(Duration::MAX).unwrap()))
}

fn new_pool<L: List>(world: &World) -> SlotPool<Value, L> {
    let maker = world.maker.clone();
    SlotPool::builder(move || maker.make(17))
        .reset(|value| value.check())
        .limit(2)
        .list::<L>()
        .build()
}

fn pools_that_go(world: &World) -> Kept<'_> {
    let (pool, closed) = (
        new_pool::<tenure::pool::list::Magazines>(world),
        new_pool::<tenure::pool::list::TaggedStack>(world),
    );
    drop(closed.acquire().unwrap());
    closed.close();
    assert_eq!(closed.acquire().err(), Some(AcquireError::Closed));
    let object = pool.acquire().unwrap();
    drop(pool.acquire().unwrap());
    drop(pool);
    object.check();
    let numbers = SlotPool::with(|| 1, |number| *number = 1);
    assert_eq!(*numbers.acquire().unwrap(), 1);
    Box::new((object, numbers.acquire().unwrap(), numbers))
}

fn take_a_buffer(world: &World) -> Kept<'_> {
    let mut buffer = world.buffers.acquire_zeroed(100).unwrap();
    assert_eq!(*buffer, [0; 100]);
    buffer.fill(7);
    Box::new((buffer, world.buffers.acquire(20).unwrap()))
}

fn take_a_pair(world: &World) -> Kept<'_> {
    let (mut send, recv) = world.buffers.acquire_pair(64, 128).unwrap();
    assert_eq!(send.extend_from_slice(b"hello"), 5);
    let _ = (world.buffers.stats(), world.buffers.class_stats());
    Box::new((send, recv, world.buffers.acquire_or_smaller(200).unwrap()))
}

fn freeze_a_buffer(world: &World) -> Kept<'_> {
    let mut buffer = world.buffers.acquire(64).unwrap();
    buffer.spare_capacity_mut()[..2].fill(1);
    buffer.advance_mut(2);
    buffer.advance(1);
    buffer.compact();
    buffer.truncate(0);
    buffer.clear();
    assert_eq!(buffer.spare_capacity(), buffer.capacity());
    buffer.resize(64, 1);
    let part = buffer.split_to(10);
    let bytes = buffer.freeze();
    assert_eq!((part.len(), bytes.len()), (10, 54));
    Box::new((part, bytes))
}

fn buffers_in_a_task(world: &World) -> Kept<'_> {
    Box::new(at_once(world.buffers.acquire_async(64)).unwrap())
}

fn buffer_pools_that_go(_: &World) -> Kept<'_> {
    let pool = BufferPool::builder().classes(64, 2).zero(false).build().unwrap();
    let buffer = pool.acquire(64).unwrap();
    drop(pool.acquire(128).unwrap());
    assert_eq!(pool.trim(), 128);
    pool.close();
    assert!(pool.is_closed());
    Box::new(buffer)
}

fn trim(world: &World) -> Kept<'_> {
    drop((take_an_object(world), take_a_buffer(world), take_a_pair(world)));
    world.objects.trim();
    world.stacked.trim();
    world.buffers.trim();
    none()
}

fn at_the_limit(world: &World) -> Kept<'_> {
    let kept = [(); 3].map(|()| world.limited.acquire(64).unwrap());
    assert!(world.limited.acquire(128).is_err());
    drop(kept);
    Box::new(world.limited.acquire(256).unwrap())
}

fn wait_at_the_limit(world: &World) -> Kept<'_> {
    let whole = world.limited.acquire(256).unwrap();
    assert!(world.limited.acquire_timeout(64, Duration::ZERO).is_err());
    let mut waits = Box::pin(world.limited.acquire_async(64));
    assert!(is_pending(&mut waits));
    drop(whole);
    Box::new(at_once(&mut waits).unwrap())
}

fn wait_for_a_turn(world: &World) -> Kept<'_> {
    let whole = world.limited.acquire(256).unwrap();
    let mut waits = Box::pin(world.limited.acquire_async(64));
    assert!(is_pending(&mut waits));
    drop(waits);
    Box::new(whole)
}

// --- revocable ---

fn read(world: &World) -> Kept<'_> {
    let guard = world.cached.load();
    guard.check();
    let mapped = RcuGuard::map(world.cached.load(), |value| &value.number);
    assert!(*mapped < 1_000);
    Box::new((guard, Box::new(mapped) as Kept<'_>))
}

fn read_with_a_reader(world: &World) -> Kept<'_> {
    let mut reader = world.cached.reader();
    reader.load().check();
    let _ = Guard::upgrade(&reader.load());
    Box::new((reader.clone(), reader))
}

fn store(world: &World) -> Kept<'_> {
    world.cached.store(world.maker.make(18));
    none()
}

fn replace(world: &World) -> Kept<'_> {
    let old = world.cached.swap(world.maker.make(19));
    old.check();
    Box::new(old)
}

fn update(world: &World) -> Kept<'_> {
    world.cached.rcu(|old| {
        old.check();
        world.maker.make(20)
    });
    let _ = world.cached.stats();
    none()
}

fn compare_and_store(world: &World) -> Kept<'_> {
    let current = world.cached.load_full();
    current.check();
    let _ = world.cached.compare_exchange(&current, world.maker.make(21));
    Box::new(current)
}

fn caches_that_go(world: &World) -> Kept<'_> {
    let cached = RcuCell::new(world.maker.make(22));
    cached.load().check();
    cached.store(world.maker.make(23));
    Box::new((cached.clone(), cached))
}

fn enter(world: &World) -> Kept<'_> {
    let mut local = world.domain.register();
    local.enter(&world.context).check();
    local.kept().unwrap().check();
    let found = local.kept_or(|_| false, || Some(world.context.clone()));
    let found = generic::Guard::upgrade(&found.unwrap()).unwrap();
    assert!(Strong::ptr_eq(&found, &world.context));
    local.clear();
    let _ = world.domain.stats();
    Box::new((found, local))
}

fn enter_with_a_mask(world: &World) -> Kept<'_> {
    let context = world.masked.strong(world.maker.make(24));
    let mut local = world.masked.register();
    local.enter(&context).check();
    drop(context);
    local.kept().unwrap().check();
    Box::new(local)
}

/// With a handle that keeps it, and one that uses it.
fn retire_in<S: Scheme>(domain: &Domain<Value, S>, world: &World) {
    let context = domain.strong(world.maker.make(25));
    let (mut keeps, mut uses) = (domain.register(), domain.register());
    drop(keeps.enter(&context));
    let guard = uses.enter(&context);
    drop(context);
    guard.check();
    drop(guard);
}

fn retire(world: &World) -> Kept<'_> {
    retire_in(&world.domain, world);
    Box::new(world.domain.strong(world.maker.make(26)))
}

fn retire_with_a_mask(world: &World) -> Kept<'_> {
    retire_in(&world.masked, world);
    Box::new(world.masked.strong(world.maker.make(27)))
}

fn retire_many(world: &World) -> Kept<'_> {
    let contexts = [28, 29].map(|number| world.domain.strong(world.maker.make(number)));
    world.domain.drop_all(contexts);
    let contexts = [30, 31].map(|number| world.masked.strong(world.maker.make(number)));
    world.masked.drop_all(contexts);
    none()
}
