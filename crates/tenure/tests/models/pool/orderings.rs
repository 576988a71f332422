use super::limit::{IDLE_OR_ROOM, acquired_at_the_limit};
use super::lists::{
    EMPTY_AT_ONCE, closed_under_a_release, empty_at_one_moment, grown_on_two_threads,
    one_owner_a_slot,
};
use super::magazines::{
    an_owner_and_a_trim_share_no_slot,
    an_owner_that_holds_a_slot_uses_its_magazine_between_two_trims as owner_between_two_trims,
    two_trims_of_a_magazine_share_no_slot,
};
use super::parts::holders_go;
use super::turns::released_under_a_hold;
use crate::memory::{InOrder, Loom};
use crate::needed::{Needed, Room, fails_without, needed, tests_of};
use crate::slots::unshared_under_lookups;
use crate::stage::Failure::{self, Claim, FieldRace, MemoryRace, ValueRace};
use crate::weakening::{File, file};
use tenure::pool::list::{Magazines, Scan, TaggedStack};

const BLOCK: File = file!("src/pool/buffer/block.rs");
const LIFECYCLE: File = file!("src/pool/lifecycle.rs");
const TURNS: File = file!("src/pool/lifecycle/turns.rs");
const LOCK: File = file!("src/pool/lock.rs");
const MAGAZINE: File = file!("src/pool/list/magazines/magazine.rs");
const MAGAZINES: File = file!("src/pool/list/magazines/mod.rs");
const SCAN: File = file!("src/pool/list/scan.rs");
const SEGMENTS: File = file!("src/segments.rs");
const STACK: File = file!("src/pool/list/stack.rs");
const SLOTS: File = file!("src/pool/slot/mod.rs");
const TICKET: File = file!("src/count/ticket/mod.rs");

type Stack = TaggedStack<Loom>;
type Small = Magazines<Loom, 1>;

const LOST: Failure = Claim("a slot is lost");

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
    MAGAZINES "Magazines::adopt" Release "fetch_add"
        => LOST, Some(2), closed_under_a_release::<Small>(1);
    MAGAZINES "Magazines::shut_all" Acquire "fetch_or"
        => LOST, Some(2), closed_under_a_release::<Small>(1);

    LOCK "Lock::lock_as" Acquire "compare_exchange"
        => FieldRace, Some(2), two_trims_of_a_magazine_share_no_slot::<true>();
    LOCK "Lock::unlock" Release "store"
        => FieldRace, Some(2), two_trims_of_a_magazine_share_no_slot::<true>();

    SCAN "Slot::claim" Acquire "compare_exchange"
        => FieldRace, Some(2), one_owner_a_slot::<Scan<Loom>>(0);
    SCAN "Scan::release_raw" Release "fetch_sub"
        => FieldRace, Some(2), one_owner_a_slot::<Scan<Loom>>(0);
    SCAN "Scan::close" Acquire "fetch_or"
        => FieldRace, Some(2), closed_under_a_release::<Scan<Loom>>(0);
    SCAN "ReadWriteLock::write" Acquire "compare_exchange_weak"
        => LOST, Some(2), grown_on_two_threads::<Scan<Loom>>(0);
    SCAN "ReadWriteLock::write" Release "fetch_sub"
        => LOST, Some(2), grown_on_two_threads::<Scan<Loom>>(0);

    SEGMENTS "Segments::element" Acquire "load"
        => MemoryRace, Some(2), grown_on_two_threads::<Stack>(0);
    SEGMENTS "Segments::grow" Release "compare_exchange"
        => MemoryRace, Some(2), grown_on_two_threads::<Stack>(0);
    SEGMENTS "Segments::grow" Acquire "compare_exchange failing"
        => MemoryRace, Some(2), grown_on_two_threads::<Small>(1);
    SEGMENTS "Segments::snapshot" Acquire "load"
        => MemoryRace, Some(2), closed_under_a_release::<Small>(1);

    BLOCK "is_only_holder" Acquire "load"
        => FieldRace, Some(3), holders_go::<Loom>();
    BLOCK "put_one" AcqRel "fetch_sub" to Release
        => FieldRace, Some(3), holders_go::<Loom>();
    BLOCK "put_one" AcqRel "fetch_sub" to Acquire
        => FieldRace, Some(3), holders_go::<Loom>();

    LIFECYCLE "Pool::add" Release "compare_exchange_weak"
        => Claim(IDLE_OR_ROOM), Some(2), acquired_at_the_limit::<Loom>();
    LIFECYCLE "Pool::is_full" Acquire "load"
        => Claim(IDLE_OR_ROOM), Some(2), acquired_at_the_limit::<Loom>();
};

pub(crate) const ROOM: Room = Room {
    files: &[STACK, MAGAZINE, MAGAZINES, LOCK, SCAN, SEGMENTS, LIFECYCLE, TURNS, BLOCK],
    needed: NEEDED,
    kept: &[],
    tests: &["pool::"],
};

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

tests! {
    a_relaxed_lookup_does_not_see_what_was_shared => KEYS.fail_when_weakened();
}

tests_of!(ROOM);

#[test]
fn without_its_barrier_owner_and_reclaimer_are_both_inside() {
    for (barrier, within) in [
        ("light_barrier", (MAGAZINE, "Magazine::enter")),
        ("heavy_barrier", (MAGAZINES, "Magazines::gather")),
    ] {
        fails_without(
            barrier,
            within,
            Some(2),
            FieldRace,
            an_owner_and_a_trim_share_no_slot::<false>,
        );
    }
}

#[test]
fn without_its_barrier_a_release_misses_that_another_thread_waits() {
    for (barrier, within) in [
        ("light_barrier", (MAGAZINE, "Magazine::enter")),
        ("heavy_barrier", (MAGAZINES, "Magazines::close")),
    ] {
        fails_without(barrier, within, Some(3), FieldRace, released_under_a_hold::<Small>);
    }
}
