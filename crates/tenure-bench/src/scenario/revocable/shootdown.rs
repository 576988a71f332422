//! Objects that end: each is made, used by a local handle, and loses its last strong handle.

use super::beside::Sides;
use crate::scenario::Variant;
use crate::scenario::workers::WorkerValue;
use std::hint::black_box;
use tenure::memory::Native;
use tenure::revocable::generic::{Domain, LocalHandle, Scheme, Strong};

struct Parked<S: Scheme<Memory = Native>> {
    domain: Domain<WorkerValue<Native>, S>,
    other: Strong<WorkerValue<Native>, S>,
    _parked: Vec<LocalHandle<WorkerValue<Native>, S>>,
}

impl<S: Scheme<Memory = Native>> Parked<S> {
    fn new(locals: usize) -> Self {
        let domain = Domain::new_in();
        let other = domain.strong(WorkerValue::new());
        let parked = |_| {
            let mut local = domain.register();
            drop(local.enter(&other));
            local
        };
        Self { _parked: (0..locals).map(parked).collect(), other, domain }
    }

    /// A new object that `local` has used.
    fn used(
        &self,
        local: &mut LocalHandle<WorkerValue<Native>, S>,
    ) -> Strong<WorkerValue<Native>, S> {
        let object = self.domain.strong(WorkerValue::new());
        black_box(local.enter(&object).read());
        object
    }

    fn go_on(&self, local: &mut LocalHandle<WorkerValue<Native>, S>) -> u64 {
        local.enter(&self.other).read()
    }
}

/// One object at a time, while `parked` local handles are parked.
pub(super) fn one<S: Scheme<Memory = Native>>(name: &'static str, parked: usize) -> Variant {
    let register: fn(&Parked<S>) -> _ = |it| it.domain.register();
    let act = |it: &Parked<S>, local: &mut _| drop(it.used(local));
    let sides = (register, register);
    Variant::beside(name, move || Parked::new(parked), sides, act, Parked::go_on).with_singles()
}

const BATCH: usize = 32;

/// [`BATCH`] objects, each in a local handle of its own, lose their strong handles at once.
pub(super) fn batch<S: Scheme<Memory = Native>>(name: &'static str, parked: usize) -> Variant {
    let sides: Sides<Parked<S>, _, _> = (Collected::new, |it| it.domain.register());
    let act = |it: &Parked<S>, collected: &mut Collected<S>| collected.add(it);
    Variant::beside(name, move || Parked::new(parked), sides, act, Parked::go_on)
}

struct Collected<S: Scheme<Memory = Native>> {
    locals: Vec<LocalHandle<WorkerValue<Native>, S>>,
    objects: Vec<Strong<WorkerValue<Native>, S>>,
}

impl<S: Scheme<Memory = Native>> Collected<S> {
    fn new(parked: &Parked<S>) -> Self {
        let locals = (0..BATCH).map(|_| parked.domain.register()).collect();
        Self { locals, objects: Vec::with_capacity(BATCH) }
    }

    /// The last object of a batch ends all of them.
    fn add(&mut self, parked: &Parked<S>) {
        self.objects.push(parked.used(&mut self.locals[self.objects.len()]));
        if self.objects.len() == BATCH {
            parked.domain.drop_all(self.objects.drain(..));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure::revocable::generic::Shootdown;

    #[test]
    fn each_operation_is_one_object_one_barrier_and_one_worker_that_lost_it() {
        let parked = Parked::<Shootdown>::new(64);
        let mut local = parked.domain.register();
        (0..10).for_each(|_| drop(parked.used(&mut local)));
        let after = parked.domain.stats();
        assert_eq!((after.local_handles, after.retired), (64 + 1, 10));
        assert_eq!((after.barriers, after.revoked, after.donated), (10, 10, 0));
    }

    #[test]
    fn a_batch_is_one_barrier_for_all_of_its_objects() {
        let parked = Parked::<Shootdown>::new(64);
        let mut collected = Collected::new(&parked);
        (0..2 * BATCH + 1).for_each(|_| collected.add(&parked));
        let after = parked.domain.stats();
        let objects = 2 * BATCH as u64;
        assert_eq!((after.retired, after.barriers, after.revoked), (objects, 2, objects));
    }
}
