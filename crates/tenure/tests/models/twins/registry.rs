//! The entry of a registry in its smallest form, with a switch for each rule; and grounds that break theirs.

use super::super::memory::{Loom, seat};
use super::super::quarantine;
use super::super::registry::ground::{Checked, Flaw as GroundFlaw, OneKey};
use super::super::registry::{self, KEY};
use super::super::stage::Failure::{Claim, FieldRace, MemoryRace, ValueRace};
use super::super::stage::{ALL, Value, fails, join_all, passes, spawn};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;
use tenure::count::{RcuRef, TicketRef};
use tenure::memory::{Atomic, Memory, Ordering};
use tenure::registry::ground::{Element, Ground, Map};

/// What is wrong with a twin. The defaults are right.
trait Flaw: 'static {
    /// What says that the value is there.
    const READY: Ordering = Ordering::Release;
    /// What the one who is done first with an entry says so with, and the other sees it with.
    const PART: Ordering = Ordering::AcqRel;
    /// Whether the memory waits for the one who was told of the last put.
    const LIFE_HAS_A_PART: bool = true;
    /// Whether a put says who is the last, or a look at the count after it.
    const PUT_DECIDES: bool = true;
}

enum Sound {}
impl Flaw for Sound {}

enum RelaxedReady {}
impl Flaw for RelaxedReady {
    const READY: Ordering = Ordering::Relaxed;
}

enum RelaxedPart {}
impl Flaw for RelaxedPart {
    const PART: Ordering = Ordering::Relaxed;
}

enum FreedByTheMapAlone {}
impl Flaw for FreedByTheMapAlone {
    const LIFE_HAS_A_PART: bool = false;
}

enum LooksAtTheCount {}
impl Flaw for LooksAtTheCount {
    const PUT_DECIDES: bool = false;
}

const READY: u32 = 1;
const GONE: u32 = 2;

struct Entry<F> {
    count: TicketRef<Loom>,
    state: <Loom as Memory>::AtomicU32,
    value: ManuallyDrop<Value>,
    flaw: PhantomData<fn() -> F>,
}

type Entries<F> = Arc<OneKey<Entry<F>, registry::ground::Sound>>;

// SAFETY: one key for all.
unsafe impl<F: Flaw> Element for Entry<F> {
    type Key = u32;
    type Link = ();

    const LINK: usize = 0;

    fn key(&self) -> &u32 {
        &KEY
    }
    unsafe fn release(this: NonNull<Self>) {
        if F::LIFE_HAS_A_PART {
            // SAFETY: the map's part.
            unsafe { Self::part(this) };
        } else {
            // SAFETY: the flaw is that somebody may have it.
            unsafe { Self::free(this) };
        }
    }
    unsafe fn free(this: NonNull<Self>) {
        // SAFETY: made by `acquire`.
        drop(unsafe { Box::from_raw(this.as_ptr()) });
    }
}

impl<F: Flaw> Entry<F> {
    unsafe fn part(this: NonNull<Self>) {
        // SAFETY: the caller's part. The state stays readable in any case, in quarantine.
        if unsafe { this.as_ref() }.state.fetch_or(GONE, F::PART) & GONE != 0 {
            // SAFETY: the second one.
            unsafe { Self::free(this) };
        }
    }

    /// Acquires, without creations that wait for each other: an entry is inserted ready or, where `late`, made so after.
    fn acquire(entries: &Entries<F>, late: bool) -> Option<NonNull<Self>> {
        // SAFETY: it goes no further than this function.
        let guard = unsafe { entries.enter() };
        loop {
            if let Some(found) = entries.find(&KEY, 0, &guard) {
                // SAFETY: the guard keeps it.
                let entry = unsafe { found.as_ref() };
                if late && entry.state.load(Ordering::Acquire) & READY == 0 {
                    return None;
                }
                if entry.count.get().is_acquired() {
                    return Some(found);
                }
                // SAFETY: it was there.
                unsafe { entries.remove(found, &guard) };
            }
            let entry = NonNull::from(Box::leak(Box::new(Self {
                count: TicketRef::new_in(),
                state: Atomic::new(if late { 0 } else { READY }),
                value: ManuallyDrop::new(Value::unborn()),
                flaw: PhantomData,
            })));
            // SAFETY: nobody else has it.
            let new = unsafe { entry.as_ref() };
            if !late {
                new.value.write(1);
            }
            // SAFETY: it is in no map.
            if unsafe { entries.insert(entry, &guard) }.is_ok() {
                if late {
                    new.value.write(1);
                    new.state.store(READY, F::READY);
                }
                return Some(entry);
            }
            // SAFETY: the map did not take it.
            unsafe { Self::free(entry) };
        }
    }

    fn put(entries: &Entries<F>, this: NonNull<Self>) {
        // SAFETY: the caller has a reference.
        let entry = unsafe { this.as_ref() };
        entry.value.look();
        let told = entry.count.put().is_last();
        if !(if F::PUT_DECIDES { told } else { entry.count.read() == 0 }) {
            return;
        }
        // SAFETY: it goes no further than this function.
        let guard = unsafe { entries.enter() };
        // SAFETY: it was inserted.
        unsafe { entries.remove(this, &guard) };
        drop(guard);
        entry.value.destroy();
        if F::LIFE_HAS_A_PART {
            // SAFETY: the life's.
            unsafe { Self::part(this) };
        }
    }
}

