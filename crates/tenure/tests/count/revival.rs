//! Gets that revive an object whose last put is undecided, on one thread.
//!
//! The counts run on a [`Memory`] that performs other operations on the same count just before any access, as if
//! another thread had run there to completion. Such interludes nest, so many candidates are under way at once. A model
//! checker explores few threads and every order; this, many threads and orders that nest.
//!
//! The object counts as freed after a last put, and no access may follow.

use crate::cases::cases;
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use tenure::count::{Get, IncNotZero, Put, RcuRef, Readable, RefCount, TicketRef};
use tenure::memory::{Atomic, Memory, Native, Ordering, PlainCell};

#[derive(Debug, Clone, Copy)]
enum Op {
    /// Gets the object, unless it is freed.
    Get,
    /// Puts a reference, if one is owned.
    Put,
    PutLast,
}

type Performer = Rc<dyn Fn(&[Op])>;

thread_local! {
    /// What happens before the next access, the one after, and so on.
    static INTERLUDES: RefCell<VecDeque<Vec<Op>>> = const { RefCell::new(VecDeque::new()) };
    static PERFORM: RefCell<Option<Performer>> = const { RefCell::new(None) };
    static FREED: Cell<bool> = const { Cell::new(false) };
    static ACCESSES_AFTER_FREE: Cell<u32> = const { Cell::new(0) };
}

fn interlude() {
    let next = INTERLUDES.with_borrow_mut(VecDeque::pop_front);
    let perform = PERFORM.with_borrow(Option::clone);
    if let (Some(ops), Some(perform)) = (next, perform) {
        perform(&ops);
    }
    if FREED.get() {
        ACCESSES_AFTER_FREE.set(ACCESSES_AFTER_FREE.get() + 1);
    }
}

enum Interrupted {}

// SAFETY: the real machine's types. There are no threads for the barriers to order.
unsafe impl Memory for Interrupted {
    type AtomicU32 = Word<<Native as Memory>::AtomicU32>;
    type AtomicU64 = Word<<Native as Memory>::AtomicU64>;
    type Pointer<T> = <Native as Memory>::Pointer<T>;
    type Plain<T> = PlainCell<T>;
    fn light_barrier() {}
    fn heavy_barrier() {}
    fn spin_hint() {}
}

struct Word<A>(A);

impl<T: Copy, A: Atomic<T>> Atomic<T> for Word<A> {
    fn new(value: T) -> Self {
        Self(A::new(value))
    }
    fn load(&self, order: Ordering) -> T {
        interlude();
        self.0.load(order)
    }
    fn store(&self, value: T, order: Ordering) {
        interlude();
        self.0.store(value, order);
    }
    fn fetch_add(&self, value: T, order: Ordering) -> T {
        interlude();
        self.0.fetch_add(value, order)
    }
    fn fetch_sub(&self, value: T, order: Ordering) -> T {
        interlude();
        self.0.fetch_sub(value, order)
    }
    fn fetch_or(&self, value: T, order: Ordering) -> T {
        interlude();
        self.0.fetch_or(value, order)
    }
    fn compare_exchange(&self, old: T, new: T, ok: Ordering, fail: Ordering) -> Result<T, T> {
        interlude();
        self.0.compare_exchange(old, new, ok, fail)
    }
    fn compare_exchange_weak(&self, old: T, new: T, ok: Ordering, fail: Ordering) -> Result<T, T> {
        self.compare_exchange(old, new, ok, fail)
    }
}

#[derive(Debug, PartialEq)]
struct Outcome {
    told_last: u32,
    accesses_after_free: u32,
}

const SOUND: Outcome = Outcome { told_last: 1, accesses_after_free: 0 };

struct Object<C> {
    count: C,
    owned: Cell<u32>,
    told_last: Cell<u32>,
}

