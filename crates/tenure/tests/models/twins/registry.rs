//! The entry of a registry in its smallest form, on the map that ships, with a switch for each rule; and the registry
//! that ships, on a machine that breaks its promises.

use super::super::memory::{Loom, end_at_failure, set_number};
use super::super::quarantine;
use super::super::registry::{Act, get, meet, with_puts_apart};
use super::super::stage::Failure::{Claim, MemoryRace};
use super::super::stage::{Value, fails, join_all, passes, spawn};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;
use tenure::count::generic::{RcuRef, TicketRef};
use tenure::memory::{Atomic, Memory, Ordering};
use tenure::registry::generic::{Element, Link, Map};

pub(crate) trait Flaw: 'static {
    /// Whether the memory waits for the thread of the last put.
    const REFERENCES_HAVE_A_SHARE: bool = true;
    /// Whether the put says which is the last, or a look at the count after it.
    const PUT_DECIDES: bool = true;
    /// Whether an entry removes itself, or whatever its key finds.
    const REMOVES_ITSELF: bool = true;
}

flaws! {
    Sound {}
    FreedByTheMapAlone { REFERENCES_HAVE_A_SHARE: bool = false }
    LooksAtTheCount { PUT_DECIDES: bool = false }
    RemovesByKey { REMOVES_ITSELF: bool = false }
}

const KEY: u32 = 7;
const ORDER: u64 = 1;
const RELEASED: u32 = 2;

struct Entry<F> {
    count: TicketRef<Loom>,
    state: <Loom as Memory>::AtomicU32,
    link: Link<Loom>,
    value: ManuallyDrop<Value>,
    flaw: PhantomData<fn() -> F>,
}

// SAFETY: one key for all.
unsafe impl<F: Flaw> Element for Entry<F> {
    type Key = u32;
    type Memory = Loom;

    const LINK: usize = std::mem::offset_of!(Self, link);

    fn key(&self) -> &u32 {
        &KEY
    }
    unsafe fn release(this: NonNull<Self>) {
        // SAFETY: the caller's share. The state stays readable in any case, in quarantine.
        let state = unsafe { &(*this.as_ptr()).state };
        if !F::REFERENCES_HAVE_A_SHARE || state.fetch_or(RELEASED, Ordering::AcqRel) & RELEASED != 0
        {
            // SAFETY: made by `acquire`, and this is the second owner; or the flaw is that there is another.
            drop(unsafe { Box::from_raw(this.as_ptr()) });
        }
    }
}

impl<F: Flaw> Entry<F> {
    /// Without creations that wait for each other: an entry is inserted with its value.
    fn acquire(map: &Map<Self>) -> NonNull<Self> {
        // SAFETY: it goes no further than this function.
        let guard = unsafe { map.enter() };
        loop {
            if let Some(found) = map.find(&KEY, ORDER, &guard) {
                // SAFETY: the guard keeps it.
                if unsafe { found.as_ref() }.count.get().is_acquired() {
                    return found;
                }
                // SAFETY: it was there.
                unsafe { map.remove(found, &guard) };
            }
            let entry = NonNull::from(Box::leak(Box::new(Self {
                count: TicketRef::new_in(),
                state: Atomic::new(0),
                link: Link::new(ORDER),
                value: ManuallyDrop::new(Value::new(1)),
                flaw: PhantomData,
            })));
            // SAFETY: it is in no map.
            if unsafe { map.insert(entry, &guard) }.is_ok() {
                return entry;
            }
            // SAFETY: the map did not take it.
            drop(unsafe { Box::from_raw(entry.as_ptr()) });
        }
    }

    fn put(map: &Map<Self>, this: NonNull<Self>) {
        // SAFETY: the caller has a reference.
        let entry = unsafe { this.as_ref() };
        entry.value.look();
        let is_last = entry.count.put().is_last();
        if !(if F::PUT_DECIDES { is_last } else { entry.count.read() == 0 }) {
            return;
        }
        // SAFETY: it goes no further than this function.
        let guard = unsafe { map.enter() };
        let itself = F::REMOVES_ITSELF.then_some(this);
        if let Some(removed) = itself.or_else(|| map.find(&KEY, ORDER, &guard)) {
            // SAFETY: it was inserted.
            unsafe { map.remove(removed, &guard) };
        }
        drop(guard);
        entry.value.destroy();
        if F::REFERENCES_HAVE_A_SHARE {
            // SAFETY: the references'.
            unsafe { Self::release(this) };
        }
    }
}

/// The last drop ‖ threads that each hold so many references at once.
fn under_the_last_drop<F: Flaw>(threads: &'static [usize]) {
    quarantine::keep();
    end_at_failure();
    set_number(0);
    // Left alone where the model fails.
    let map = Arc::new(ManuallyDrop::new(Map::<Entry<F>>::new(1, 1)));
    let first = Entry::acquire(&map);
    let threads = Vec::from_iter((1..).zip(threads).map(|(number, references)| {
        let map = map.clone();
        spawn(move || {
            set_number(number);
            let held = Vec::from_iter((0..*references).map(|_| Entry::acquire(&map)));
            assert!(held.iter().all(|one| *one == held[0]), "two live objects have one key");
            held.into_iter().for_each(|one| Entry::put(&map, one));
        })
    }));
    Entry::put(&map, first);
    join_all(threads);
    drop(ManuallyDrop::into_inner(Arc::into_inner(map).expect("all threads have ended")));
}

tests! {
    the_sound_copy_of_an_entry_passes =>
        passes(Some(3), || under_the_last_drop::<Sound>(&[1])),
        passes(Some(2), || under_the_last_drop::<Sound>(&[2])),
        passes(Some(1), || under_the_last_drop::<Sound>(&[1, 1]));
    an_entry_whose_memory_only_the_map_waits_for_is_freed_under_its_last_owner =>
        fails(Some(2), MemoryRace, || under_the_last_drop::<FreedByTheMapAlone>(&[1]));
    an_end_that_is_decided_by_a_look_at_the_count_comes_too_early_or_twice =>
        fails(Some(2), MemoryRace, || under_the_last_drop::<LooksAtTheCount>(&[1]));
    a_removal_by_key_removes_the_next_object =>
        fails(Some(2), Claim("two live objects have one key"), || {
            under_the_last_drop::<RemovesByKey>(&[2]);
        });
    // The registry that ships.
    without_a_grace_period_puts_of_rcuref_touch_freed_memory => with_puts_apart(|| {
        fails(Some(2), MemoryRace, || meet::<RcuRef<Loom>>(None, [get as Act<_>], 1..=1));
    });
}