/// Acquires ‖ the last drop.
fn acquires_under_the_last_drop<F: Flaw>(others: usize) {
    quarantine::keep();
    seat(0);
    let entries: Entries<F> = Arc::new(<Checked as Ground>::map(()));
    let first = Entry::acquire(&entries, false).unwrap();
    let threads = Vec::from_iter((1..=others).map(|thread| {
        let entries = entries.clone();
        spawn(move || {
            seat(thread);
            let found = Entry::acquire(&entries, false).unwrap();
            Entry::put(&entries, found);
        })
    }));
    Entry::put(&entries, first);
    join_all(threads);
}

/// A lookup ‖ a creation.
fn get_under_a_create<F: Flaw>() {
    quarantine::keep();
    seat(0);
    let entries: Entries<F> = Arc::new(<Checked as Ground>::map(()));
    let thread = {
        let entries = entries.clone();
        spawn(move || {
            seat(1);
            if let Some(found) = Entry::acquire(&entries, true) {
                Entry::put(&entries, found);
            }
        })
    };
    if let Some(found) = Entry::acquire(&entries, true) {
        Entry::put(&entries, found);
    }
    thread.join().unwrap();
}

#[test]
fn the_sound_copy_of_an_entry_passes() {
    passes(Some(3), || acquires_under_the_last_drop::<Sound>(1));
    passes(Some(2), || acquires_under_the_last_drop::<Sound>(2));
    passes(Some(3), get_under_a_create::<Sound>);
}

#[test]
fn an_object_that_is_made_ready_relaxed_is_found_without_its_value() {
    fails(Some(2), ValueRace, get_under_a_create::<RelaxedReady>);
}

#[test]
fn an_entry_whose_memory_only_the_map_waits_for_is_freed_under_its_last_owner() {
    fails(Some(2), MemoryRace, || acquires_under_the_last_drop::<FreedByTheMapAlone>(1));
}

#[test]
fn a_part_that_is_given_up_relaxed_is_not_waited_for() {
    fails(Some(2), MemoryRace, || acquires_under_the_last_drop::<RelaxedPart>(1));
}

#[test]
fn an_end_that_is_decided_by_a_look_at_the_count_comes_too_early_or_twice() {
    fails(Some(2), ValueRace, || acquires_under_the_last_drop::<LooksAtTheCount>(1));
}

// --- the shipping registry on a ground with a flaw ---

enum RemovesByKey {}
impl GroundFlaw for RemovesByKey {
    const REMOVES_BY_IDENTITY: bool = false;
}

enum NoGracePeriod {}
impl GroundFlaw for NoGracePeriod {
    const LOOKUPS_ARE_WAITED_FOR: bool = false;
}

enum NoGracePeriodForPuts {}
impl GroundFlaw for NoGracePeriodForPuts {
    const PUTS_ARE_WAITED_FOR: bool = false;
}

enum NoLock {}
impl GroundFlaw for NoLock {
    const LOCKS: bool = false;
}

#[test]
fn a_removal_by_key_removes_the_next_object() {
    let model = registry::acquired_twice_under_the_last_drop::<TicketRef<Loom>, RemovesByKey>;
    fails(Some(2), Claim("two live objects have one key"), model);
}

#[test]
fn without_a_grace_period_lookups_touch_freed_memory() {
    fails(Some(2), MemoryRace, || {
        registry::gets_under_the_last_drop::<TicketRef<Loom>, NoGracePeriod>(1);
    });
}

#[test]
fn without_a_grace_period_puts_of_rcuref_touch_freed_memory() {
    fails(Some(2), MemoryRace, || {
        registry::gets_under_the_last_drop::<RcuRef<Loom>, NoGracePeriodForPuts>(1);
    });
}

#[test]
fn without_the_lock_an_object_is_created_twice() {
    fails(Some(2), FieldRace, || registry::acquires::<TicketRef<Loom>, NoLock>(1));
}

// --- how many there are ---

/// An object that comes and goes ‖ a look at how many there are, by two counts of which one may be late.
fn len_under_an_end(destroyed: Ordering) {
    type Count = <Loom as Memory>::AtomicU64;
    let counts = Arc::new([(); 2].map(|()| <Count as Atomic<u64>>::new(0)));
    let thread = {
        let counts = counts.clone();
        spawn(move || {
            counts[0].fetch_add(1, Ordering::Relaxed);
            counts[1].fetch_add(1, destroyed);
        })
    };
    let gone = counts[1].load(Ordering::Acquire);
    assert!(counts[0].load(Ordering::Relaxed) >= gone, "destroyed before it was created");
    thread.join().unwrap();
}

#[test]
fn an_end_that_is_counted_relaxed_comes_before_the_creation() {
    passes(ALL, || len_under_an_end(Ordering::Release));
    fails(ALL, Claim("destroyed before it was created"), || len_under_an_end(Ordering::Relaxed));
}