impl<C: RefCount> Object<C> {
    fn perform(&self, ops: &[Op], witness: C::Witness<'_>) {
        for op in ops {
            match op {
                // A freed object left its table before.
                Op::Get if FREED.get() => {}
                Op::Get => {
                    if self.count.get() == Get::Acquired {
                        self.owned.set(self.owned.get() + 1);
                    }
                }
                Op::Put | Op::PutLast if self.owned.get() == 0 => {}
                Op::Put => self.put(|| self.count.put(witness)),
                Op::PutLast => self.put(|| self.count.put_last(witness)),
            }
        }
    }

    fn put(&self, put: impl FnOnce() -> Put) {
        self.owned.set(self.owned.get() - 1);
        if put() == Put::Last {
            self.told_last.set(self.told_last.get() + 1);
            FREED.set(true);
        }
    }
}

/// Puts the only reference of a new object while `interludes` happen, then all that are left.
fn run<C: RefCount + 'static>(interludes: &[Vec<Op>], witness: C::Witness<'static>) -> Outcome
where
    C::Witness<'static>: 'static,
{
    let object =
        Rc::new(Object { count: C::new_in(), owned: Cell::new(1), told_last: Cell::new(0) });
    let same = Rc::clone(&object);
    FREED.set(false);
    ACCESSES_AFTER_FREE.set(0);
    INTERLUDES.set(interludes.iter().cloned().collect());
    PERFORM.set(Some(Rc::new(move |ops: &[Op]| same.perform(ops, witness))));
    while object.owned.get() > 0 {
        object.perform(&[Op::Put], witness);
    }
    PERFORM.set(None);
    Outcome { told_last: object.told_last.get(), accesses_after_free: ACCESSES_AFTER_FREE.get() }
}

fn readable() -> Readable<'static> {
    // SAFETY: `run` frees no memory; it only notes when a user would.
    unsafe { Readable::assume() }
}

fn interludes() -> impl Strategy<Value = Vec<Vec<Op>>> {
    let op = prop_oneof![3 => Just(Op::Get), 3 => Just(Op::Put), 1 => Just(Op::PutLast)];
    prop::collection::vec(prop::collection::vec(op, 0..4), 0..40)
}

/// Another thread revives and puts between the subtraction and the verdict of the last put, and so on.
fn revived_and_put(times: usize) -> Vec<Vec<Op>> {
    let mut plan = vec![vec![]]; // Before the subtraction.
    plan.extend((0..times).map(|_| vec![Op::Get, Op::Put]));
    plan
}

proptest! {
    #![proptest_config(cases(4_000, 4_000))]

    #[test]
    fn ticketref_tells_exactly_one_and_touches_nothing_after_that(plan in interludes()) {
        prop_assert_eq!(run::<TicketRef<Interrupted>>(&plan, ()), SOUND);
    }

    #[test]
    fn inc_not_zero_tells_exactly_one_and_touches_nothing_after_that(plan in interludes()) {
        prop_assert_eq!(run::<IncNotZero<Interrupted>>(&plan, ()), SOUND);
    }

    #[test]
    fn rcuref_tells_exactly_one(plan in interludes()) {
        prop_assert_eq!(run::<RcuRef<Interrupted>>(&plan, readable()).told_last, 1);
    }
}

#[test]
fn a_revived_object_is_destroyed_once_however_deep_the_revivals_nest() {
    for times in 0..30 {
        assert_eq!(run::<TicketRef<Interrupted>>(&revived_and_put(times), ()), SOUND, "{times}");
    }
}

/// The negative twin: `RcuRef` needs its memory to stay readable.
#[test]
fn rcuref_touches_its_word_after_the_last_put_was_told() {
    assert_eq!(run::<RcuRef<Interrupted>>(&revived_and_put(0), readable()), SOUND);
    let revived = run::<RcuRef<Interrupted>>(&[vec![], vec![Op::Get, Op::Put]], readable());
    assert_eq!(revived, Outcome { told_last: 1, accesses_after_free: 1 });
}
