//! [`Registry`]: one live object per key, under lookups, creations and last drops that meet.
//!
//! The registry that ships, in batches of one. Objects are read and dropped plainly, so loom demands that all that
//! holders did with one happened before its end. What the library frees stays in [`quarantine`], so a word that is used
//! too late complains.

pub(crate) mod linger;
pub(crate) mod map;
pub(crate) mod orderings;
pub(crate) mod turn;

use super::memory::{Loom, end_at_failure, set_number, unfenced};
use super::quarantine;
use super::stage::{ALL, Value, join_all, passes, slow, spawn};
use std::cell::Cell;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::RangeInclusive;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use tenure::count::generic::{IncNotZero, RcuRef, TicketRef};
use tenure::registry::generic::{Collector, Creator, Machine};
use tenure::registry::generic::{Registered, Registry, RegistryCount};

loom::lazy_static! {
    static ref PUTS: Collector<Loom> = Collector::new(1);
}

// SAFETY: loom's lazy statics are static for an execution.
unsafe impl Machine for Loom {
    type Creator = AnyCreator;
    const BATCH: usize = 1;

    fn puts() -> &'static Collector<Self> {
        if SHARES_PUTS.get() { &PUTS } else { Box::leak(Box::new(Collector::new(1))) }
    }
    fn block_on<F: Future + Unpin>(mut future: F) -> F::Output {
        let sleeper = Arc::new(Sleeper::default());
        let waker = Waker::from(sleeper.clone());
        loop {
            match Pin::new(&mut future).poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(output) => return output,
                Poll::Pending => sleeper.sleep(),
            }
        }
    }
    fn makes_room<R>(access: impl FnOnce(&Cell<u32>) -> R) -> R {
        MAKES_ROOM.with(access)
    }
}

loom::thread_local! {
    static MAKES_ROOM: Cell<u32> = Cell::new(0);
}

thread_local! {
    // loom's threads are coroutines of one thread of the system.
    static SHARES_PUTS: Cell<bool> = const { Cell::new(true) };
}

/// Each put has grace periods of its own while `act` runs, for which nothing waits.
pub(crate) fn with_puts_apart(act: impl FnOnce()) {
    SHARES_PUTS.set(false);
    act();
    SHARES_PUTS.set(true);
}

/// No model forks, or acquires what it creates.
pub(crate) struct AnyCreator;

impl Creator for AnyCreator {
    fn new() -> Self {
        Self
    }
    fn forget_lost(&self) {}
    fn begin(&self, _is_thread: bool) {}
    fn end(&self) {}
    fn is_this_thread(&self) -> bool {
        false
    }
    fn is_lost(&self) -> bool {
        false
    }
}

/// A thread that waits until it is woken.
#[derive(Default)]
pub(crate) struct Sleeper {
    is_woken: loom::sync::Mutex<bool>,
    woken: loom::sync::Condvar,
}

impl Sleeper {
    pub(crate) fn sleep(&self) {
        let mut is_woken = self.is_woken.lock().unwrap();
        while !std::mem::take(&mut *is_woken) {
            is_woken = self.woken.wait(is_woken).unwrap();
        }
    }
}

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        *self.is_woken.lock().unwrap() = true;
        self.woken.notify_one();
    }
}

/// One hash for all, of a bucket that is there from the start.
#[derive(Default)]
struct Zero;

impl Hasher for Zero {
    fn finish(&self) -> u64 {
        0
    }
    fn write(&mut self, _: &[u8]) {}
}

type Objects<C> = Registry<u32, Object, C, BuildHasherDefault<Zero>>;
type ObjectRef<C> = Registered<u32, Object, C>;

#[derive(Default)]
struct Known {
    created: u32,
    destroyed: u32,
    /// References, by the number of their object.
    held: Vec<u32>,
}

#[derive(Clone, Default)]
struct Witness(Arc<Mutex<Known>>);

