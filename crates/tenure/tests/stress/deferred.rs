//! [`RcuRef`] with the grace periods of seize: a put shows its guard, memory is freed after it.

use crate::support::{Canary, objects, on_threads};
use seize::{Collector, Guard};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::AtomicPtr;
use tenure::count::{Get, Put, RcuRef, Readable};
use tenure::memory::{Atomic, Memory, Native, Ordering};

struct Object {
    count: RcuRef,
    canary: Canary,
    reclaimed: Arc<<Native as Memory>::AtomicU32>,
}

/// # Safety
///
/// Called by seize, after the last guard that could have seen the object.
unsafe fn reclaim(object: *mut Object, _: &Collector) {
    // SAFETY: retired once, by the thread that was told to destroy it.
    let object = unsafe { Box::from_raw(object) };
    object.canary.destroy();
    // Relaxed: a statistic, read after the threads were joined.
    object.reclaimed.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn rcuref_objects_outlive_the_guards_of_their_puts() {
    let each = objects(100_000);
    let collector = Arc::new(Collector::new());
    let place = Arc::new(AtomicPtr::<Object>::new(ptr::null_mut()));
    let reclaimed = Arc::new(Atomic::new(0));
    let (all, count) = (Arc::clone(&collector), Arc::clone(&reclaimed));
    let tallies = on_threads(move |_| {
        let (mut made, mut destroyed) = (0, 0);
        while made < each {
            let guard = collector.enter();
            let found = guard.protect(&place, Ordering::Acquire);
            let mut object = found;
            // SAFETY: found under the guard, which keeps it readable even if it is dead.
            if found.is_null() || unsafe { (*found).count.get() } == Get::Dead {
                object = Box::into_raw(Box::new(Object {
                    count: RcuRef::new(),
                    canary: Canary::new(),
                    reclaimed: Arc::clone(&count),
                }));
                let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
                if guard.compare_exchange(&place, found, object, success, failure).is_err() {
                    // SAFETY: nobody else has seen it.
                    drop(unsafe { Box::from_raw(object) });
                    continue;
                }
                made += 1;
            }
            // SAFETY: this thread holds a reference.
            let held = unsafe { &*object };
            held.canary.check();
            if held.count.put(Readable::by(&guard)) == Put::Last {
                let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
                let _ = guard.compare_exchange(&place, object, ptr::null_mut(), success, failure);
                // SAFETY: out of reach for later guards, and told to this thread alone.
                unsafe { guard.defer_retire(object, reclaim) };
                destroyed += 1;
            }
        }
        (made, destroyed)
    });
    let made: u32 = tallies.iter().map(|(made, _)| made).sum();
    assert!(made >= each);
    assert_eq!(made, tallies.iter().map(|(_, destroyed)| destroyed).sum::<u32>());
    // SAFETY: no thread has a guard any more.
    unsafe { all.reclaim_all() };
    assert_eq!(reclaimed.load(Ordering::Relaxed), made, "each object is reclaimed once");
}
