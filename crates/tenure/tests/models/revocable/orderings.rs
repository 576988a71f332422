//! The orderings of revocable references, each with the model that fails without it: all but that of `Verified`, which would
//! abort a right test.

use super::ending::{
    one_dies_beside_a_combiner_after_the_list_was_emptied, two_die_on_two_threads,
};
use super::rcu_cell::{
    a_place_left_by_a_guard_that_outlives_its_threads_number,
    a_read_under_two_stores_of_one_thread, a_replaced_value_kept_under_a_store,
};
use super::schemes::entered_and_left_by_two_workers;
use super::shootdown::{
    given_back_and_taken_by_another_thread_for_the_same_object,
    given_back_and_taken_by_another_thread_under_the_last_drop, left_under_the_last_drop,
    moved_on_and_given_back_before_the_last_drop, moved_on_before_the_last_drop,
    moved_on_to_what_stays_under_the_last_drop, used_lazily_and_cleared_under_the_last_drop,
    used_lazily_and_given_back_under_the_last_drop, used_lazily_under_the_last_drop,
};
use crate::memory::{InOrder, Loom, PointersInOrder};
use crate::needed::{Needed, Room, fails_without, needed, tests_of};
use crate::stage::ALL;
use crate::stage::Failure::{self, Claim, MemoryRace, ValueRace};
use crate::weakening::{File, file};
use tenure::revocable::generic::{Mask, On, Shootdown};

const PROTOCOL: File = file!("src/revocable/protocol.rs");
const COUNTING: File = file!("src/revocable/counting.rs");
const CACHED: File = file!("src/revocable/rcu_cell.rs");
const SHOOTDOWN: File = file!("src/revocable/shootdown/mod.rs");
const SLOT: File = file!("src/revocable/shootdown/slot.rs");
const RETIRE: File = file!("src/revocable/shootdown/retire.rs");

const NO_VALUE: Failure = Claim("a holder sees no value");
const LEAKS: Failure = Claim("the value leaks");
const TWICE: Failure = Claim("an object ends once");

type Late = On<Loom, Shootdown>;
type PointersLate = On<PointersInOrder, Shootdown>;
type Ordered = On<InOrder, Shootdown>;

const NEEDED: &[Needed] = needed! {
    PROTOCOL "Inner::acquire_in" Acquire "fetch_or"
        => NO_VALUE, Some(2), given_back_and_taken_by_another_thread_under_the_last_drop::<PointersLate>();
    PROTOCOL "Inner::slots" Acquire "load"
        => ValueRace, Some(2), used_lazily_and_given_back_under_the_last_drop::<Ordered>();
    PROTOCOL "Inner::release_slot" Release "fetch_sub"
        => NO_VALUE, Some(2), given_back_and_taken_by_another_thread_for_the_same_object::<PointersLate>();

    COUNTING "Bits::remove" AcqRel "fetch_sub" to Release
        => ValueRace, Some(2), entered_and_left_by_two_workers::<On<Loom, Mask>>();
    COUNTING "Bits::remove" AcqRel "fetch_sub" to Acquire
        => ValueRace, Some(2), entered_and_left_by_two_workers::<On<Loom, Mask>>();

    CACHED "RcuCell::exchange" AcqRel "compare_exchange" to Acquire
        => ValueRace, Some(2), a_read_under_two_stores_of_one_thread::<PointersLate>();
    CACHED "RcuCell::exchange" AcqRel "compare_exchange" to Release
        => MemoryRace, Some(2), a_replaced_value_kept_under_a_store::<PointersLate>();

    SHOOTDOWN "mark" Acquire "load"
        => ValueRace, Some(2), moved_on_before_the_last_drop();
    SHOOTDOWN "settle" Acquire "load"
        => ValueRace, Some(2), left_under_the_last_drop::<Ordered>();

    SLOT "State::clear" Release "store"
        => ValueRace, Some(2), used_lazily_and_cleared_under_the_last_drop::<Ordered>();
    SLOT "State::is_active" Acquire "load"
        => NO_VALUE, ALL, _ = a_place_left_by_a_guard_that_outlives_its_threads_number();
    SLOT "State::transition_to_active" Release "store"
        => LEAKS, ALL, moved_on_to_what_stays_under_the_last_drop();
    SLOT "State::transition_to_idle" Release "store"
        => ValueRace, Some(2), left_under_the_last_drop::<Late>();
    SLOT "State::transition_to_holding" Release "store"
        => ValueRace, Some(2), moved_on_before_the_last_drop();
    SLOT "State::transition_to_empty" Acquire "load"
        => MemoryRace, Some(2), left_under_the_last_drop::<Ordered>();
    SLOT "State::transition_to_empty" Release "compare_exchange"
        => ValueRace, Some(2), left_under_the_last_drop::<Ordered>();
    SLOT "State::transition_to_empty" Acquire "compare_exchange failing"
        => MemoryRace, ALL, left_under_the_last_drop::<Ordered>();
    SLOT "State::transition_to_empty" Release "store"
        => ValueRace, Some(3), moved_on_and_given_back_before_the_last_drop();
    SLOT "State::transition_to_marked" Acquire "compare_exchange failing"
        => ValueRace, Some(2), used_lazily_and_cleared_under_the_last_drop::<Ordered>();
    SLOT "State::protect_slowly" Acquire "load"
        => ValueRace, Some(2), a_read_under_two_stores_of_one_thread::<PointersLate>();
    SLOT "State::settle" Acquire "load"
        => ValueRace, Some(2), left_under_the_last_drop::<Late>();
    SLOT "State::settle" Release "compare_exchange"
        => MemoryRace, Some(2), left_under_the_last_drop::<Ordered>();
    SLOT "State::settle" Acquire "compare_exchange failing"
        => ValueRace, Some(2), left_under_the_last_drop::<Ordered>();

    RETIRE "RetireList::push" Release "compare_exchange"
        => TWICE, Some(2), two_die_on_two_threads::<Late>();
    RETIRE "RetireList::take" Acquire "compare_exchange"
        => TWICE, Some(2), two_die_on_two_threads::<Late>();
    RETIRE "RetireList::request" Release "fetch_add"
        => LEAKS, Some(2), one_dies_beside_a_combiner_after_the_list_was_emptied::<Late>();
    RETIRE "RetireList::request" Acquire "compare_exchange"
        => LEAKS, ALL, one_dies_beside_a_combiner_after_the_list_was_emptied::<Late>();
    RETIRE "RetireList::finish" Acquire "compare_exchange failing"
        => LEAKS, Some(3), two_die_on_two_threads::<Late>();
};

pub(crate) const ROOM: Room = Room {
    files: &[PROTOCOL, COUNTING, CACHED, SHOOTDOWN, SLOT, RETIRE],
    needed: NEEDED,
    kept: &[],
    tests: &["revocable::"],
};

tests_of!(ROOM);

#[test]
fn without_its_barrier_an_owner_or_a_reclaimer_misses_the_other() {
    let going_in = (ValueRace, used_lazily_under_the_last_drop::<Late> as fn());
    let leaving = (LEAKS, left_under_the_last_drop::<Late> as fn());
    for (barrier, within, (failure, model)) in [
        ("light_barrier", (SLOT, "State::kept"), going_in),
        ("light_barrier", (SLOT, "State::leave"), leaving),
        ("heavy_barrier", (SHOOTDOWN, "reclaim"), going_in),
        ("heavy_barrier", (SHOOTDOWN, "reclaim"), leaving),
    ] {
        fails_without(barrier, within, Some(2), failure, model);
    }
}
