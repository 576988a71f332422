//! Objects that linger, in a ring with one place.

use super::super::stage::{Preemptions, join_all, passes, spawn};
use super::{KEY, ObjectRef, Objects, Witness, set_stage};
use crate::memory::{Loom, set_number};
use std::sync::Arc;
use tenure::count::generic::{RcuRef, TicketRef};
use tenure::registry::generic::RegistryCount;

const OTHER: u32 = 8;

pub(crate) struct Stage<C: RegistryCount> {
    objects: Objects<C>,
    witness: Witness,
    others: Witness,
}

impl<C: RegistryCount> Stage<C> {
    fn new() -> Self {
        let objects = Objects::with_linger_and_hasher(1, Default::default());
        set_stage(&objects);
        Self { objects, witness: Witness::default(), others: Witness::default() }
    }

    fn acquired(&self) -> ObjectRef<C> {
        self.objects.acquire(&KEY, || self.witness.create())
    }
}

pub(crate) type Act<C> = fn(&Stage<C>);

pub(crate) fn acquire<C: RegistryCount>(stage: &Stage<C>) {
    stage.witness.use_it(stage.acquired());
}

/// The reference that is dropped goes to the ring.
pub(crate) fn use_and_keep<C: RegistryCount>(stage: &Stage<C>) {
    let held = stage.acquired();
    stage.objects.trim();
    stage.witness.use_it(held);
}

fn get<C: RegistryCount>(stage: &Stage<C>) {
    if let Some(found) = stage.objects.get(&KEY) {
        stage.witness.use_it(found);
    }
}

/// Takes the place.
fn acquire_another<C: RegistryCount>(stage: &Stage<C>) {
    let object = stage.objects.acquire(&OTHER, || stage.others.create());
    stage.others.use_it(object);
}

pub(crate) fn sweep<C: RegistryCount>(stage: &Stage<C>) {
    stage.objects.sweep();
}

fn sweep_twice<C: RegistryCount>(stage: &Stage<C>) {
    stage.objects.sweep();
    stage.objects.sweep();
}

pub(crate) fn trim<C: RegistryCount>(stage: &Stage<C>) {
    stage.objects.trim();
}

/// An object lingers. `mine` ‖ `other`, and then the last handle goes: nothing is left. Up to `created` objects of its
/// key were there, one at a time.
pub(crate) fn meet<C: RegistryCount>(mine: Act<C>, other: Act<C>, created: u32) {
    let stage = Arc::new(Stage::<C>::new());
    acquire(&stage);
    let thread = spawn({
        let stage = stage.clone();
        move || {
            set_number(1);
            other(&stage);
        }
    });
    mine(&stage);
    thread.join().unwrap();
    let Stage { objects, witness, others } =
        Arc::into_inner(stage).expect("all threads have ended");
    drop(objects);
    witness.assert_gone(&(1..=created));
    others.assert_gone(&(0..=1));
}

/// Two drops, one of which gives its reference to the ring ‖ a trim, which puts that. So the last put may be of a thread
/// that never looks at the place.
pub(crate) fn drops_under_a_trim<C: RegistryCount>() {
    let Stage { objects, witness, .. } = Stage::<C>::new();
    let first = objects.acquire(&KEY, || witness.create());
    let second = first.clone();
    let dropping = spawn({
        let witness = witness.clone();
        move || {
            set_number(1);
            witness.use_it(second);
        }
    });
    let trimming = spawn({
        let objects = objects.clone();
        move || {
            set_number(2);
            objects.trim();
        }
    });
    witness.use_it(first);
    join_all([dropping, trimming]);
    drop(objects);
    witness.assert_gone(&(1..=1));
}

/// The first drop, which gives its reference to the ring ‖ the last handle, which closes it.
fn the_first_drop_under_the_end<C: RegistryCount>() {
    let Stage { objects, witness, .. } = Stage::<C>::new();
    let first = objects.acquire(&KEY, || witness.create());
    let thread = spawn({
        let witness = witness.clone();
        move || {
            set_number(1);
            witness.use_it(first);
        }
    });
    drop(objects);
    thread.join().unwrap();
    witness.assert_gone(&(1..=1));
}

const TWO: Preemptions = Some(2);

macro_rules! models {
    ($($module:ident: $count:ty;)*) => {$(
        mod $module {
            use super::*;
            type C = $count;

            tests! {
                a_lingering_object_is_the_one_that_is_acquired =>
                    passes(TWO, || meet::<C>(acquire, acquire, 1));
                an_object_that_makes_room_under_an_acquire_lives_or_is_created_again =>
                    passes(Some(1), || meet::<C>(acquire_another, acquire, 2));
                an_object_that_makes_room_under_a_lookup_is_whole_or_gone =>
                    passes(Some(1), || meet::<C>(acquire_another, get, 1));
                an_object_that_is_swept_under_an_acquire_lives_or_is_created_again =>
                    passes(TWO, || meet::<C>(sweep_twice, acquire, 2));
                an_object_that_is_swept_and_trimmed_ends_once =>
                    passes(TWO, || meet::<C>(sweep, trim, 1));
                an_object_that_lingers_again_under_a_trim_ends_once =>
                    passes(TWO, || meet::<C>(trim, use_and_keep, 2));
                an_object_that_is_trimmed_under_an_acquire_lives_or_is_created_again =>
                    passes(TWO, || meet::<C>(trim, acquire, 2));
                an_object_that_is_trimmed_under_two_drops_ends_once =>
                    passes(TWO, || drops_under_a_trim::<C>());
                an_object_whose_first_drop_is_under_the_last_handle_ends_once =>
                    passes(TWO, || the_first_drop_under_the_end::<C>());
            }
        }
    )*};
}

models! {
    ticket_ref: TicketRef<Loom>;
    rcuref: RcuRef<Loom>;
}
