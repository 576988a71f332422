//! Local handles: they enter one object again and again, go from object to object, or use what they kept.

use crate::scenario::workers::{WorkerValue, nameless};
use crate::scenario::{Host, NamedMember, Variant};
use std::hint::black_box;
use tenure::cache_line::CachePadded;
use tenure::memory::{Atomic, Ordering};
use tenure::revocable::generic::{Domain, LocalHandle, Scheme, Strong};

type LocalOf<M, S> = LocalHandle<WorkerValue<M>, S>;

struct One<S: Scheme<Memory: Host>> {
    domain: Domain<WorkerValue<S::Memory>, S>,
    object: Strong<WorkerValue<S::Memory>, S>,
}

impl<S: Scheme<Memory: Host>> One<S> {
    fn new(_threads: usize) -> Self {
        let domain = Domain::new_in();
        Self { object: domain.strong(WorkerValue::new()), domain }
    }

    fn members(&self) -> Vec<NamedMember> {
        vec![NamedMember::of("value", &*self.object)]
    }
}

/// Enters and leaves the object, then works on something else.
pub(crate) fn same<S: Scheme<Memory: Host>, const WORK_NS: u32>(name: &'static str) -> Variant {
    let step = |it: &One<S>, local: &mut LocalOf<S::Memory, S>| {
        let seen = local.enter(&it.object).read();
        black_box(S::Memory::work(seen, WORK_NS));
    };
    Variant::workers(name, One::<S>::new, |it: &One<S>, _| it.domain.register(), step, One::members)
}

/// Uses what the handle keeps, without a strong handle, and leaves it: the case of a `Weak`.
pub(super) fn kept<S: Scheme<Memory: Host>>(name: &'static str) -> Variant {
    let own = |it: &One<S>, _| {
        let mut local = it.domain.register();
        drop(local.enter(&it.object));
        local
    };
    let step = |_: &One<S>, local: &mut LocalOf<S::Memory, S>| {
        let kept = local.kept().expect("there is a handle");
        black_box(kept.read());
    };
    Variant::workers(name, One::<S>::new, own, step, One::members)
}

pub(super) const OBJECTS: usize = 16;

type Round<M, S> = (Domain<WorkerValue<M>, S>, [Strong<WorkerValue<M>, S>; OBJECTS]);

/// Enters the next object and leaves it: nothing kept is of use.
pub(super) fn objects<S: Scheme<Memory: Host>>(name: &'static str) -> Variant {
    let shared = |_| {
        let domain = Domain::new_in();
        let objects = std::array::from_fn(|_| domain.strong(WorkerValue::new()));
        (domain, objects)
    };
    let own = |(domain, _): &Round<S::Memory, S>, thread| (domain.register(), thread);
    let step = |(_, objects): &Round<S::Memory, S>,
                (local, at): &mut (LocalOf<S::Memory, S>, usize)| {
        *at = (*at + 1) % OBJECTS;
        black_box(local.enter(&objects[*at]).read());
    };
    Variant::workers(name, shared, own, step, nameless)
}

/// The limit: a load and a store, to a line of the thread's own.
pub(super) fn own_line<M: Host, const WORK_NS: u32>(name: &'static str) -> Variant {
    let own = |_: &_, _| Box::new(CachePadded::new(M::AtomicU32::new(0)));
    let step = |value: &CachePadded<WorkerValue<M>>, word: &mut Box<CachePadded<M::AtomicU32>>| {
        // Relaxed, twice: no other thread has it.
        black_box(word.load(Ordering::Relaxed));
        word.store(1, Ordering::Relaxed);
        black_box(M::work(value.read(), WORK_NS));
    };
    Variant::workers(name, |_| CachePadded::new(WorkerValue::<M>::new()), own, step, nameless)
}
