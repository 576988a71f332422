//! The three reference counts under every collision that their texts speak of. The memory outlives the model, as
//! `RcuRef` asks for; `ticket.rs` frees it at once.

pub(crate) mod orderings;

use super::memory::Loom;
use super::stage::{ALL, Count, Heap, Shipped, Value, join_all, passes, spawn};
use core::num::NonZeroU16;
use std::sync::Arc;
use tenure::count::generic::{IncNotZero, RcuRef, TicketRef};
use tenure::count::{KeepsReadable, Readable};

pub(crate) struct Object<C> {
    pub(crate) count: C,
    pub(crate) value: Value,
}

impl<C: Count> Object<C> {
    pub(crate) fn new() -> Self {
        Self { count: C::one(), value: Value::new(1) }
    }

    /// Takes a reference to an object that was found, looks, gives it back.
    fn visit(&self) -> u32 {
        if self.count.take().is_acquired() { self.leave() } else { 0 }
    }

    /// Looks, and puts. Returns how often it was the last.
    fn leave(&self) -> u32 {
        self.value.look();
        let last = self.count.give().is_last();
        if last {
            self.value.destroy();
        }
        u32::from(last)
    }
}

/// Runs `main` here and `others` on threads. Each returns how many verdicts it won.
fn exactly_one_destroys<C: Count, const N: usize>(
    object: &Heap<Object<C>>,
    others: [fn(&Object<C>) -> u32; N],
    main: fn(&Object<C>) -> u32,
) {
    let others = others.map(|thread| {
        let object = object.clone();
        spawn(move || thread(&object))
    });
    let won = main(object) + join_all(others).iter().sum::<u32>();
    assert_eq!(won, 1, "not exactly one thread is told to destroy the object");
    assert!(object.value.is_destroyed());
    assert!(!object.count.take().is_acquired(), "a dead count is revived");
}

/// Two references to begin with.
pub(crate) fn get_put_put<C: Count>() {
    let object = Heap::new(Object::<C>::new());
    assert!(object.count.take().is_acquired());
    exactly_one_destroys(&object, [Object::visit, Object::leave], Object::leave);
}

/// With one reference: each get may revive the object that the put let go of.
pub(crate) fn get_get_put<C: Count>() {
    let object = Heap::new(Object::<C>::new());
    exactly_one_destroys(&object, [Object::visit, Object::visit], Object::leave);
}

pub(crate) fn get_put_put_last<C: Shipped>() {
    let object = Heap::new(Object::<C>::new());
    assert!(object.count.take().is_acquired());
    exactly_one_destroys(&object, [Object::visit, Object::leave], |object| {
        object.value.look();
        let last = object.count.put_last(C::witness()).is_last();
        if last {
            object.value.destroy();
        }
        u32::from(last)
    });
}

fn get_many_put_many<C: Shipped>() {
    const TWO: NonZeroU16 = NonZeroU16::new(2).unwrap();
    let object = Heap::new(Object::<C>::new());
    let visit_twice = |object: &Object<C>| {
        if !object.count.get_many(TWO).is_acquired() {
            return 0;
        }
        object.value.look();
        let last = object.count.put_many(TWO, C::witness()).is_last();
        if last {
            object.value.destroy();
        }
        u32::from(last)
    };
    exactly_one_destroys(&object, [visit_twice, Object::visit], Object::leave);
}

/// write, put ‖ a holder that sees the count fall, takes another reference with Acquire, and looks.
pub(crate) fn get_acquire_after_put<C: Shipped>() {
    let object = Heap::new(Object::<C>::new());
    assert!(object.count.take().is_acquired());
    let writer = {
        let object = object.clone();
        spawn(move || {
            object.value.write(2);
            object.count.give()
        })
    };
    // Relaxed: the writer has gone, but nothing of what it wrote is seen.
    if object.count.read() == 1 {
        assert!(object.count.get_acquire().is_acquired());
        assert_eq!(object.value.look(), 2);
        assert!(!object.count.give().is_last());
    }
    let put = [object.count.give(), writer.join().unwrap()];
    assert_eq!(put.iter().filter(|put| put.is_last()).count(), 1);
}

/// A read lock that the destroyer takes for writing: the simplest deferred freeing.
type Readers = loom::sync::RwLock<Option<Heap<Object<RcuRef<Loom>>>>>;

struct ReadLock<'a>(loom::sync::RwLockReadGuard<'a, Option<Heap<Object<RcuRef<Loom>>>>>);

// SAFETY: the object is freed under the write lock alone.
unsafe impl KeepsReadable for ReadLock<'_> {}

/// Puts inside a read side. The last one frees when all have left theirs.
fn leave_and_free(readers: &Readers, object: &Object<RcuRef<Loom>>) {
    let read_side = ReadLock(readers.read().unwrap());
    object.value.look();
    let last = object.count.put(Readable::by(&read_side)).is_last();
    drop(read_side);
    if last {
        let object = readers.write().unwrap().take().expect("the object is freed once");
        object.value.destroy();
        object.free();
    }
}

fn freed_after_a_grace_period() {
    let object = Heap::new(Object::new());
    let readers = Arc::new(Readers::new(Some(object.clone())));
    let visitors = [(); 2].map(|()| {
        let readers = Arc::clone(&readers);
        spawn(move || {
            let found = {
                let entry = ReadLock(readers.read().unwrap());
                entry.0.as_ref().filter(|object| object.count.get().is_acquired()).cloned()
            };
            if let Some(object) = found {
                leave_and_free(&readers, &object);
            }
        })
    });
    leave_and_free(&readers, &object);
    join_all(visitors);
    assert!(object.is_freed(), "the object leaks");
}

#[test]
fn rcuref_frees_after_a_grace_period() {
    passes(Some(4), freed_after_a_grace_period);
}

macro_rules! models_of {
    ($room:ident, $count:ty, $bound:expr) => {
        mod $room {
            use super::*;

            tests! {
                one_of_a_get_and_two_puts_destroys => passes($bound, get_put_put::<$count>);
                a_get_revives_or_fails_but_never_holds_a_dead_object =>
                    passes($bound, get_get_put::<$count>);
                put_last_agrees_with_put_on_who_destroys =>
                    passes($bound, get_put_put_last::<$count>);
                a_get_acquire_sees_what_was_written_before_an_earlier_put =>
                    passes(ALL, get_acquire_after_put::<$count>);
                many_references_come_and_go_as_one => passes($bound, get_many_put_many::<$count>);
            }
        }
    };
}

models_of!(inc_not_zero, IncNotZero<Loom>, ALL);
models_of!(rcuref, RcuRef<Loom>, ALL);
models_of!(ticket, TicketRef<Loom>, Some(6));
