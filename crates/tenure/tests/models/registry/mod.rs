//! [`Registry`]: one live object per key, under lookups, creations and last drops that meet.
//!
//! The registry that ships, on a [ground](ground) of loom's words. Objects are read and dropped plainly, so loom demands
//! that all that holders did with one happened before its end; entries are freed by the library and stay in
//! [`quarantine`], so a word of theirs that is used too late complains.

pub(crate) mod ground;
pub(crate) mod map;

use super::memory::{Loom, seat};
use super::quarantine;
use super::stage::{ALL, Preemptions, Value, join_all, passes, spawn};
use ground::{Checked, Flaw, Sound};
use std::sync::{Arc, Mutex};
use tenure::count::{IncNotZero, RcuRef, RefCount, TicketRef};
use tenure::registry::{Ref, Registry};

pub(crate) type Objects<C, F> = Registry<u32, Object, C, Checked<F>>;

/// What the model knows, beside loom.
#[derive(Default)]
struct Known {
    created: u32,
    destroyed: u32,
    /// References, by the number of their object.
    held: Vec<u32>,
}

#[derive(Clone, Default)]
pub(crate) struct Witness(Arc<Mutex<Known>>);

impl Witness {
    /// What `create` does.
    fn create(&self) -> Object {
        let mut known = self.0.lock().unwrap();
        assert!(known.held.iter().all(|held| *held == 0), "two live objects have one key");
        known.created += 1;
        known.held.push(0);
        Object { value: Value::new(known.created), number: known.created, witness: self.clone() }
    }

    /// All is over: every object is gone, and there were so many.
    fn assert_gone(&self, created: impl std::ops::RangeBounds<u32>) {
        let known = self.0.lock().unwrap();
        assert!(created.contains(&known.created), "{} objects were created", known.created);
        assert_eq!(known.created, known.destroyed, "an object leaks");
    }
}

pub(crate) struct Object {
    value: Value,
    number: u32,
    witness: Witness,
}

// SAFETY: loom runs all threads of a model on one thread of the system, and judges accesses itself.
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

impl Drop for Object {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.value.destroy();
            self.witness.0.lock().unwrap().destroyed += 1;
        }
    }
}

/// Holds a reference for a moment.
fn use_it<C: RefCount + 'static, F: Flaw>(object: Ref<u32, Object, C, Checked<F>>) {
    let count = |change: fn(&mut u32)| {
        change(&mut object.witness.0.lock().unwrap().held[object.number as usize - 1]);
    };
    count(|held| *held += 1);
    assert_eq!(object.value.look(), object.number);
    count(|held| *held -= 1);
    drop(object);
}

pub(crate) const KEY: u32 = 7;

/// The stage: a registry, and a thread for each of the others.
fn stage<C: RefCount + 'static, F: Flaw>() -> (Objects<C, F>, Witness) {
    quarantine::keep();
    seat(0);
    (Objects::new_in(()), Witness::default())
}

/// The end: nobody has anything.
fn curtain<C: RefCount + 'static, F: Flaw>(objects: &Objects<C, F>) {
    let statistics = objects.statistics();
    assert_eq!(statistics.created, statistics.destroyed, "an object leaks");
    assert!(objects.is_empty() && objects.get(&KEY).is_none() && objects.snapshot().is_empty());
}

/// Acquires by several threads, each of which may be the one that creates, and the last to go.
pub(crate) fn acquires<C: RefCount + 'static, F: Flaw>(others: usize) {
    let (objects, witness) = stage::<C, F>();
    let acquire = |objects: &Objects<C, F>, witness: &Witness| {
        use_it(objects.acquire(&KEY, || witness.create()));
    };
    let threads = Vec::from_iter((1..=others).map(|thread| {
        let (objects, witness) = (objects.clone(), witness.clone());
        spawn(move || {
            seat(thread);
            acquire(&objects, &witness);
        })
    }));
    acquire(&objects, &witness);
    join_all(threads);
    curtain(&objects);
    drop(objects);
    witness.assert_gone(1..=others as u32 + 1);
}

/// Acquires ‖ the last drop of an object that is there.
pub(crate) fn acquires_under_the_last_drop<C: RefCount + 'static, F: Flaw>(others: usize) {
    let (objects, witness) = stage::<C, F>();
    let last = objects.acquire(&KEY, || witness.create());
    let threads = Vec::from_iter((1..=others).map(|thread| {
        let (objects, witness) = (objects.clone(), witness.clone());
        spawn(move || {
            seat(thread);
            use_it(objects.acquire(&KEY, || witness.create()));
        })
    }));
    drop(last);
    join_all(threads);
    curtain(&objects);
    drop(objects);
    witness.assert_gone(1..=others as u32 + 1);
}

/// An acquire, and another one by the same thread, ‖ the last drop of an object that is there.
pub(crate) fn acquired_twice_under_the_last_drop<C: RefCount + 'static, F: Flaw>() {
    let (objects, witness) = stage::<C, F>();
    let last = objects.acquire(&KEY, || witness.create());
    let thread = {
        let (objects, witness) = (objects.clone(), witness.clone());
        spawn(move || {
            seat(1);
            let first = objects.acquire(&KEY, || witness.create());
            let again = objects.acquire(&KEY, || witness.create());
            assert!(Ref::ptr_eq(&first, &again), "two live objects have one key");
            use_it(first);
            use_it(again);
        })
    };
    drop(last);
    thread.join().unwrap();
    curtain(&objects);
    drop(objects);
    witness.assert_gone(1..=2);
}

