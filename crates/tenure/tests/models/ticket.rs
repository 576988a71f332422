//! What [`TicketRef`] promises beyond a reference count: memory freed at once, and counts given a new life.

use super::counts::Object;
use super::memory::{InOrder, Loom};
use super::stage::{ALL, Count, Heap, Value, join_all, passes, slow, spawn};
use std::rc::Rc;
use std::sync::Arc;
use tenure::count::DEAD;
use tenure::count::generic::{IncNotZero, TicketRef};

/// A table with one object, whose lock keeps the memory readable during a lookup.
struct Table<C>(loom::sync::Mutex<Option<Heap<Object<C>>>>);

impl<C: Count> Table<C> {
    fn holding(object: &Heap<Object<C>>) -> Arc<Self> {
        Arc::new(Self(loom::sync::Mutex::new(Some(object.clone()))))
    }

    fn look_up(&self) -> Option<Heap<Object<C>>> {
        let entry = self.0.lock().unwrap();
        entry.as_ref().filter(|object| object.count.take().is_acquired()).cloned()
    }

    fn visit(&self) -> u32 {
        self.look_up().map_or(0, |object| self.leave(&object))
    }

    /// The last put removes and frees the object at once.
    fn leave(&self, object: &Heap<Object<C>>) -> u32 {
        object.value.look();
        let last = object.count.give().is_last();
        if last {
            assert!(self.0.lock().unwrap().take().is_some(), "the object is removed twice");
            object.value.destroy();
            object.free();
        }
        u32::from(last)
    }
}

/// `lookups` threads that look up, visit and leave ‖ the first owner, who leaves.
pub(crate) fn freed_at_once_under_lookups<C: Count>(lookups: usize) {
    let object = Heap::new(Object::<C>::new());
    let table = Table::holding(&object);
    let visitors = Vec::from_iter((0..lookups).map(|_| {
        let table = Arc::clone(&table);
        spawn(move || table.visit())
    }));
    let freed = table.leave(&object) + join_all(visitors).iter().sum::<u32>();
    assert_eq!(freed, 1, "the object is not freed exactly once");
}

/// None looks at the value: only the memory of the count is at stake.
pub(crate) fn freed_at_once_by_its_holders<C: Count>() {
    let count = Heap::new(C::one());
    let leave = |count: &Heap<C>| {
        if count.give().is_last() {
            count.free();
        }
    };
    let others = [(); 2].map(|()| {
        assert!(count.take().is_acquired());
        let count = count.clone();
        spawn(move || leave(&count))
    });
    leave(&count);
    join_all(others);
    assert!(count.is_freed(), "the count leaks");
}

tests! {
    the_last_put_frees_at_once_under_two_lookups =>
        passes(slow(Some(6)), || freed_at_once_under_lookups::<TicketRef<Loom>>(2));
    the_last_put_frees_at_once_under_three_lookups =>
        passes(Some(3), || freed_at_once_under_lookups::<TicketRef<Loom>>(3));
    the_last_of_three_holders_frees_at_once => passes(ALL, freed_at_once_by_its_holders::<TicketRef<Loom>>);
    the_baseline_frees_at_once_too =>
        passes(Some(5), || freed_at_once_under_lookups::<IncNotZero<Loom>>(2)),
        passes(ALL, freed_at_once_by_its_holders::<IncNotZero<Loom>>);
}

/// A failed get moves a dead count that is so far away that the next one moves it back.
const DRIFTED_WORD: u64 = ((DEAD + (1 << 16) - 1) as u64) << 32 | 1 << 31;

struct Slot {
    count: TicketRef<InOrder>,
    value: Value,
}

/// Visitors of a slot that they found before it was ready ‖ its owner, who writes a value, gives the slot its life
/// last, then leaves.
pub(crate) fn reused_under_failed_gets(visitors: usize) {
    let slot =
        Rc::new(Slot { count: TicketRef::from_raw_in(DRIFTED_WORD), value: Value::unborn() });
    let leave = |slot: &Slot| {
        slot.value.look();
        let last = slot.count.put().is_last();
        if last {
            slot.value.destroy();
        }
        u32::from(last)
    };
    let visitors = Vec::from_iter((0..visitors).map(|_| {
        let slot = Rc::clone(&slot);
        spawn(move || if slot.count.get_acquire().is_acquired() { leave(&slot) } else { 0 })
    }));
    slot.value.write(2);
    slot.count.init();
    let destroyed = leave(&slot) + join_all(visitors).iter().sum::<u32>();
    assert_eq!(destroyed, 1, "the new owner's reference is lost");
    assert!(slot.value.is_destroyed());
}

#[test]
fn a_failed_get_moves_a_count_back_that_has_drifted() {
    passes(ALL, || {
        let count = TicketRef::<Loom>::from_raw_in(DRIFTED_WORD);
        assert!(!count.get().is_acquired());
        assert_eq!(count.raw(), TicketRef::<Loom>::dead_in().raw());
    });
}

tests! {
    a_failed_get_does_not_kill_the_new_owner_of_its_slot =>
        passes(ALL, || reused_under_failed_gets(1));
    two_failed_gets_do_not_kill_the_new_owner_of_their_slot =>
        passes(Some(5), || reused_under_failed_gets(2));
}
