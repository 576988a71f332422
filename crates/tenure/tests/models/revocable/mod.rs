//! Revocable references as they ship: domains whose local handles keep what others end, and
//! [`RcuCell`](tenure::revocable::generic::RcuCell).
//!
//! Reading an [`Object`] is a plain read, dropping it a plain write, so loom demands that all that threads did with a
//! value happened before its end. A second drop finds no value. Every model ends with [`Fate::assert_gone`].
//!
//! The library frees blocks on the heap. They stay readable up to the end of the execution ([`quarantine`]), so a word
//! that is used too late complains.

/// Tests that run a model of the shootdown on a machine with late stores, on one where all is in order, and with
/// `VERIFY` on the first again, each with its bound.
///
/// [`PointersInOrder`](super::memory::PointersInOrder) is for models whose local handles enter another object while the
/// first one ends, [`Loom`](super::memory::Loom) for the others.
macro_rules! shootdowns {
    ($($model:ident: $machine:ident($late:expr), $in_order:expr, $verified:expr;)*) => {
        mod late {
            use super::*;
            tests! { $($model => passes($late, super::$model::<On<$machine, Shootdown>>);)* }
        }
        mod in_order {
            use super::*;
            tests! { $($model => passes($in_order, super::$model::<On<InOrder, Shootdown>>);)* }
        }
        mod verified {
            use super::*;
            tests! { $($model => passes($verified, super::$model::<On<$machine, Verified>>);)* }
        }
    };
}

pub(crate) mod ending;
pub(crate) mod orderings;
mod rcu_cell;
pub(crate) mod schemes;
pub(crate) mod shootdown;

use super::clocks::judge;
use super::memory::set_number;
use super::quarantine;
use super::stage::{JoinHandle, Preemptions, Value, passes, spawn};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use tenure::memory::Memory;
use tenure::revocable::generic::{Domain, Scheme, Strong};

pub(crate) struct Object(Rc<Value>);

// SAFETY: loom runs all threads of a model on one thread of the system, and judges accesses itself.
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

impl Object {
    pub(crate) fn new(value: u32) -> (Self, Fate) {
        let value = Rc::new(Value::new(value));
        (Self(Rc::clone(&value)), Fate(value))
    }

    pub(crate) fn look(&self) -> u32 {
        self.0.look()
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // A model that failed unwinds through here, and loom is gone by then.
        if !std::thread::panicking() {
            self.0.destroy();
        }
    }
}

/// Whether an object is gone. To be asked after the threads that may end it.
pub(crate) struct Fate(Rc<Value>);

impl Fate {
    pub(crate) fn assert_gone(&self) {
        assert!(self.0.is_destroyed(), "the value leaks");
    }
}

/// The first step of every model: this is thread 0. No model relies on what else the machine's barriers pass on.
fn begin<M: Memory>() {
    judge::<M>();
    set_number(0);
    quarantine::keep();
}

fn domain<S: Scheme>() -> Domain<Object, S> {
    begin::<S::Memory>();
    Domain::new_in()
}

fn object<S: Scheme>(domain: &Domain<Object, S>, value: u32) -> (Strong<Object, S>, Fate) {
    let (object, fate) = Object::new(value);
    (domain.strong(object), fate)
}

fn worker<R: 'static>(number: usize, thread: impl FnOnce() -> R + 'static) -> JoinHandle<R> {
    spawn(move || {
        set_number(number);
        thread()
    })
}

/// Explores a model that returns how it ended, and demands each of these ways: a claim that holds because nothing
/// happens says nothing.
fn ends_in_every_way<W: Ord + Debug + Send + 'static>(
    preemptions: Preemptions,
    ways: impl IntoIterator<Item = W>,
    model: impl Fn() -> W + Send + Sync + 'static,
) {
    let found = Arc::new(Mutex::new(BTreeSet::new()));
    let ended = Arc::clone(&found);
    passes(preemptions, move || {
        let way = model();
        ended.lock().unwrap().insert(way);
    });
    assert_eq!(*found.lock().unwrap(), BTreeSet::from_iter(ways));
}

/// All objects have ended, and no local handle lost one of them twice.
fn assert_ended<S: Scheme>(domain: &Domain<Object, S>, locals: u64, fates: &[Fate]) {
    fates.iter().for_each(Fate::assert_gone);
    let said = domain.stats();
    assert_eq!(said.retired, fates.len() as u64, "an object ends once");
    assert!(
        said.revoked + said.donated <= locals * said.retired,
        "a local handle loses an object once"
    );
}
