//! Objects in a table under a lock, freed by the last put at once: no grace period.

use crate::support::{Canary, Lock, Shared, objects, on_threads};
use std::ptr;
use std::sync::Arc;
use tenure::count::{Get, IncNotZero, Put, RefCount, TicketRef};

struct Object<C> {
    count: C,
    canary: Canary,
}

/// Each place is empty or has the address of an object that may be dead.
struct Table<C>([Lock<Shared<Object<C>>>; 2]);

impl<C: RefCount> Table<C> {
    /// The object at `place`, a new one if there is none alive, and whether it is new.
    fn look_up(&self, place: usize) -> (*const Object<C>, bool) {
        self.0[place].with(|found| {
            if !found.0.is_null() {
                // SAFETY: an object leaves the table, under this lock, before it is freed.
                let object = unsafe { &*found.0 };
                if object.count.get() == Get::Acquired {
                    return (found.0, false);
                }
            }
            found.0 = Box::into_raw(Box::new(Object { count: C::new_in(), canary: Canary::new() }));
            (found.0, true)
        })
    }

    /// Gives a reference back. Returns whether that destroyed the object.
    ///
    /// # Safety
    ///
    /// The caller owns the reference, and got the object at `place`.
    unsafe fn release(
        &self,
        place: usize,
        object: *const Object<C>,
        put: impl Fn(&C) -> Put,
    ) -> bool {
        // SAFETY: the reference keeps the object up to the verdict.
        let count = unsafe { &raw const (*object).count };
        // SAFETY: as above; and this count touches nothing after the verdict.
        if put(unsafe { &*count }) == Put::StillHeld {
            return false;
        }
        self.0[place].with(|found| {
            if ptr::eq(found.0, object) {
                found.0 = ptr::null();
            }
        });
        // SAFETY: this put alone was the last, and no lookup finds the object any more.
        let object = unsafe { Box::from_raw(object.cast_mut()) };
        object.canary.destroy();
        true
    }
}

fn race<C>(objects_per_thread: u32) -> u32
where
    C: for<'w> RefCount<Witness<'w> = ()> + 'static,
{
    let empty = || Lock::new(Shared(ptr::null()));
    let table = Arc::new(Table::<C>([empty(), empty()]));
    let same = Arc::clone(&table);
    let tallies = on_threads(move |thread| {
        let (mut made, mut destroyed, mut turn) = (0, 0, thread);
        let mut kept = None;
        while made < objects_per_thread {
            turn += 1;
            let place = turn % 2;
            let (found, is_new) = table.look_up(place);
            made += u32::from(is_new);
            // SAFETY: this thread holds `found`.
            unsafe { (*found).canary.check() };
            let put = |count: &C| if turn % 3 == 0 { count.put_last(()) } else { count.put(()) };
            // Kept until the next lookup, elsewhere, so that others find it alive or dying.
            if let Some((place, object)) = kept.replace((place, found)) {
                // SAFETY: the reference is the one of an earlier lookup.
                destroyed += u32::from(unsafe { table.release(place, object, put) });
            }
        }
        if let Some((place, object)) = kept {
            // SAFETY: the reference is the one of the last lookup.
            destroyed += u32::from(unsafe { table.release(place, object, |count| count.put(())) });
        }
        (made, destroyed)
    });
    let made: u32 = tallies.iter().map(|(made, _)| made).sum();
    assert_eq!(made, tallies.iter().map(|(_, destroyed)| destroyed).sum::<u32>());
    for place in &same.0 {
        assert!(place.with(|found| found.0.is_null()), "a dead object is still in the table");
    }
    made
}

tests! {
    ticketref_objects_are_freed_at_once_while_lookups_race =>
        assert!(race::<TicketRef>(objects(200_000)) >= objects(200_000));
    inc_not_zero_objects_are_freed_at_once_while_lookups_race =>
        assert!(race::<IncNotZero>(objects(50_000)) >= objects(50_000));
}
