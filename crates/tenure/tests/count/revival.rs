//! Gets that revive an object whose last put is undecided, again and again: many candidates are under way at once.
//!
//! Each put is interrupted (`staged.rs`) between its subtraction and its verdict by a get and a put, which is interrupted in
//! turn. A model checker explores few threads and every order; this, many threads that nest.

use crate::readable;
use crate::staged::{Staged, interrupted};
use std::cell::Cell;
use std::rc::Rc;
use tenure::count::generic::{IncNotZero, RcuRef, TicketRef};
use tenure::count::{GetResult, PutResult, RefCount};

struct Object<C> {
    count: C,
    told_last: Cell<u32>,
}

/// Puts a reference. `revivals` further visitors come in between, each within the one before.
fn put<C: RefCount + 'static>(
    object: &Rc<Object<C>>,
    readable: fn() -> C::Readable<'static>,
    revivals: u32,
) {
    let (same, other) = (Rc::clone(object), Rc::clone(object));
    let one = move || {
        if same.count.put(readable()) == PutResult::Last {
            same.told_last.set(same.told_last.get() + 1);
        }
    };
    let visit = move || {
        if revivals > 0 && other.count.get() == GetResult::Acquired {
            put(&other, readable, revivals - 1);
        }
    };
    interrupted(2, one, visit);
}

fn one_is_told<C: RefCount + 'static>(readable: fn() -> C::Readable<'static>) {
    for revivals in 0..30 {
        let object = Rc::new(Object { count: C::new_in(), told_last: Cell::new(0) });
        put(&object, readable, revivals);
        assert_eq!(object.told_last.get(), 1, "{} revived {revivals} times", C::NAME);
        assert!(object.count.is_dead());
    }
}

#[test]
fn a_revived_object_is_destroyed_once_however_deep_the_revivals_nest() {
    one_is_told::<TicketRef<Staged>>(|| ());
    one_is_told::<IncNotZero<Staged>>(|| ());
    one_is_told::<RcuRef<Staged>>(readable);
}
