//! The orderings of free lists, each with the model that fails without it.

use super::lists::{EMPTY_AT_ONCE, empty_at_one_moment, one_owner_a_slot};
use super::magazines::{
    an_owner_and_a_trim_share_no_slot,
    an_owner_that_holds_a_slot_uses_its_magazine_between_two_trims as owner_between_two_trims,
};
use crate::memory::{InOrder, Loom};
use crate::needed::{Needed, Room, needed};
use crate::slots::unshared_under_lookups;
use crate::stage::Failure::{Claim, FieldRace, ValueRace};
use crate::weakening::{File, file};
use tenure::pool::list::TaggedStack;

const STACK: File = file!("src/pool/list/stack.rs");
const MAGAZINE: File = file!("src/pool/list/magazines/magazine.rs");
const SLOTS: File = file!("src/pool/slot/mod.rs");
const TICKET: File = file!("src/count/ticket/mod.rs");

type Stack = TaggedStack<Loom>;

const NEEDED: &[Needed] = needed! {
    STACK "Stack::pop" Acquire "load"
        => FieldRace, Some(1), one_owner_a_slot::<Stack>(0);
    STACK "Stack::pop" Acquire "compare_exchange_weak failing"
        => FieldRace, Some(2), one_owner_a_slot::<Stack>(0);
    STACK "Stack::pop" Release "compare_exchange_weak"
        => Claim(EMPTY_AT_ONCE), Some(2), empty_at_one_moment::<Stack>(0, true);
    STACK "Stack::push" Release "compare_exchange_weak"
        => FieldRace, Some(1), one_owner_a_slot::<Stack>(0);
    STACK "Stack::emptiness" Acquire "load"
        => Claim(EMPTY_AT_ONCE), Some(2), empty_at_one_moment::<Stack>(0, true);

    // In order: loom takes the barriers for fences, which pass on what these do.
    MAGAZINE "Magazine::enter" Acquire "load"
        => FieldRace, Some(3), owner_between_two_trims::<true>();
    MAGAZINE "Magazine::enter" Release "store"
        => FieldRace, Some(3), an_owner_and_a_trim_share_no_slot::<true>();
    MAGAZINE "Magazine::exit" Release "store"
        => FieldRace, Some(3), owner_between_two_trims::<true>();
    MAGAZINE "Magazine::is_inside" Acquire "load"
        => FieldRace, Some(3), owner_between_two_trims::<true>();
    MAGAZINE "Magazine::reopen" Release "fetch_sub"
        => FieldRace, Some(3), owner_between_two_trims::<true>();
};

const ROOM: Room =
    Room { files: &[STACK, MAGAZINE], needed: NEEDED, kept: &[], tests: &["pool::"] };

/// That of `SlotPool::get` is written in the count, whose own list is in `counts`.
const KEYS: Room = Room {
    files: &[TICKET],
    needed: needed! {
        TICKET "TicketRef::get_acquire" Acquire "add" under (SLOTS, "SlotPool::get")
            => ValueRace, Some(2), unshared_under_lookups::<InOrder>(1);
    },
    kept: &[],
    tests: &["slots::"],
};

#[test]
fn no_ordering_of_the_lists_can_be_relaxed() {
    ROOM.fail_when_weakened();
}

#[test]
fn a_relaxed_lookup_does_not_see_what_was_shared() {
    KEYS.fail_when_weakened();
}

#[test]
fn every_ordering_of_the_lists_is_in_the_list() {
    ROOM.are_complete();
}

#[test]
#[ignore = "takes minutes: ci/mutants.sh --orderings"]
fn each_ordering_is_noticed() {
    ROOM.try_each();
}
