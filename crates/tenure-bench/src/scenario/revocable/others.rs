use super::cached::PARKED;
use super::local::OBJECTS;
use crate::scenario::Variant;
use crate::scenario::workers::{WorkerValue, nameless};
use arc_swap::{ArcSwap, Cache};
use crossbeam_epoch as epoch;
use std::hint::black_box;
use std::ops::Deref;
use std::sync::{Arc, Barrier, PoisonError, RwLock, Weak};
use tenure::cache_line::CachePadded;
use tenure::memory::{Memory, Native, Ordering, Pointer};

/// Not on a count's line.
pub(super) type PaddedValue = CachePadded<WorkerValue<Native>>;

fn shared() -> PaddedValue {
    CachePadded::new(WorkerValue::new())
}

pub(super) fn cloned<A>(name: &'static str) -> Variant
where
    A: Clone + Deref<Target = PaddedValue> + From<PaddedValue> + Send + Sync + 'static,
{
    let read = |arc: &CachePadded<A>| _ = black_box((**arc).clone().read());
    Variant::step(name, || CachePadded::new(A::from(shared())), read)
}

pub(super) fn std_arcs() -> Variant {
    let shared = |_| (0..OBJECTS).map(|_| Arc::new(shared())).collect();
    let step = |objects: &Vec<Arc<PaddedValue>>, at: &mut usize| {
        *at = (*at + 1) % OBJECTS;
        black_box(Arc::clone(&objects[*at]).read());
    };
    Variant::workers("std Arc", shared, |_, thread| thread, step, nameless)
}

pub(super) fn std_weak() -> Variant {
    let step = |_: &_, weak: &mut Weak<PaddedValue>| {
        black_box(weak.upgrade().expect("there is an Arc").read());
    };
    let own = |arc: &_, _| Arc::downgrade(arc);
    Variant::workers("std Weak", |_| Arc::new(shared()), own, step, nameless)
}

pub(super) fn swapped() -> Variant {
    let read = |swap: &CachePadded<ArcSwap<PaddedValue>>| _ = black_box(swap.load().read());
    Variant::step("arc-swap load", || CachePadded::new(ArcSwap::from_pointee(shared())), read)
}

type ThreadCache = Cache<Arc<ArcSwap<PaddedValue>>, Arc<PaddedValue>>;

pub(super) fn swapped_cache() -> Variant {
    let shared = |_| Arc::new(ArcSwap::from_pointee(shared()));
    let own = |swap: &Arc<_>, _| Cache::new(Arc::clone(swap));
    let step = |_: &_, cache: &mut ThreadCache| _ = black_box(cache.load().read());
    Variant::workers("arc-swap Cache", shared, own, step, nameless)
}

pub(super) fn epoch() -> Variant {
    let prepare = || CachePadded::new(Epoch(epoch::Atomic::new(shared())));
    Variant::step("crossbeam-epoch", prepare, |epoch| {
        let guard = epoch::pin();
        // Acquire: for what the storing thread wrote.
        let found = epoch.0.load(Ordering::Acquire, &guard);
        // SAFETY: never null, and never replaced.
        black_box(unsafe { found.deref() }.read());
    })
}

struct Epoch(epoch::Atomic<PaddedValue>);

impl Drop for Epoch {
    fn drop(&mut self) {
        // SAFETY: no thread uses it any more.
        let guard = unsafe { epoch::unprotected() };
        let last = self.0.load(Ordering::Relaxed, guard);
        // SAFETY: never null, and this is its owner.
        drop(unsafe { last.into_owned() });
    }
}

pub(super) fn entered() -> Variant {
    let prepare = || {
        let current = Pointer::new(Box::into_raw(Box::new(shared())));
        CachePadded::new(Entered { collector: seize::Collector::new(), current })
    };
    Variant::step("seize", prepare, |entered| {
        use seize::Guard as _;
        let guard = entered.collector.enter();
        // Acquire: for what the storing thread wrote.
        let found = guard.protect(&entered.current, Ordering::Acquire);
        // SAFETY: never null, and never replaced.
        black_box(unsafe { &*found }.read());
    })
}

struct Entered {
    collector: seize::Collector,
    current: <Native as Memory>::Pointer<PaddedValue>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        // Relaxed: no thread uses it any more.
        let last = Pointer::load(&self.current, Ordering::Relaxed);
        // SAFETY: from `prepare`, and never replaced.
        drop(unsafe { Box::from_raw(last) });
    }
}

pub(super) fn swap() -> Variant {
    let prepare = || {
        let swap = ArcSwap::from_pointee(shared());
        // arc-swap keeps a place for each thread that has ever loaded at the same time as the others.
        let together = Barrier::new(PARKED);
        std::thread::scope(|scope| {
            for _ in 0..PARKED {
                scope.spawn(|| {
                    let loaded = swap.load();
                    together.wait();
                    drop(loaded);
                });
            }
        });
        Arc::new(swap)
    };
    let act = |swap: &Arc<ArcSwap<_>>, (): &mut ()| swap.store(Arc::new(shared()));
    let go_on = |_: &_, cache: &mut ThreadCache| cache.load().read();
    Variant::beside("arc-swap", prepare, (|_| (), |swap| Cache::new(Arc::clone(swap))), act, go_on)
}

type LockedValue = RwLock<Arc<PaddedValue>>;

fn read_locked(locked: &LockedValue) -> u64 {
    locked.read().unwrap_or_else(PoisonError::into_inner).read()
}

pub(super) fn locked() -> Variant {
    let prepare = || CachePadded::new(LockedValue::new(Arc::new(shared())));
    Variant::step("RwLock", prepare, |locked| _ = black_box(read_locked(locked)))
}

pub(super) fn replace_locked() -> Variant {
    let act = |locked: &LockedValue, (): &mut ()| {
        let new = Arc::new(shared());
        let mut current = locked.write().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut *current, new);
        drop(current);
        drop(old);
    };
    let go_on = |locked: &LockedValue, (): &mut ()| read_locked(locked);
    Variant::beside("RwLock", || LockedValue::new(Arc::new(shared())), (|_| (), |_| ()), act, go_on)
}
