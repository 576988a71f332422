//! The twins of free lists, in the models that guard their rules.

use super::super::pool::Pool;
use super::super::pool::lists::{
    EMPTY_AT_ONCE, closed_under_a_release, empty_at_one_moment, one_each, one_owner_a_slot,
    taken_and_given_back_under_a_take,
};
use super::super::stage::Failure::{Claim, MemoryRace};
use super::super::stage::{ALL, fails, passes};
use super::magazine::{
    LooksBack, LooksTwice, SoundMagazine, closed_under_its_owner, reclaimed_under_its_owner,
};
use super::stack::{
    AsksFirst, CountsAfterThePush, InABatch, NoTag, RefusesLast, SoundStack, StackTwin, WAS_EMPTY,
};

fn visited_twice<F: super::stack::Flaw>() {
    let pool = Pool::<StackTwin<F>>::free(0, 1);
    let other = pool.spawn_with_handle(1, Pool::visit);
    pool.visit();
    other.join().unwrap();
}

tests! {
    the_sound_copy_of_a_stack_passes =>
        passes(Some(4), || taken_and_given_back_under_a_take::<StackTwin<SoundStack>>(0)),
        passes(ALL, || closed_under_a_release::<StackTwin<SoundStack>>(0)),
        passes(Some(2), || one_owner_a_slot::<StackTwin<SoundStack>>(0)),
        passes(ALL, visited_twice::<SoundStack>),
        passes(ALL, || one_each::<StackTwin<SoundStack>>(0)),
        passes(ALL, || empty_at_one_moment::<StackTwin<SoundStack>>(0, true));
    the_published_list_gives_a_slot_to_two_owners =>
        fails(Some(1), Claim("a slot has two owners"), || {
            taken_and_given_back_under_a_take::<StackTwin<NoTag>>(0);
        });
    a_list_that_was_not_empty_may_have_nothing =>
        fails(Some(1), Claim(WAS_EMPTY), visited_twice::<AsksFirst>);
    a_list_that_is_emptied_before_it_refuses_loses_what_comes_between =>
        fails(Some(1), Claim("a closed list has a slot"), || {
            closed_under_a_release::<StackTwin<RefusesLast>>(0);
        });
    a_batch_in_hand_hides_the_slot_that_another_thread_needs =>
        fails(Some(1), Claim("there is a slot for each"), || one_each::<StackTwin<InABatch>>(0));
    lists_that_were_empty_one_after_the_other_need_not_have_been_at_once =>
        fails(Some(2), Claim(EMPTY_AT_ONCE), || {
            empty_at_one_moment::<StackTwin<SoundStack>>(0, false);
        });
    a_release_that_touches_the_list_after_its_slot_is_free_touches_freed_memory =>
        fails(Some(1), MemoryRace, || closed_under_a_release::<StackTwin<CountsAfterThePush>>(0));
}

tests! {
    the_sound_copy_of_a_magazine_passes =>
        passes(ALL, reclaimed_under_its_owner::<SoundMagazine>),
        passes(ALL, closed_under_its_owner::<SoundMagazine>);
    an_owner_that_looks_at_the_gate_when_it_is_out_touches_freed_memory =>
        fails(Some(1), MemoryRace, closed_under_its_owner::<LooksBack>);
    who_closes_and_looks_twice_passes_over_an_owner_that_is_at_the_gate =>
        fails(Some(1), Claim("a slot is lost"), closed_under_its_owner::<LooksTwice>);
}
