//! What else there is, on the real machine.

use super::beside::Event;
use super::cached::PARKED;
use super::local::OBJECTS;
use crate::scenario::workers::{Value, Work};
use crate::scenario::{Operation, Variant};
use arc_swap::{ArcSwap, Cache};
use crossbeam_epoch as epoch;
use std::hint::black_box;
use std::ops::Deref;
use std::sync::{Arc, Barrier, PoisonError, RwLock, Weak};
use tenure::line::Isolated;
use tenure::memory::{Memory, Native, Ordering, Pointer};

/// Not on the line of a count.
pub(super) type Shared = Isolated<Value<Native>>;

fn shared() -> Shared {
    Isolated::new(Value::new())
}

/// An `Arc`, a clone for each use.
pub(super) fn cloned<A>(name: &'static str) -> Variant
where
    A: Clone + Deref<Target = Shared> + From<Shared> + Send + Sync + 'static,
{
    let read = |arc: &Isolated<A>| _ = black_box((**arc).clone().read());
    Variant::step(name, || Isolated::new(A::from(shared())), read)
}

/// std's `Arc` of the next of some objects.
pub(super) struct StdArcs(Vec<Arc<Shared>>);

impl Work for StdArcs {
    type Own = usize;

    fn prepare(_threads: usize) -> Self {
        Self((0..OBJECTS).map(|_| Arc::new(shared())).collect())
    }
    fn own(&self, thread: usize) -> usize {
        thread
    }
    #[inline(always)]
    fn step(&self, at: &mut usize) {
        *at = (*at + 1) % OBJECTS;
        black_box(Arc::clone(&self.0[*at]).read());
    }
}

/// std's `Weak`, which every use upgrades.
pub(super) struct StdWeak(Arc<Shared>);

impl Work for StdWeak {
    type Own = Weak<Shared>;

    fn prepare(_threads: usize) -> Self {
        Self(Arc::new(shared()))
    }
    fn own(&self, _thread: usize) -> Self::Own {
        Arc::downgrade(&self.0)
    }
    #[inline(always)]
    fn step(&self, weak: &mut Self::Own) {
        black_box(weak.upgrade().expect("there is an Arc").read());
    }
}

/// `ArcSwap::load`, which keeps no handle.
pub(super) fn swapped() -> Variant {
    let read = |swap: &Isolated<ArcSwap<Shared>>| _ = black_box(swap.load().read());
    Variant::step("arc-swap load", || Isolated::new(ArcSwap::from_pointee(shared())), read)
}

/// arc-swap's `Cache`, which owns what it read last.
pub(super) struct SwappedCache(Arc<ArcSwap<Shared>>);

type ThreadCache = Cache<Arc<ArcSwap<Shared>>, Arc<Shared>>;

impl Work for SwappedCache {
    type Own = ThreadCache;

    fn prepare(_threads: usize) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(shared())))
    }
    fn own(&self, _thread: usize) -> Self::Own {
        Cache::new(Arc::clone(&self.0))
    }
    #[inline(always)]
    fn step(&self, cache: &mut Self::Own) {
        black_box(cache.load().read());
    }
}

/// A pinned epoch, and what is found under it.
pub(super) struct Epoch(epoch::Atomic<Shared>);

impl Operation for Epoch {
    fn prepare() -> Self {
        Self(epoch::Atomic::new(shared()))
    }
    #[inline(always)]
    fn step(&self, _retries: &mut u64) {
        let guard = epoch::pin();
        // Acquire: what whoever stored it had written.
        let found = self.0.load(Ordering::Acquire, &guard);
        // SAFETY: never null, and never replaced.
        black_box(unsafe { found.deref() }.read());
    }
}

impl Drop for Epoch {
    fn drop(&mut self) {
        // SAFETY: no thread uses it any more.
        let guard = unsafe { epoch::unprotected() };
        // Relaxed: as above.
        let last = self.0.load(Ordering::Relaxed, guard);
        // SAFETY: never null, and this is its owner.
        drop(unsafe { last.into_owned() });
    }
}

/// A guard of seize's collector, and what is found under it.
pub(super) struct Entered {
    collector: seize::Collector,
    current: <Native as Memory>::Pointer<Shared>,
}

impl Operation for Entered {
    fn prepare() -> Self {
        let current = Pointer::new(Box::into_raw(Box::new(shared())));
        Self { collector: seize::Collector::new(), current }
    }
    #[inline(always)]
    fn step(&self, _retries: &mut u64) {
        use seize::Guard as _;
        let guard = self.collector.enter();
        // Acquire: what whoever stored it had written.
        let found = guard.protect(&self.current, Ordering::Acquire);
        // SAFETY: never null, and never replaced.
        black_box(unsafe { &*found }.read());
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        // Relaxed: no thread uses it any more.
        let last = Pointer::load(&self.current, Ordering::Relaxed);
        // SAFETY: from `prepare`, and never replaced.
        drop(unsafe { Box::from_raw(last) });
    }
}

/// std's `RwLock`, locked for as long as the value is read.
pub(super) struct Locked(RwLock<Arc<Shared>>);

impl Operation for Locked {
    fn prepare() -> Self {
        Self(RwLock::new(Arc::new(shared())))
    }
    #[inline(always)]
    fn step(&self, _retries: &mut u64) {
        black_box(self.0.read().unwrap_or_else(PoisonError::into_inner).read());
    }
}

/// `ArcSwap::store`, beside caches.
impl Event for SwappedCache {
    type Actor = ();
    type Other = ThreadCache;

    fn prepare() -> Self {
        let swap = ArcSwap::from_pointee(shared());
        // arc-swap has a place for each thread that has ever loaded at the same time as the others, whatever it loaded.
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
        Self(Arc::new(swap))
    }
    fn actor(&self) {}
    fn other(&self) -> Self::Other {
        Cache::new(Arc::clone(&self.0))
    }
    fn act(&self, _actor: &mut ()) {
        self.0.store(Arc::new(shared()));
    }
    #[inline(always)]
    fn go_on(&self, cache: &mut Self::Other) -> u64 {
        cache.load().read()
    }
}

/// The `Arc` in it is replaced, beside readers that lock it.
impl Event for Locked {
    type Actor = ();
    type Other = ();

    fn prepare() -> Self {
        Operation::prepare()
    }
    fn actor(&self) {}
    fn other(&self) {}
    fn act(&self, _actor: &mut ()) {
        let new = Arc::new(shared());
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut *current, new);
        drop(current);
        drop(old);
    }
    #[inline(always)]
    fn go_on(&self, _other: &mut ()) -> u64 {
        self.0.read().unwrap_or_else(PoisonError::into_inner).read()
    }
}
