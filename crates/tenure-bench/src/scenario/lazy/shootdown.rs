//! Objects that end: each is made, used by a local handle, and loses its last strong handle.

use super::beside::Event;
use crate::scenario::workers::Value;
use std::hint::black_box;
use tenure::lazy::{Context, Domain, LocalHandle, Scheme};
use tenure::memory::Native;

/// A domain of which some local handles are parked, each with another object.
struct Parked<S: Scheme<Memory = Native>> {
    domain: Domain<Value<Native>, S>,
    other: Context<Value<Native>, S>,
    _parked: Vec<LocalHandle<Value<Native>, S>>,
}

impl<S: Scheme<Memory = Native>> Parked<S> {
    fn new(locals: usize) -> Self {
        let domain = Domain::new_in();
        let other = domain.context(Value::new());
        let parked = |_| {
            let mut local = domain.register();
            drop(local.enter(&other));
            local
        };
        Self { _parked: (0..locals).map(parked).collect(), other, domain }
    }

    /// A new object, which `local` has used.
    fn used(&self, local: &mut LocalHandle<Value<Native>, S>) -> Context<Value<Native>, S> {
        let object = self.domain.context(Value::new());
        black_box(local.enter(&object).read());
        object
    }

    fn go_on(&self, local: &mut LocalHandle<Value<Native>, S>) -> u64 {
        local.enter(&self.other).read()
    }
}

/// One object at a time, while so many local handles are parked.
pub(super) struct One<S: Scheme<Memory = Native>, const PARKED: usize>(Parked<S>);

impl<S: Scheme<Memory = Native>, const PARKED: usize> Event for One<S, PARKED> {
    type Actor = LocalHandle<Value<Native>, S>;
    type Other = LocalHandle<Value<Native>, S>;

    fn prepare() -> Self {
        Self(Parked::new(PARKED))
    }
    fn actor(&self) -> Self::Actor {
        self.0.domain.register()
    }
    fn other(&self) -> Self::Other {
        self.0.domain.register()
    }
    fn act(&self, local: &mut Self::Actor) {
        drop(self.0.used(local));
    }
    #[inline(always)]
    fn go_on(&self, local: &mut Self::Other) -> u64 {
        self.0.go_on(local)
    }
}

/// Objects that go together.
pub(super) const BATCH: usize = 32;

/// As many objects as [`BATCH`] says, each in a local handle of its own, which then lose their strong handles at once.
pub(super) struct Batch<S: Scheme<Memory = Native>, const PARKED: usize>(Parked<S>);

/// Local handles, and the objects that they had so far.
pub(super) struct Collected<S: Scheme<Memory = Native>> {
    locals: Vec<LocalHandle<Value<Native>, S>>,
    objects: Vec<Context<Value<Native>, S>>,
}

impl<S: Scheme<Memory = Native>, const PARKED: usize> Event for Batch<S, PARKED> {
    type Actor = Collected<S>;
    type Other = LocalHandle<Value<Native>, S>;

    fn prepare() -> Self {
        Self(Parked::new(PARKED))
    }
    fn actor(&self) -> Self::Actor {
        let locals = (0..BATCH).map(|_| self.0.domain.register()).collect();
        Collected { locals, objects: Vec::with_capacity(BATCH) }
    }
    fn other(&self) -> Self::Other {
        self.0.domain.register()
    }
    /// One object; with the last one they go.
    fn act(&self, Collected { locals, objects }: &mut Self::Actor) {
        objects.push(self.0.used(&mut locals[objects.len()]));
        if objects.len() == BATCH {
            self.0.domain.drop_all(objects.drain(..));
        }
    }
    #[inline(always)]
    fn go_on(&self, local: &mut Self::Other) -> u64 {
        self.0.go_on(local)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure::lazy::{DomainStatistics, Shootdown};

    fn after<E: Event>(steps: usize, of: impl Fn(&E) -> DomainStatistics) -> DomainStatistics {
        let event = E::prepare();
        let mut actor = event.actor();
        (0..steps).for_each(|_| event.act(&mut actor));
        of(&event)
    }

    #[test]
    fn each_operation_is_one_object_one_barrier_and_one_worker_that_lost_it() {
        let after = after::<One<Shootdown, 64>>(10, |event| event.0.domain.statistics());
        assert_eq!((after.local_handles, after.retired), (64 + 1, 10));
        assert_eq!((after.barriers, after.revoked, after.donated), (10, 10, 0));
    }

    #[test]
    fn a_batch_is_one_barrier_for_all_of_its_objects() {
        let steps = 2 * BATCH + 1;
        let after = after::<Batch<Shootdown, 64>>(steps, |event| event.0.domain.statistics());
        assert_eq!(
            (after.retired, after.barriers, after.revoked),
            (2 * BATCH as u64, 2, 2 * BATCH as u64)
        );
    }
}
