//! The twins of lazy references, in the models that guard their rules.

use super::super::memory::{Loom, PointersInOrder};
use super::super::stage::Failure::{Claim, ValueRace};
use super::super::stage::{ALL, fails, passes};
use super::combiner::{
    NEVER_RECLAIMED, RequestsBeforeThePush, ResignsByStore, SoundCombiner, two_push,
};
use super::donation::{RereadsFirst, SoundDonation, taken_by_an_older_object};
use super::mask::{LooksFirst, SoundMask, two_handles};
use super::shootdown::{
    DonatesByStore, DonatesNothing, LEAKS, LeavesForGood, LooksBeforeTheBarrier,
    LooksBeforeTheMark, NoBarrierForNone, PassesOverLatecomers, ReadsOnce, SettlesLatecomersAtOnce,
    SoundSlot, gone_in, left, moved_on, read_under_a_store, used_lazily,
};

tests! {
    the_sound_copy_of_a_slot_passes =>
        passes(ALL, gone_in::<SoundSlot>),
        passes(ALL, used_lazily::<SoundSlot>),
        passes(ALL, left::<SoundSlot, PointersInOrder>),
        passes(ALL, moved_on::<SoundSlot, PointersInOrder>),
        passes(ALL, moved_on::<SoundSlot, Loom>),
        passes(Some(4), || read_under_a_store::<SoundSlot>(1)),
        passes(Some(3), || read_under_a_store::<SoundSlot>(2));
}

tests! {
    a_reclaimer_that_looks_before_it_marks_takes_the_block_from_who_came_in_between =>
        fails(Some(2), ValueRace, gone_in::<LooksBeforeTheMark>);
    a_reclaimer_that_looks_before_its_barrier_takes_the_block_from_who_came_in_between =>
        fails(Some(2), ValueRace, gone_in::<LooksBeforeTheBarrier>);
}

tests! {
    a_reclaimer_that_donates_nothing_frees_under_the_owner =>
        fails(Some(1), ValueRace, left::<DonatesNothing, PointersInOrder>);
    a_reclaimer_that_donates_by_a_store_donates_to_who_has_left =>
        fails(Some(2), Claim(LEAKS), left::<DonatesByStore, PointersInOrder>);
    an_owner_that_does_not_look_back_keeps_its_reference_for_good =>
        fails(Some(1), Claim(LEAKS), left::<LeavesForGood, PointersInOrder>);
}

tests! {
    a_reader_that_does_not_look_at_the_pointer_again_reads_what_has_ended =>
        fails(Some(2), ValueRace, || read_under_a_store::<ReadsOnce>(1));
    a_published_block_that_no_slot_has_is_on_its_way_into_one =>
        fails(Some(1), ValueRace, || read_under_a_store::<NoBarrierForNone>(1));
    a_reclaimer_that_passes_over_a_slot_without_a_mark_frees_under_its_owner =>
        fails(Some(2), ValueRace, || read_under_a_store::<PassesOverLatecomers>(1));
    a_mark_that_comes_after_the_barrier_asks_for_another =>
        fails(Some(2), Claim(LEAKS), || read_under_a_store::<SettlesLatecomersAtOnce>(1));
}

tests! {
    the_sound_copy_of_a_donation_place_passes =>
        passes(ALL, taken_by_an_older_object::<SoundDonation>);
    who_rereads_the_slot_before_it_reads_the_donation_place_steals_what_is_in_use =>
        fails(Some(3), ValueRace, taken_by_an_older_object::<RereadsFirst>);
}

tests! {
    the_sound_copy_of_a_combiner_passes => passes(ALL, two_push::<SoundCombiner>);
    a_combiner_that_resigns_by_a_store_passes_over_a_request =>
        fails(Some(1), Claim(NEVER_RECLAIMED), two_push::<ResignsByStore>);
    a_request_before_the_push_leaves_the_block_unclaimed =>
        fails(Some(2), Claim(NEVER_RECLAIMED), two_push::<RequestsBeforeThePush>);
}

tests! {
    the_sound_copy_of_a_mask_passes => passes(ALL, two_handles::<SoundMask>);
    a_look_at_the_mask_does_not_say_who_sets_its_first_bit =>
        fails(Some(2), Claim("a holder sees no value"), two_handles::<LooksFirst>);
}
