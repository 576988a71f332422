//! Orderings of lazy references, each with the model that fails without it.
//!
//! Not a complete list: some orderings only show where a light barrier does nothing, and those of `Verified` are
//! for tests.

use super::cached::a_read_under_two_stores_of_one_thread;
use super::ending::{
    one_dies_beside_a_combiner_after_the_list_was_emptied, two_die_on_two_threads,
};
use super::schemes::entered_and_left_by_two_workers;
use super::shootdown::{
    given_back_and_taken_by_another_thread_under_the_last_drop, left_under_the_last_drop,
    moved_on_before_the_last_drop,
};
use crate::memory::{InOrder, Loom, PointersInOrder};
use crate::needed::{Needed, Room, needed};
use crate::stage::Failure::{Claim, MemoryRace, ValueRace};
use crate::stage::{ALL, Failure};
use crate::weakening::{File, file};
use tenure::lazy::{Mask, On, Shootdown};

const PROTOCOL: File = file!("src/lazy/protocol.rs");
const COUNTING: File = file!("src/lazy/counting.rs");
const CACHED: File = file!("src/lazy/cached.rs");
const SHOOTDOWN: File = file!("src/lazy/shootdown/mod.rs");
const SLOT: File = file!("src/lazy/shootdown/slot.rs");
const RETIRE: File = file!("src/lazy/shootdown/retire.rs");

const NO_VALUE: Failure = Claim("a holder sees no value");
const LEAKS: Failure = Claim("the value leaks");
const TWICE: Failure = Claim("an object ends once");

type Late = On<Loom, Shootdown>;
type PointersLate = On<PointersInOrder, Shootdown>;
type Ordered = On<InOrder, Shootdown>;

const NEEDED: &[Needed] = needed! {
    PROTOCOL "Inner::acquire_slot" Acquire "compare_exchange"
        => NO_VALUE, Some(2), given_back_and_taken_by_another_thread_under_the_last_drop::<PointersLate>();

    COUNTING "Bits::remove" AcqRel "fetch_sub" to Release
        => ValueRace, Some(2), entered_and_left_by_two_workers::<On<Loom, Mask>>();
    COUNTING "Bits::remove" AcqRel "fetch_sub" to Acquire
        => ValueRace, Some(2), entered_and_left_by_two_workers::<On<Loom, Mask>>();

    CACHED "Cached::exchange" AcqRel "compare_exchange" to Acquire
        => ValueRace, Some(2), a_read_under_two_stores_of_one_thread::<PointersLate>();

    SHOOTDOWN "mark" Acquire "load"
        => ValueRace, Some(2), moved_on_before_the_last_drop();
    SHOOTDOWN "settle" Acquire "load"
        => ValueRace, Some(2), left_under_the_last_drop::<Ordered>();

    SLOT "State::transition_to_idle" Release "store"
        => ValueRace, Some(2), left_under_the_last_drop::<Late>();
    SLOT "State::transition_to_holding" Release "store"
        => ValueRace, Some(2), moved_on_before_the_last_drop();
    SLOT "State::transition_to_empty" Acquire "load"
        => MemoryRace, Some(2), left_under_the_last_drop::<Ordered>();
    SLOT "State::transition_to_empty" Release "compare_exchange"
        => ValueRace, Some(2), left_under_the_last_drop::<Ordered>();
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

#[test]
fn no_ordering_of_lazy_references_can_be_relaxed() {
    let files = &[PROTOCOL, COUNTING, CACHED, SHOOTDOWN, SLOT, RETIRE];
    Room { files, needed: NEEDED, kept: &[], tests: &["lazy::"] }.fail_when_weakened();
}
