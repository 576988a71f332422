//! What the operations work on, and the accounts.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::SeqCst};
use tenure::count::generic::RcuRef;
use tenure::counter::{Counter, Gauge, Histogram};
use tenure::owner::Owner;
use tenure::pool::BufferPool;
use tenure::pool::generic::SlotPool;
use tenure::pool::list::TaggedStack;
use tenure::rcu::RcuCell;
use tenure::registry::generic::Registry;
use tenure::revocable::generic::{Domain, Mask, Strong};

/// Something that an operation holds, to be dropped later.
pub(crate) type Kept<'w> = Box<dyn Keep + 'w>;

pub(crate) trait Keep {}

impl<T: ?Sized> Keep for T {}

const ALIVE: u64 = 0x5eed_a11e;

/// Is counted, and knows whether it was dropped.
pub(crate) struct Value {
    canary: u64,
    pub(crate) number: u64,
    live: Arc<AtomicI64>,
}

impl Value {
    pub(crate) fn check(&self) {
        assert_eq!(self.canary, ALIVE, "it was dropped");
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.check();
        self.canary = 0;
        assert!(self.live.fetch_sub(1, SeqCst) > 0, "dropped once too often");
    }
}

/// Makes values.
#[derive(Clone, Default)]
pub(crate) struct Maker(Arc<AtomicI64>);

impl Maker {
    pub(crate) fn make(&self, number: u64) -> Value {
        self.0.fetch_add(1, SeqCst);
        Value { canary: ALIVE, number, live: Arc::clone(&self.0) }
    }
}

/// What was added.
#[derive(Default)]
pub(crate) struct Truth {
    pub(crate) counted: AtomicU64,
    pub(crate) taken: AtomicU64,
    pub(crate) recorded: AtomicU64,
    pub(crate) threads: AtomicU64,
}

pub(crate) struct World {
    pub(crate) maker: Maker,
    pub(crate) truth: Truth,
    pub(crate) counter: Counter,
    pub(crate) gauge: Gauge,
    pub(crate) histogram: Histogram<2>,
    pub(crate) owner: Owner<Value>,
    /// Which an operation may close.
    pub(crate) closable: Owner<Value>,
    pub(crate) registry: Registry<u64, Value>,
    pub(crate) rcu_registry: Registry<u64, Value, RcuRef>,
    pub(crate) lingering: Registry<u64, Value>,
    pub(crate) objects: SlotPool<Value>,
    pub(crate) stacked: SlotPool<Value, TaggedStack>,
    pub(crate) buffers: BufferPool,
    /// Not for the allocator.
    pub(crate) limited: BufferPool,
    pub(crate) cached: RcuCell<Value>,
    pub(crate) domain: Domain<Value>,
    pub(crate) context: Strong<Value>,
    pub(crate) masked: Domain<Value, Mask>,
}

impl World {
    pub(crate) fn new() -> Self {
        let maker = Maker::default();
        let make = |number| maker.make(number);
        let (first, second) = (maker.clone(), maker.clone());
        let domain = Domain::new_in();
        let small = BufferPool::builder().classes(64, 3);
        Self {
            truth: Truth::default(),
            counter: Counter::new(),
            gauge: Gauge::new(),
            histogram: Histogram::new([10, 100]),
            owner: Owner::new(make(1)),
            closable: Owner::new(make(2)),
            registry: Registry::new(),
            rcu_registry: Registry::default(),
            lingering: Registry::with_linger(3),
            objects: SlotPool::builder(move || first.make(4)).magazine_size(2).build(),
            stacked: SlotPool::builder(move || second.make(5)).list::<TaggedStack>().build(),
            buffers: small.clone().magazine_bytes(128).build().unwrap(),
            limited: small.limit(256).build().unwrap(),
            cached: RcuCell::new(make(6)),
            context: domain.strong(make(7)),
            domain,
            masked: Domain::new_in(),
            maker,
        }
    }

    /// No thread has anything of it any more.
    pub(crate) fn end(self) {
        let truth = &self.truth;
        assert_eq!(self.counter.sum() + truth.taken.load(SeqCst), truth.counted.load(SeqCst));
        assert_eq!(self.gauge.sum(), 0);
        assert_eq!(self.histogram.count(), truth.recorded.load(SeqCst));
        assert_eq!(self.histogram.sum(), 50 * truth.recorded.load(SeqCst));
        for (of, len, statistics) in [
            ("registry", self.registry.len(), self.registry.stats()),
            ("rcu_registry", self.rcu_registry.len(), self.rcu_registry.stats()),
        ] {
            assert_eq!((len, statistics.created - statistics.destroyed), (0, 0), "{of}");
        }
        assert!(self.lingering.len() <= 3);
        for (of, statistics) in
            [("objects", self.objects.stats()), ("stacked", self.stacked.stats())]
        {
            assert_eq!(statistics.in_use, 0, "{of}");
        }
        assert_eq!(self.buffers.stats().in_use, 0);
        assert_eq!(self.domain.stats().local_handles, 0);
        let handles = self.cached.stats().local_handles;
        assert!(handles as u64 <= truth.threads.load(SeqCst), "a thread has lost its slot");
        self.context.check();
        let live = Arc::clone(&self.maker.0);
        drop(self);
        assert_eq!(live.load(SeqCst), 0, "values are left");
    }
}