impl Witness {
    fn create(&self) -> Object {
        let mut known = self.0.lock().unwrap();
        assert!(known.held.iter().all(|held| *held == 0), "two live objects have one key");
        known.created += 1;
        known.held.push(0);
        Object { value: Value::new(known.created), number: known.created, witness: self.clone() }
    }

    fn use_it<C: RegistryCount>(&self, object: ObjectRef<C>) {
        let count = |change: fn(&mut u32)| {
            change(&mut self.0.lock().unwrap().held[object.number as usize - 1]);
        };
        count(|held| *held += 1);
        assert_eq!(object.value.look(), object.number);
        count(|held| *held -= 1);
        drop(object);
    }

    /// So many objects were created, and all are gone.
    fn assert_gone(&self, created: &RangeInclusive<u32>) {
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

const KEY: u32 = 7;

pub(crate) struct Stage<C: RegistryCount> {
    objects: Objects<C>,
    witness: Witness,
}

fn set_stage<C: RegistryCount>(objects: &Objects<C>) {
    quarantine::keep();
    end_at_failure();
    set_number(0);
    // The threads' places are allocated, which would pass on more than an algorithm does.
    assert!(objects.get(&KEY).is_none());
    if C::NEEDS_GRACE_PERIOD {
        // SAFETY: dropped here.
        drop(unsafe { Loom::puts().enter() });
    }
}

impl<C: RegistryCount> Stage<C> {
    fn new() -> Self {
        let objects = Objects::default();
        set_stage(&objects);
        Self { objects, witness: Witness::default() }
    }

    fn acquired(&self) -> ObjectRef<C> {
        self.objects.acquire(&KEY, || self.witness.create())
    }

    fn use_it(&self, object: ObjectRef<C>) {
        self.witness.use_it(object);
    }
}

pub(crate) type Act<C> = fn(&Stage<C>);

pub(crate) fn acquire<C: RegistryCount>(stage: &Stage<C>) {
    stage.use_it(stage.acquired());
}

fn acquire_and_fail<C: RegistryCount>(stage: &Stage<C>) {
    if let Ok(found) = stage.objects.try_acquire(&KEY, || Err(())) {
        stage.use_it(found);
    }
}

fn acquire_twice<C: RegistryCount>(stage: &Stage<C>) {
    let first = stage.acquired();
    let again = stage.acquired();
    assert!(Registered::ptr_eq(&first, &again), "two live objects have one key");
    stage.use_it(first);
    stage.use_it(again);
}

pub(crate) fn get<C: RegistryCount>(stage: &Stage<C>) {
    if let Some(found) = stage.objects.get(&KEY) {
        stage.use_it(found);
    }
}

/// [`acquire`] without fences, which would pass on more than the orderings do. For models that remove nothing else.
fn acquire_unfenced<C: RegistryCount>(stage: &Stage<C>) {
    unfenced(|| acquire(stage));
}

fn count_objects<C: RegistryCount>(stage: &Stage<C>) {
    assert!(stage.objects.len() <= 1, "more objects than there ever were");
}

/// `others` ‖ `act`, or the last drop of an existing object if that is `None`. At the end nothing is left.
pub(crate) fn meet<C: RegistryCount>(
    act: Option<Act<C>>,
    others: impl IntoIterator<Item = Act<C>>,
    created: RangeInclusive<u32>,
) {
    let stage = Arc::new(Stage::<C>::new());
    let first = act.is_none().then(|| stage.acquired());
    let threads = Vec::from_iter(others.into_iter().zip(1..).map(|(other, number)| {
        let stage = stage.clone();
        spawn(move || {
            set_number(number);
            other(&stage);
        })
    }));
    match act {
        Some(act) => act(&stage),
        None => drop(first),
    }
    join_all(threads);
    let Stage { objects, witness } = Arc::into_inner(stage).expect("all threads have ended");
    let statistics = objects.stats();
    assert_eq!(statistics.created, statistics.destroyed, "an object leaks");
    assert!(objects.is_empty() && objects.get(&KEY).is_none() && objects.snapshot().is_empty());
    drop(objects);
    witness.assert_gone(&created);
}

fn drops_without_a_handle<C: RegistryCount>() {
    let Stage { objects, witness } = Stage::<C>::new();
    let first = objects.acquire(&KEY, || witness.create());
    let second = first.clone();
    let thread = spawn(move || {
        set_number(1);
        second.value.look();
        drop(second);
    });
    drop(objects);
    first.value.look();
    drop(first);
    thread.join().unwrap();
    witness.assert_gone(&(1..=1));
}

/// The last drop ‖ an acquire, which may meet the dead object: some execution says so.
#[test]
fn an_acquire_that_meets_a_dead_object_is_counted() {
    let met = Arc::new(Mutex::new(0));
    let most = met.clone();
    passes(Some(2), move || {
        let stage = Arc::new(Stage::<TicketRef<Loom>>::new());
        let first = stage.acquired();
        let thread = spawn({
            let stage = stage.clone();
            move || {
                set_number(1);
                acquire(&stage);
            }
        });
        drop(first);
        thread.join().unwrap();
        let mut most = most.lock().unwrap();
        *most = stage.objects.stats().met_dead.max(*most);
    });
    assert_eq!(*met.lock().unwrap(), 1);
}

/// With the bounds of each count.
macro_rules! models {
    ($($module:ident: $count:ty, $two:expr, $three:expr;)*) => {$(
        mod $module {
            use super::*;

            type C = $count;

            tests! {
                an_object_is_created_once_for_acquires_that_meet =>
                    passes($two, || meet::<C>(Some(acquire), [acquire as Act<C>], 1..=2));
                three_acquires_that_meet_have_one_object_at_a_time =>
                    passes($three, || meet::<C>(Some(acquire), [acquire as Act<C>; 2], 1..=3));
                an_acquire_under_the_last_drop_has_that_object_or_the_next =>
                    passes($two, || meet::<C>(None, [acquire as Act<C>], 1..=2));
                what_is_held_is_found_under_the_end_of_the_one_before =>
                    passes($two, || meet::<C>(None, [acquire_twice as Act<C>], 1..=2));
                two_acquires_under_the_last_drop_have_that_object_or_the_next =>
                    passes($three, || meet::<C>(None, [acquire as Act<C>; 2], 1..=3));
                a_lookup_under_the_last_drop_finds_a_live_object_or_none =>
                    passes(ALL, || meet::<C>(None, [get as Act<C>], 1..=1));
                two_lookups_under_the_last_drop_find_a_live_object_or_none =>
                    passes(Some(2), || meet::<C>(None, [get as Act<C>; 2], 1..=1));
                a_lookup_under_a_create_finds_the_whole_object_or_none =>
                    passes($two, || meet::<C>(Some(acquire), [get as Act<C>], 1..=1));
                a_create_that_fails_leaves_it_to_the_other =>
                    passes($two, || meet::<C>(Some(acquire_and_fail), [acquire as Act<C>], 1..=1));
                no_object_is_destroyed_before_it_counts_as_created =>
                    passes($two, || meet::<C>(Some(count_objects), [acquire_unfenced as Act<C>], 1..=1));
                the_last_reference_ends_a_registry_without_handles =>
                    passes(ALL, drops_without_a_handle::<C>);
            }
        }
    )*};
}

models! {
    ticket_ref: TicketRef<Loom>, slow(Some(3)), Some(1);
    rcuref: RcuRef<Loom>, Some(2), Some(1);
    inc_not_zero: IncNotZero<Loom>, Some(2), Some(1);
}

// For one count: three threads and two preemptions make some 35,000 executions.
tests! {
    an_acquire_and_a_lookup_under_the_last_drop_have_that_object_or_the_next =>
        passes(slow(Some(2)), || meet::<TicketRef<Loom>>(None, [acquire as Act<_>, get], 1..=2));
}
