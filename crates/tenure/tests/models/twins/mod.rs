//! Negative twins: small broken copies of the protocols, which have to fail in the way that their flaw predicts.
//!
//! For each rule of a protocol a twin breaks that rule and no other, and runs in the model that guards it; a sound copy
//! passes the same models, so it is the flaw that fails and not the copying. That orderings and barriers are needed
//! shows without a copy: see [`needed`](super::needed).

/// Types that are a `Flaw` with some constants changed; or none: the control.
macro_rules! flaws {
    ($($(#[$doc:meta])* $name:ident { $($what:ident: $type:ty = $value:expr),* })*) => {$(
        $(#[$doc])*
        pub(crate) enum $name {}
        impl Flaw for $name {
            $(const $what: $type = $value;)*
        }
    )*};
}

mod arc;
mod cells;
mod combiner;
mod donation;
mod lazy;
#[cfg(feature = "registry")]
mod linger;
mod magazine;
#[cfg(feature = "registry")]
mod map;
mod mask;
mod numbers;
mod pool;
mod rcuref;
#[cfg(feature = "registry")]
mod registry;
mod shootdown;
mod slot;
mod stack;
mod sum;
mod ticket;
#[cfg(feature = "registry")]
mod turn;

use super::arc::{
    born_under_upgrades, clones_drop, drop_upgrade_drop_weak, drop_upgrade_upgrade,
    first_downgrades, unique_under_downgrade, unique_under_upgrade, unshared_after_a_clone,
};
use super::cells::sum::{NOT_ONCE, taken_by_two};
use super::cells::{
    cloned_and_put_under_a_kill, counted_again_after_a_kill, left_while_the_last_puts,
    put_after_the_number_was_handed_over, put_by_the_killer_and_another,
    put_elsewhere_under_a_kill, put_here_under_a_kill_by_a_holder, put_here_under_a_kill_elsewhere,
    put_while_the_place_has_the_next_count, tried_after_a_second_kill, tried_under_a_kill,
    two_put_under_a_kill,
};
use super::counts::{get_get_put, get_put_put};
use super::memory::Loom;
use super::numbers::claimed_by_threads;
use super::stage::Failure::{Claim, FieldRace, MemoryRace, ValueRace};
use super::stage::{ALL, fails, passes};
use super::ticket::{
    freed_at_once_by_its_holders, freed_at_once_under_lookups, reused_under_failed_gets,
};
use arc::{
    ArcTwin, DowngradesUnderTheLock, FreesUnderWeaks, LastByWord, NeverPublishes, NotesByStore,
    ReadsStrongThenWeak, ReadsWeakThenStrong, SoundArc, SoundWithoutPrivacy,
};
use cells::{
    CellsTwin, CountsTwice, KeepsCells, KeepsItsCell, LooksAndLeaves, LooksFirst, NoBias,
    NoLeftovers, SoundCells, StoresBack, SumsByCell, TriesBlindly, TriesOn,
};
use numbers::{LooksAndStores, NumbersTwin, SoundNumbers};
use rcuref::{REPORT, Rereads};
use slot::{
    ANOTHER_USE, LOST, LeavesTheSlot, LooksOnce, looked_up_across_uses, unshared_under_a_lookup,
};
use sum::{Empties, SoundSum, SumTwin, TakesBlindly};
use tenure::count::RcuRef;
use ticket::{NoTickets, PublishesByAdd, RestoresByStore, Sound, TicketTwin};

tests! {
    a_put_that_reads_the_counter_again_reports_what_is_owed =>
        fails(Some(2), Claim(REPORT), get_put_put::<Rereads>);
    rcuref_without_a_witness_touches_freed_memory =>
        fails(Some(1), MemoryRace, || freed_at_once_under_lookups::<RcuRef<Loom>>(2));
}

tests! {
    the_sound_copy_of_ticket_ref_passes =>
        passes(ALL, get_put_put::<TicketTwin<Sound>>),
        passes(Some(4), get_get_put::<TicketTwin<Sound>>),
        passes(ALL, freed_at_once_by_its_holders::<TicketTwin<Sound>>),
        passes(Some(4), || freed_at_once_under_lookups::<TicketTwin<Sound>>(2)),
        passes(ALL, || reused_under_failed_gets::<TicketTwin<Sound, true>>(1));
    without_tickets_a_candidate_touches_freed_memory =>
        fails(Some(1), MemoryRace, || freed_at_once_under_lookups::<TicketTwin<NoTickets>>(2));
    restoring_dead_by_a_store_kills_the_new_owner_of_the_slot =>
        fails(Some(3), Claim("the new owner's reference is lost"),
            || reused_under_failed_gets::<TicketTwin<RestoresByStore, true>>(1));
}

tests! {
    the_sound_copy_of_counts_passes =>
        passes(Some(4), drop_upgrade_drop_weak::<ArcTwin<SoundArc>>),
        passes(Some(3), drop_upgrade_upgrade::<ArcTwin<SoundArc>>),
        passes(ALL, clones_drop::<ArcTwin<SoundArc>>),
        passes(ALL, || unique_under_downgrade::<ArcTwin<SoundArc>>(0)),
        passes(ALL, || unique_under_downgrade::<ArcTwin<SoundWithoutPrivacy>>(0)),
        passes(ALL, || unique_under_upgrade::<ArcTwin<SoundArc>>(0)),
        passes(ALL, || born_under_upgrades::<ArcTwin<SoundArc, Sound, true>>(1)),
        passes(Some(3), || first_downgrades::<ArcTwin<SoundArc>>(0)),
        passes(Some(3), || first_downgrades::<ArcTwin<SoundArc>>(1)),
        passes(ALL, || unique_under_downgrade::<ArcTwin<SoundArc>>(2)),
        passes(ALL, unshared_after_a_clone::<ArcTwin<SoundArc>>);
    a_first_weak_that_does_not_publish_reaches_a_value_that_is_gone =>
        fails(Some(2), Claim("a holder sees no value"), || first_downgrades::<ArcTwin<NeverPublishes>>(0));
    noting_that_it_is_published_by_a_store_loses_a_weak =>
        fails(Some(2), Claim("the allocation leaks"), || first_downgrades::<ArcTwin<NotesByStore>>(1));
    a_last_weak_that_does_not_expect_the_note_frees_nothing =>
        fails(Some(2), Claim("the allocation leaks"), || first_downgrades::<ArcTwin<LastByWord>>(2));
    publishing_twice_by_adding_makes_a_reference_that_is_never_put =>
        fails(Some(3), Claim("the value leaks"), || first_downgrades::<ArcTwin<SoundArc, PublishesByAdd>>(0));
    the_last_arc_that_does_not_look_for_weaks_frees_under_them =>
        fails(Some(1), MemoryRace, drop_upgrade_drop_weak::<ArcTwin<FreesUnderWeaks>>);
    a_strong_count_without_tickets_frees_the_allocation_under_a_drop =>
        fails(Some(2), MemoryRace, drop_upgrade_upgrade::<ArcTwin<SoundArc, NoTickets>>);
    get_mut_that_reads_weak_then_strong_shares_what_it_gives =>
        fails(Some(2), ValueRace, || unique_under_downgrade::<ArcTwin<ReadsWeakThenStrong>>(0));
    get_mut_that_reads_strong_then_weak_shares_what_it_gives =>
        fails(Some(2), ValueRace, || unique_under_upgrade::<ArcTwin<ReadsStrongThenWeak>>(0));
    a_downgrade_that_does_not_wait_makes_get_mut_share_what_it_gives =>
        fails(Some(2), ValueRace, || unique_under_downgrade::<ArcTwin<DowngradesUnderTheLock>>(0));
}

tests! {
    the_sound_copy_of_a_slot_passes =>
        passes(ALL, looked_up_across_uses::<slot::Sound>),
        passes(ALL, unshared_under_a_lookup::<slot::Sound>);
    a_lookup_that_compares_generations_once_finds_the_next_use =>
        fails(ALL, Claim(ANOTHER_USE), looked_up_across_uses::<LooksOnce>);
    a_lookup_that_was_wrong_and_the_last_has_to_release_the_slot =>
        fails(ALL, Claim(LOST), looked_up_across_uses::<LeavesTheSlot>);
}

tests! {
    the_sound_copy_of_numbers_passes => passes(ALL, || claimed_by_threads::<NumbersTwin<SoundNumbers>>(0, 2));
    a_look_and_a_store_give_one_number_to_two_threads =>
        fails(ALL, FieldRace, || claimed_by_threads::<NumbersTwin<LooksAndStores>>(0, 2));
}

tests! {
    the_sound_copy_of_cells_passes =>
        passes(ALL, put_elsewhere_under_a_kill::<CellsTwin<SoundCells>>),
        passes(ALL, put_here_under_a_kill_elsewhere::<CellsTwin<SoundCells>>),
        passes(Some(3), put_here_under_a_kill_by_a_holder::<CellsTwin<SoundCells>>),
        passes(Some(4), cloned_and_put_under_a_kill::<CellsTwin<SoundCells>>),
        passes(Some(3), two_put_under_a_kill::<CellsTwin<SoundCells>>),
        passes(Some(4), put_by_the_killer_and_another::<CellsTwin<SoundCells>>),
        passes(Some(3), put_after_the_number_was_handed_over::<CellsTwin<SoundCells>>),
        passes(Some(4), tried_under_a_kill::<CellsTwin<SoundCells>>),
        passes(Some(3), tried_after_a_second_kill::<CellsTwin<SoundCells>>),
        passes(Some(3), left_while_the_last_puts::<CellsTwin<SoundCells>>),
        passes(Some(4), put_while_the_place_has_the_next_count::<CellsTwin<SoundCells>>),
        passes(Some(4), counted_again_after_a_kill::<CellsTwin<SoundCells>>);
    a_look_before_the_store_loses_what_comes_after_the_sum =>
        fails(Some(2), Claim("the value leaks"), put_elsewhere_under_a_kill::<CellsTwin<LooksFirst>>);
    taking_back_by_a_store_counts_twice =>
        fails(Some(3), ValueRace, put_by_the_killer_and_another::<CellsTwin<StoresBack>>);
    what_the_killer_has_taken_is_not_counted_again =>
        fails(Some(3), ValueRace, put_by_the_killer_and_another::<CellsTwin<CountsTwice>>);
    a_word_without_a_bias_is_zero_during_the_switch =>
        fails(Some(2), Claim("a holder sees no value"), cloned_and_put_under_a_kill::<CellsTwin<NoBias>>);
    a_sum_of_some_cells_is_zero_before_the_last_put =>
        fails(Some(2), ValueRace, cloned_and_put_under_a_kill::<CellsTwin<SumsByCell>>);
    a_cell_that_is_not_emptied_is_taken_back_after_it_was_counted =>
        fails(Some(3), ValueRace, put_here_under_a_kill_by_a_holder::<CellsTwin<KeepsCells>>);
    leftovers_count_for_the_next_count_in_their_place =>
        fails(Some(2), Claim("the value leaks"), counted_again_after_a_kill::<CellsTwin<NoLeftovers>>);
    a_cell_used_after_its_number_was_handed_over_loses_counts =>
        fails(Some(2), Claim("the value leaks"), put_after_the_number_was_handed_over::<CellsTwin<KeepsItsCell>>);
    a_get_that_counts_on_after_the_kill_succeeds_on_a_dead_count =>
        fails(Some(2), Claim("got after the kill"), tried_under_a_kill::<CellsTwin<TriesOn>>);
    a_get_that_is_tried_blindly_is_in_the_sum_of_a_killer_that_was_faster =>
        fails(Some(3), Claim("got after the kill"), tried_after_a_second_kill::<CellsTwin<TriesBlindly>>);
    a_look_at_who_has_left_and_then_a_leave_frees_nothing =>
        fails(Some(2), Claim("the head leaks"), left_while_the_last_puts::<CellsTwin<LooksAndLeaves>>);
}

tests! {
    the_sound_copy_of_a_sum_passes => passes(ALL, taken_by_two::<SumTwin<SoundSum>>);
    two_that_subtract_blindly_take_the_same_addition =>
        fails(Some(2), Claim(NOT_ONCE), taken_by_two::<SumTwin<TakesBlindly>>);
    emptying_the_cell_of_another_loses_what_it_adds =>
        fails(Some(2), Claim(NOT_ONCE), taken_by_two::<SumTwin<Empties>>);
}
