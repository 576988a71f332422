//! The twins of lazy references, in the models that guard their rules.

use super::super::memory::{InOrder, Loom, PointersInOrder};
use super::super::stage::Failure::{Claim, ValueRace};
use super::super::stage::{ALL, fails, passes};
use super::donation::{RereadsFirst, SoundDonation, taken_by_an_older_object};
use super::mask::{ClearsWithoutLooking, LooksFirst, RelaxedClear, SoundMask, two_seats};
use super::seat::{
    DonatesByStore, DonatesNothing, LEAKS, LeavesForGood, LooksBeforeTheBarrier,
    LooksBeforeTheMark, NoBarrierForNobody, NoHeavy, NoLightIn, NoLightOut, PassesOverLatecomers,
    ReadsOnce, RelaxedActivate, RelaxedDeactivate, RelaxedDonate, RelaxedFind, RelaxedLook,
    RelaxedResolve, RelaxedSwitch, RelaxedTakeBack, SettlesLatecomersAtOnce, SoundSeat,
    ended_after_it_moved_on, gone_in, left, moved_on, read_under_a_store, used_lazily,
};
use super::turn::{
    AddsBeforeThePush, GivesBackByStore, NEVER_ENDED, SoundTurn, TakesTheTurnRelaxed, two_push,
    two_push_and_one_takes,
};

#[test]
fn the_sound_copy_of_a_seat_passes() {
    passes(ALL, gone_in::<SoundSeat>);
    passes(ALL, used_lazily::<SoundSeat>);
    passes(ALL, left::<SoundSeat, PointersInOrder>);
    passes(ALL, moved_on::<SoundSeat, PointersInOrder>);
    passes(ALL, moved_on::<SoundSeat, Loom>);
    passes(ALL, ended_after_it_moved_on::<SoundSeat>);
    passes(Some(4), || read_under_a_store::<SoundSeat>(1));
    passes(Some(3), || read_under_a_store::<SoundSeat>(2));
}

// --- barriers ---

#[test]
fn without_a_light_barrier_an_owner_that_goes_in_is_taken_for_idle() {
    fails(Some(1), ValueRace, used_lazily::<NoLightIn>);
}

#[test]
fn without_a_light_barrier_an_owner_that_leaves_misses_its_reference() {
    fails(Some(1), Claim(LEAKS), left::<NoLightOut, PointersInOrder>);
}

#[test]
fn without_the_heavy_barrier_an_owner_that_goes_in_is_taken_for_idle() {
    fails(Some(1), ValueRace, used_lazily::<NoHeavy>);
}

#[test]
fn without_the_heavy_barrier_an_owner_that_leaves_misses_its_reference() {
    fails(Some(1), Claim(LEAKS), left::<NoHeavy, PointersInOrder>);
}

#[test]
fn an_ender_that_looks_before_it_marks_takes_the_block_from_who_came_in_between() {
    fails(Some(2), ValueRace, gone_in::<LooksBeforeTheMark>);
}

#[test]
fn an_ender_that_looks_before_its_barrier_takes_the_block_from_who_came_in_between() {
    fails(Some(2), ValueRace, gone_in::<LooksBeforeTheBarrier>);
}

// --- orderings ---

#[test]
fn an_owner_that_leaves_relaxed_does_not_show_what_it_did() {
    fails(Some(2), ValueRace, left::<RelaxedDeactivate, PointersInOrder>);
}

#[test]
fn an_ender_that_looks_relaxed_does_not_see_what_the_owner_did() {
    fails(Some(2), ValueRace, left::<RelaxedLook, PointersInOrder>);
}

#[test]
fn an_owner_that_is_active_relaxed_for_another_block_loses_what_is_donated_to_it() {
    fails(Some(3), Claim(LEAKS), moved_on::<RelaxedActivate, Loom>);
}

#[test]
fn an_owner_that_moves_on_relaxed_does_not_show_what_it_did() {
    fails(Some(1), ValueRace, ended_after_it_moved_on::<RelaxedSwitch>);
}

#[test]
fn an_ender_that_finds_another_block_relaxed_does_not_see_what_the_owner_did() {
    fails(Some(1), ValueRace, ended_after_it_moved_on::<RelaxedFind>);
}

