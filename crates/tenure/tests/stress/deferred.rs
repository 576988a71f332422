//! [`RcuRef`] with the grace periods of seize: a put shows its guard, and memory is freed after it.

#![allow(clippy::disallowed_types, reason = "seize protects pointers in core's AtomicPtr")]

use crate::support::{Canary, objects, on_threads};
use seize::{Collector, Guard, LocalGuard};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::AtomicPtr;
use tenure::count::generic::RcuRef;
use tenure::count::{GetResult, PutResult, Readable};
use tenure::memory::{Atomic, Memory, Native, Ordering};

type Tally = <Native as Memory>::AtomicU32;

struct Object {
    count: RcuRef,
    canary: Canary,
    reclaimed: Arc<Tally>,
}

/// # Safety
///
/// Called by seize, after the last guard that could have seen the object.
unsafe fn reclaim(object: *mut Object, _: &Collector) {
    // SAFETY: retired once, by the thread with the last put.
    let object = unsafe { Box::from_raw(object) };
    object.canary.destroy();
    // Relaxed: a statistic, read after the threads were joined.
    object.reclaimed.fetch_add(1, Ordering::Relaxed);
}

/// A reference to the object at `place`, or to a new one, and whether it is new. `None` if another thread made one
/// first.
fn look_up(
    place: &AtomicPtr<Object>,
    guard: &LocalGuard<'_>,
    reclaimed: &Arc<Tally>,
) -> Option<(*mut Object, bool)> {
    let found = guard.protect(place, Ordering::Acquire);
    // SAFETY: found under the guard, which keeps it readable even if it is dead.
    if !found.is_null() && unsafe { (*found).count.get() } == GetResult::Acquired {
        return Some((found, false));
    }
    let object = Box::into_raw(Box::new(Object {
        count: RcuRef::new(),
        canary: Canary::new(),
        reclaimed: Arc::clone(reclaimed),
    }));
    let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
    if guard.compare_exchange(place, found, object, success, failure).is_ok() {
        return Some((object, true));
    }
    // SAFETY: no other thread has seen it.
    drop(unsafe { Box::from_raw(object) });
    None
}

/// Gives a reference back. Returns whether that destroyed the object.
///
/// # Safety
///
/// The caller owns the reference.
unsafe fn release(place: &AtomicPtr<Object>, guard: &LocalGuard<'_>, object: *mut Object) -> bool {
    // SAFETY: the reference keeps the object up to the verdict, and the guard its memory after it.
    if unsafe { (*object).count.put(Readable::from(guard)) } == PutResult::StillHeld {
        return false;
    }
    let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
    let _ = guard.compare_exchange(place, object, ptr::null_mut(), success, failure);
    // SAFETY: out of reach for later guards, and this put alone was the last.
    unsafe { guard.defer_retire(object, reclaim) };
    true
}

#[test]
fn rcuref_objects_outlive_the_guards_of_their_puts() {
    let each = objects(100_000);
    let collector = Arc::new(Collector::new());
    let place = Arc::new(AtomicPtr::<Object>::new(ptr::null_mut()));
    let reclaimed = Arc::new(Atomic::new(0));
    let (all, total) = (Arc::clone(&collector), Arc::clone(&reclaimed));
    let tallies = on_threads(move |thread| {
        let (mut made, mut destroyed, mut turn) = (0, 0, thread);
        let mut kept = None;
        while made < each {
            turn += 1;
            let guard = collector.enter();
            let Some((object, is_new)) = look_up(&place, &guard, &reclaimed) else { continue };
            made += u32::from(is_new);
            // SAFETY: this thread holds a reference.
            unsafe { (*object).canary.check() };
            // Every other one is kept until the next turn, for others to find it alive or dying.
            let before = kept.take();
            let now = if turn % 2 == 0 { Some(object) } else { kept.replace(object) };
            for object in before.into_iter().chain(now) {
                // SAFETY: the reference is the one of a lookup.
                destroyed += u32::from(unsafe { release(&place, &guard, object) });
            }
        }
        if let Some(object) = kept {
            // SAFETY: as above.
            destroyed += u32::from(unsafe { release(&place, &collector.enter(), object) });
        }
        (made, destroyed)
    });
    let made: u32 = tallies.iter().map(|(made, _)| made).sum();
    assert!(made >= each);
    assert_eq!(made, tallies.iter().map(|(_, destroyed)| destroyed).sum::<u32>());
    // SAFETY: no thread has a guard any more.
    unsafe { all.reclaim_all() };
    assert_eq!(total.load(Ordering::Relaxed), made, "each object is reclaimed once");
}
