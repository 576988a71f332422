//! The ring of a registry whose objects linger in its smallest form: one place, and a switch for each rule.

use super::super::memory::{Loom, end_at_failure, set_number};
use super::super::quarantine;
use super::super::stage::Failure::MemoryRace;
use super::super::stage::{Heap, Value, fails, passes, spawn};
use std::marker::PhantomData;
use std::ptr::{null_mut, without_provenance_mut};
use tenure::count::generic::TicketRef;
use tenure::memory::{Atomic, Memory, Ordering, Pointer};

pub(crate) trait Flaw: 'static {
    /// Whether an entry is marked stray before the ring's reference is put.
    const MARKS_FIRST: bool = true;
}

flaws! {
    Sound {}
    MarksAfterThePut { MARKS_FIRST: bool = false }
}

const STRAY: u32 = 1;

struct Entry {
    count: TicketRef<Loom>,
    state: <Loom as Memory>::AtomicU32,
    value: Value,
}

struct Ring<F> {
    place: <Loom as Memory>::Pointer<Heap<Entry>>,
    flaw: PhantomData<fn() -> F>,
}

fn closed() -> *mut Heap<Entry> {
    without_provenance_mut(1)
}

impl<F: Flaw> Ring<F> {
    /// With an entry to which the caller has a reference.
    fn new() -> (Heap<Self>, Heap<Entry>) {
        quarantine::keep();
        end_at_failure();
        set_number(0);
        let place = Pointer::new(null_mut::<Heap<Entry>>());
        let count = TicketRef::new_in();
        let entry = Entry { count, state: Atomic::new(STRAY), value: Value::new(1) };
        (Heap::new(Self { place, flaw: PhantomData }), Heap::new(entry))
    }

    /// The pointers are boxes, so that a model can look at what is left.
    fn swap(&self, new: *mut Heap<Entry>) -> Option<*mut Heap<Entry>> {
        let mut found = self.place.load(Ordering::Relaxed);
        while found != closed() {
            match self.place.compare_exchange(found, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(taken) => return Some(taken),
                Err(other) => found = other,
            }
        }
        None
    }

    fn leave(found: *mut Heap<Entry>) {
        if found.is_null() {
            return;
        }
        // SAFETY: made by `drop_reference`, and the place's exchange has passed it on.
        let entry = *unsafe { Box::from_raw(found) };
        let mark = || entry.state.fetch_or(STRAY, Ordering::Relaxed);
        if F::MARKS_FIRST {
            mark();
        }
        let is_last = entry.count.put().is_last();
        if !F::MARKS_FIRST {
            mark();
        }
        if is_last {
            end(&entry);
        }
    }

    fn drop_reference(&self, entry: &Heap<Entry>) {
        entry.value.look();
        let relaxed = Ordering::Relaxed;
        if entry.state.compare_exchange(STRAY, 0, relaxed, relaxed).is_ok() {
            let kept = Box::into_raw(Box::new(entry.clone()));
            match self.swap(kept) {
                Some(before) => return Self::leave(before),
                // SAFETY: made above, and the place did not take it.
                None => drop(unsafe { Box::from_raw(kept) }),
            }
        }
        if entry.count.put().is_last() {
            end(entry);
        }
    }

    fn close(&self) {
        let found = self.swap(closed());
        Self::leave(found.expect("it is closed once"));
    }
}

fn end(entry: &Heap<Entry>) {
    entry.value.destroy();
    entry.free();
}

/// The place is wanted ‖ the drop of the reference that keeps its entry in use.
fn making_room_under_a_drop<F: Flaw>() {
    let (ring, entry) = Ring::<F>::new();
    assert!(entry.count.get().is_acquired());
    ring.drop_reference(&entry);
    let other = spawn({
        let (ring, entry) = (ring.clone(), entry.clone());
        move || {
            set_number(1);
            ring.drop_reference(&entry);
        }
    });
    Ring::<F>::leave(ring.swap(null_mut()).expect("it is open"));
    other.join().unwrap();
    ring.close();
    assert!(entry.is_freed(), "an object leaks");
}

tests! {
    the_sound_copy_of_a_ring_passes =>
        passes(Some(3), making_room_under_a_drop::<Sound>);
    an_entry_that_is_marked_after_the_put_is_gone =>
        fails(Some(2), MemoryRace, making_room_under_a_drop::<MarksAfterThePut>);
}