/// Lookups ‖ the last drop.
pub(crate) fn gets_under_the_last_drop<C: RefCount + 'static, F: Flaw>(others: usize) {
    let (objects, witness) = stage::<C, F>();
    let last = objects.acquire(&KEY, || witness.create());
    let threads = Vec::from_iter((1..=others).map(|thread| {
        let objects = objects.clone();
        spawn(move || {
            seat(thread);
            if let Some(found) = objects.get(&KEY) {
                use_it(found);
            }
        })
    }));
    drop(last);
    join_all(threads);
    curtain(&objects);
    drop(objects);
    witness.assert_gone(1..=1);
}

/// A lookup ‖ an acquire that creates: it finds the whole object or none.
pub(crate) fn get_under_a_create<C: RefCount + 'static, F: Flaw>() {
    let (objects, witness) = stage::<C, F>();
    let thread = {
        let objects = objects.clone();
        spawn(move || {
            seat(1);
            if let Some(found) = objects.get(&KEY) {
                use_it(found);
            }
        })
    };
    use_it(objects.acquire(&KEY, || witness.create()));
    thread.join().unwrap();
    curtain(&objects);
    drop(objects);
    witness.assert_gone(1..=1);
}

/// An acquire whose create fails ‖ one whose create does not.
pub(crate) fn failing_create_under_an_acquire<C: RefCount + 'static, F: Flaw>() {
    let (objects, witness) = stage::<C, F>();
    let thread = {
        let (objects, witness) = (objects.clone(), witness.clone());
        spawn(move || {
            seat(1);
            use_it(objects.acquire(&KEY, || witness.create()));
        })
    };
    if let Ok(found) = objects.try_acquire(&KEY, || Err(())) {
        use_it(found);
    }
    thread.join().unwrap();
    curtain(&objects);
    drop(objects);
    witness.assert_gone(1..=1);
}

/// An object that comes and goes ‖ a look at how many there are.
pub(crate) fn len_under_an_end<C: RefCount + 'static, F: Flaw>() {
    let (objects, witness) = stage::<C, F>();
    let thread = {
        let (objects, witness) = (objects.clone(), witness.clone());
        spawn(move || {
            seat(1);
            use_it(objects.acquire(&KEY, || witness.create()));
        })
    };
    assert!(objects.len() <= 1, "more objects than there ever were");
    thread.join().unwrap();
    curtain(&objects);
    drop(objects);
    witness.assert_gone(1..=1);
}

/// Two drops of the last two references ‖ the last handle goes.
pub(crate) fn drops_without_a_handle<C: RefCount + 'static, F: Flaw>() {
    let (objects, witness) = stage::<C, F>();
    let first = objects.acquire(&KEY, || witness.create());
    let second = first.clone();
    let thread = spawn(move || {
        seat(1);
        use_it(second);
    });
    drop(objects);
    use_it(first);
    thread.join().unwrap();
    witness.assert_gone(1..=1);
}

/// The models for a count, each with its bound.
macro_rules! models {
    ($($room:ident: $count:ty, $two:expr, $three:expr;)*) => {$(
        mod $room {
            use super::*;

            const TWO: Preemptions = $two;
            const THREE: Preemptions = $three;

            #[test]
            fn an_object_is_created_once_for_acquires_that_meet() {
                passes(TWO, || acquires::<$count, Sound>(1));
            }
            #[test]
            fn three_acquires_that_meet_have_one_object_at_a_time() {
                passes(THREE, || acquires::<$count, Sound>(2));
            }
            #[test]
            fn an_acquire_under_the_last_drop_has_that_object_or_the_next() {
                passes(TWO, || acquires_under_the_last_drop::<$count, Sound>(1));
            }
            #[test]
            fn what_is_held_is_found_under_the_end_of_the_one_before() {
                passes(TWO, acquired_twice_under_the_last_drop::<$count, Sound>);
            }
            #[test]
            fn two_acquires_under_the_last_drop_have_that_object_or_the_next() {
                passes(THREE, || acquires_under_the_last_drop::<$count, Sound>(2));
            }
            #[test]
            fn a_lookup_under_the_last_drop_finds_a_live_object_or_none() {
                passes(ALL, || gets_under_the_last_drop::<$count, Sound>(1));
            }
            #[test]
            fn two_lookups_under_the_last_drop_find_a_live_object_or_none() {
                passes(THREE, || gets_under_the_last_drop::<$count, Sound>(2));
            }
            #[test]
            fn a_lookup_under_a_create_finds_the_whole_object_or_none() {
                passes(TWO, get_under_a_create::<$count, Sound>);
            }
            #[test]
            fn a_create_that_fails_leaves_it_to_the_other() {
                passes(TWO, failing_create_under_an_acquire::<$count, Sound>);
            }
            #[test]
            fn no_object_is_destroyed_before_it_counts_as_created() {
                passes(TWO, len_under_an_end::<$count, Sound>);
            }
            #[test]
            fn the_last_reference_ends_a_registry_without_handles() {
                passes(ALL, drops_without_a_handle::<$count, Sound>);
            }
        }
    )*};
}

models! {
    ticket_ref: TicketRef<Loom>, Some(3), Some(2);
    rcuref: RcuRef<Loom>, Some(3), Some(2);
    inc_not_zero: IncNotZero<Loom>, Some(2), Some(1);
}
