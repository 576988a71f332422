//! Objects that all threads hold from the start, clone, and drop: exactly one thread destroys each.

use crate::support::{Canary, Shared, THREADS, objects, on_threads};
use std::num::NonZeroU16;
use std::sync::Arc;
use tenure::count::{Get, IncNotZero, Put, RcuRef, Readable, RefCount, TicketRef};

struct Object<C> {
    count: C,
    canary: Canary,
}

/// Makes `n` objects; every thread owns one reference to each and goes through them in order. The thread with the last
/// put calls `end`.
fn crowd<C: RefCount + 'static>(
    n: u32,
    witness: fn() -> C::Witness<'static>,
    end: fn(*const Object<C>),
) -> Vec<*const Object<C>> {
    let others = NonZeroU16::new(THREADS as u16 - 1).unwrap();
    let all: Arc<Vec<Shared<Object<C>>>> = Arc::new(
        (0..n)
            .map(|_| {
                let object = Object { count: C::new_in(), canary: Canary::new() };
                assert_eq!(object.count.get_many(others), Get::Acquired);
                Shared(Box::into_raw(Box::new(object)).cast_const())
            })
            .collect(),
    );
    let objects = Arc::clone(&all);
    let told = on_threads(move |thread| {
        let mut told = 0;
        for (turn, object) in objects.iter().enumerate() {
            // SAFETY: this thread's reference keeps the object up to its last put.
            let count = unsafe { &raw const (*object.0).count };
            // SAFETY: as above.
            let canary = unsafe { &raw const (*object.0).canary };
            for _ in 0..(turn + thread) % 3 {
                // SAFETY: as above.
                assert_eq!(unsafe { (*count).get() }, Get::Acquired);
                // SAFETY: as above.
                assert_eq!(unsafe { (*count).put(witness()) }, Put::StillHeld);
            }
            // SAFETY: as above.
            unsafe { (*canary).check() };
            // SAFETY: as above; what `witness` says holds for what the put does afterwards.
            if unsafe { (*count).put(witness()) } == Put::Last {
                // SAFETY: this put alone was the last.
                unsafe { (*canary).destroy() };
                end(object.0);
                told += 1;
            }
        }
        told
    });
    assert_eq!(told.iter().sum::<u32>(), n, "each object is destroyed by exactly one thread");
    all.iter().map(|object| object.0).collect()
}

fn free<C>(object: *const Object<C>) {
    // SAFETY: called after the last put, or after all threads are gone.
    drop(unsafe { Box::from_raw(object.cast_mut()) });
}

tests! {
    of_many_threads_one_destroys_a_ticketref_object_at_once =>
        crowd::<TicketRef>(objects(200_000), || (), free);
    of_many_threads_one_destroys_an_inc_not_zero_object_at_once =>
        crowd::<IncNotZero>(objects(100_000), || (), free);
}

#[test]
fn of_many_threads_one_destroys_an_rcuref_object() {
    // SAFETY: the memory is freed below, after the threads are gone.
    let readable = || unsafe { Readable::assume() };
    for object in crowd::<RcuRef>(objects(200_000), readable, |_| ()) {
        free(object);
    }
}