#[test]
fn a_reference_that_is_donated_relaxed_may_not_be_there_yet() {
    fails(Some(2), ValueRace, left::<RelaxedDonate, PointersInOrder>);
}

#[test]
fn an_owner_that_finds_a_donation_relaxed_may_not_see_the_reference() {
    fails(Some(2), ValueRace, left::<RelaxedResolve, PointersInOrder>);
}

/// loom's fence, which is a light barrier here, releases it in its place.
#[test]
fn an_owner_that_takes_a_mark_away_relaxed_does_not_show_what_it_did() {
    passes(ALL, left::<RelaxedTakeBack, PointersInOrder>);
    passes(ALL, left::<SoundSeat, InOrder>);
    fails(Some(2), ValueRace, left::<RelaxedTakeBack, InOrder>);
}

// --- references ---

#[test]
fn an_ender_that_donates_nothing_frees_under_the_owner() {
    fails(Some(1), ValueRace, left::<DonatesNothing, PointersInOrder>);
}

#[test]
fn an_ender_that_donates_by_a_store_donates_to_who_has_left() {
    fails(Some(2), Claim(LEAKS), left::<DonatesByStore, PointersInOrder>);
}

#[test]
fn an_owner_that_does_not_look_back_keeps_its_reference_for_good() {
    fails(Some(1), Claim(LEAKS), left::<LeavesForGood, PointersInOrder>);
}

// --- published blocks ---

#[test]
fn a_reader_that_does_not_look_at_the_pointer_again_reads_what_has_ended() {
    fails(Some(2), ValueRace, || read_under_a_store::<ReadsOnce>(1));
}

#[test]
fn a_published_block_that_no_slot_has_is_on_its_way_into_one() {
    fails(Some(1), ValueRace, || read_under_a_store::<NoBarrierForNobody>(1));
}

#[test]
fn an_ender_that_passes_over_a_slot_without_a_mark_frees_under_its_owner() {
    fails(Some(2), ValueRace, || read_under_a_store::<PassesOverLatecomers>(1));
}

#[test]
fn a_mark_that_comes_after_the_barrier_asks_for_another() {
    fails(Some(2), Claim(LEAKS), || read_under_a_store::<SettlesLatecomersAtOnce>(1));
}

// --- donation places ---

#[test]
fn the_sound_copy_of_a_donation_place_passes() {
    passes(ALL, taken_by_an_older_object::<SoundDonation>);
}

#[test]
fn who_rereads_the_slot_before_it_reads_the_donation_place_steals_what_is_in_use() {
    fails(Some(3), ValueRace, taken_by_an_older_object::<RereadsFirst>);
}

// --- turns ---

#[test]
fn the_sound_copy_of_a_turn_passes() {
    passes(ALL, two_push::<SoundTurn>);
    passes(Some(3), two_push_and_one_takes::<SoundTurn>);
}

#[test]
fn a_turn_that_is_given_back_by_a_store_passes_over_an_addition() {
    fails(Some(1), Claim(NEVER_ENDED), two_push::<GivesBackByStore>);
}

#[test]
fn who_adds_before_it_pushes_leaves_a_block_to_nobody() {
    fails(Some(2), Claim(NEVER_ENDED), two_push::<AddsBeforeThePush>);
}

#[test]
fn a_turn_that_is_taken_relaxed_hides_what_was_pushed_before_an_addition() {
    fails(Some(3), Claim(NEVER_ENDED), two_push_and_one_takes::<TakesTheTurnRelaxed>);
}

// --- masks ---

#[test]
fn the_sound_copy_of_a_mask_passes() {
    passes(ALL, two_seats::<SoundMask>);
}

#[test]
fn a_bit_that_is_cleared_relaxed_does_not_show_what_its_seat_did() {
    fails(Some(2), ValueRace, two_seats::<RelaxedClear>);
}

#[test]
fn who_clears_the_last_bit_has_to_see_what_the_others_did() {
    fails(Some(2), ValueRace, two_seats::<ClearsWithoutLooking>);
}

#[test]
fn a_look_at_the_mask_does_not_say_who_sets_its_first_bit() {
    fails(Some(2), Claim("a holder sees no value"), two_seats::<LooksFirst>);
}
