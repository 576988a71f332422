use crate::scenario::workers::{WorkerValue, nameless};
use crate::scenario::{Host, Variant};
use std::hint::black_box;
use tenure::cache_line::CachePadded;
use tenure::memory::Native;
use tenure::rcu::{RcuCell, RcuReader};
use tenure::revocable::generic::{self, Domain, On, Shootdown};

pub(super) fn by_reader<M: Host>() -> Variant {
    type Shared<M> = generic::RcuCell<WorkerValue<M>, On<M, Shootdown>>;
    let own = |cached: &Shared<M>, _| cached.reader();
    let step = |_: &_, reader: &mut generic::RcuReader<WorkerValue<M>, On<M, Shootdown>>| {
        black_box(reader.load().read());
    };
    Variant::workers("RcuReader", |_| Shared::<M>::new_in(WorkerValue::new()), own, step, nameless)
}

/// The thread's place is looked up. Places are made at the first read: simulated, they would lie where the host's
/// allocator puts them.
pub(super) fn directly() -> Variant {
    let read =
        |cached: &CachePadded<RcuCell<WorkerValue<Native>>>| _ = black_box(cached.load().read());
    Variant::step("RcuCell::load", || CachePadded::new(RcuCell::new(WorkerValue::new())), read)
}

/// Reads by a counted reference, such as a lock hands out.
pub(super) fn by_clone<M: Host>() -> Variant {
    let prepare = || {
        CachePadded::new(Domain::<_, On<M, Shootdown>>::new_in().strong(WorkerValue::<M>::new()))
    };
    Variant::step("clone", prepare, |object| _ = black_box((**object).clone().read()))
}

pub(super) const PARKED: usize = 64;

pub(super) fn store() -> Variant {
    type Shared = (RcuCell<WorkerValue<Native>>, Vec<RcuReader<WorkerValue<Native>>>);
    let shared = || {
        let cached = RcuCell::new(WorkerValue::new());
        let parked = |_| {
            let mut reader = cached.reader();
            black_box(reader.load().read());
            reader
        };
        let parked = (0..PARKED).map(parked).collect();
        (cached, parked)
    };
    let act = |(cached, _): &Shared, (): &mut ()| cached.store(WorkerValue::new());
    let go_on = |_: &Shared, reader: &mut RcuReader<WorkerValue<Native>>| reader.load().read();
    Variant::beside("RcuCell", shared, (|_| (), |(cached, _)| cached.reader()), act, go_on)
}
