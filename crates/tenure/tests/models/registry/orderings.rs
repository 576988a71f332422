//! The orderings and barriers of the registry, each with the model that fails without it.

use super::linger;
use super::map::InFront::{Bucket, Element, Removed};
use super::map::{
    a_look_under_an_insertion, all_keys, get_11, get_12, get_nested, growth_under, insert_31,
    insertions_of_one_key, lookups_under_a_removal, removals_of_neighbours, remove_25,
    sections_in_a_row_under_a_removal,
};
use super::turn::{End, acquire_in_a_task, the_end_of_a_turn_under, what_a_dropped_create_did};
use super::{Act, acquire, acquire_unfenced, count_objects, get, meet};
use crate::memory::Loom;
use crate::needed::{Needed, Room, fails_without, needed, tests_of};
use crate::stage::Failure::{self, Claim, FieldRace, MemoryRace, ValueRace};
use crate::weakening::{File, file};
use tenure::count::generic::TicketRef;
use tenure::memory::Ordering;

const COLLECTOR: File = file!("src/registry/collector.rs");
const ENTRY: File = file!("src/registry/entry.rs");
const LINGER: File = file!("src/registry/linger.rs");
const MAP: File = file!("src/registry/map.rs");
const REGISTRY: File = file!("src/registry/mod.rs");
const STATISTICS: File = file!("src/registry/statistics.rs");
const TURN: File = file!("src/registry/turn.rs");
const WAITERS: File = file!("src/registry/waiters.rs");

type C = TicketRef<Loom>;

/// loom's word for a thread that nothing wakes.
const ASLEEP: Failure = Claim("deadlock");
const LOST: Failure = Claim("an element is lost");

fn growth() {
    growth_under(insert_31, &[20, 30, 31], 3);
}

const NEEDED: &[Needed] = needed! {
    COLLECTOR "Collector::enter" Release "store"
        => ValueRace, Some(3), sections_in_a_row_under_a_removal(get_12);
    COLLECTOR "Collector::collect" Acquire "load"
        => ValueRace, Some(2), lookups_under_a_removal(1);
    COLLECTOR "Collector::has_ended" Acquire "load"
        => ValueRace, Some(2), lookups_under_a_removal(1);
    COLLECTOR "Guard::retire" Release "store"
        => ValueRace, Some(3), sections_in_a_row_under_a_removal(remove_25);
    COLLECTOR "Guard::leave_slowly" Release "store"
        => ValueRace, Some(3), sections_in_a_row_under_a_removal(get_nested);
    COLLECTOR "Guard::leave_slowly" Release "store 2"
        => MemoryRace, Some(3), removals_of_neighbours();
    COLLECTOR "Guard::drop" Release "store"
        => ValueRace, Some(2), lookups_under_a_removal(1);

    ENTRY "Entry::is_ready" Acquire "load"
        => FieldRace, Some(2), meet::<C>(Some(acquire), [get as Act<C>], 1..=1);
    ENTRY "Entry::take_turn" Acquire "load"
        => FieldRace, Some(2), the_end_of_a_turn_under(End::Object, acquire_in_a_task);
    ENTRY "Entry::transition_to_awaited" Release "fetch_or"
        => ASLEEP, Some(2), the_end_of_a_turn_under(End::Dropped, acquire_in_a_task);
    ENTRY "Entry::finish_turn" AcqRel "fetch_or" to Acquire
        => FieldRace, Some(2), meet::<C>(Some(acquire), [get as Act<C>], 1..=1);
    ENTRY "Entry::finish_turn" AcqRel "fetch_or" to Release
        => ASLEEP, Some(2), the_end_of_a_turn_under(End::Object, acquire_in_a_task);
    ENTRY "Entry::fail_turn" AcqRel "fetch_sub" to Acquire
        => ValueRace, Some(2), what_a_dropped_create_did();
    ENTRY "Entry::fail_turn" AcqRel "fetch_sub" to Release
        => ASLEEP, Some(2), the_end_of_a_turn_under(End::Dropped, acquire_in_a_task);
    ENTRY "Entry::leave_map" Release "fetch_add"
        => Claim("subtract with overflow"), Some(2),
        meet::<C>(Some(count_objects), [acquire_unfenced as Act<C>], 1..=1);
    ENTRY "Entry::release" AcqRel "fetch_or" to Acquire
        => MemoryRace, Some(2), meet::<C>(None, [acquire as Act<C>], 1..=2);
    ENTRY "Entry::release" AcqRel "fetch_or" to Release
        => MemoryRace, Some(2), meet::<C>(None, [acquire as Act<C>], 1..=2);
    STATISTICS "Counters::live" Acquire "load"
        => Claim("subtract with overflow"), Some(2),
        meet::<C>(Some(count_objects), [acquire_unfenced as Act<C>], 1..=1);

    LINGER "swap" AcqRel "compare_exchange" to Acquire
        => FieldRace, Some(2), linger::meet::<C>(linger::trim, linger::use_and_keep, 2);
    LINGER "Ring::sweep" Release "compare_exchange"
        => MemoryRace, Some(2), linger::meet::<C>(linger::sweep, linger::trim, 1);

    MAP "Map::find" Acquire "load"
        => MemoryRace, Some(2), a_look_under_an_insertion(get_11, Bucket);
    MAP "Map::find" Acquire "load 2"
        => MemoryRace, Some(2), a_look_under_an_insertion(get_11, Element);
    MAP "Map::walk" Acquire "load"
        => MemoryRace, Some(2), a_look_under_an_insertion(all_keys, Bucket);
    MAP "Map::walk" Acquire "load 2"
        => MemoryRace, Some(2), a_look_under_an_insertion(all_keys, Element);
    MAP "Map::search" Acquire "load"
        => MemoryRace, Some(2), insertions_of_one_key(Bucket);
    MAP "Map::search" Acquire "load 2"
        => MemoryRace, Some(2), insertions_of_one_key(Element);
    MAP "Map::search" Release "compare_exchange"
        => MemoryRace, Some(2), a_look_under_an_insertion(get_11, Removed);
    MAP "hang" Release "compare_exchange"
        => MemoryRace, Some(2), a_look_under_an_insertion(get_11, Bucket);
    MAP "Map::ready" Acquire "load"
        => LOST, Some(3), growth();
    MAP "Map::split" Release "store"
        => LOST, Some(3), growth();
    MAP "Map::split" Acquire "compare_exchange failing"
        => LOST, Some(3), growth();
};

const NO_MODEL: &str =
    "as in `enter`, by a thread whose thread-locals are being destroyed: no model has one";

const LATE: &str = "it also acquires what the last owner of a place did: the thread that ends the \
    object passes fences, and loom's acquire what any thread has seen that passed something on to \
    this one";

const BETWEEN: &str = "Acquire for a turn between the look and the exchange: the look before acquires what all earlier ones did. \
     Release for a child: no model forks";

const FORKED: &str =
    "for a child, in which another thread may take a new creator for a lost one: no model forks";

const ADDED_LATE: &str = "for a waker that is added while the end of an earlier turn wakes others: for all else the state has it";

pub(crate) const ROOM: Room = Room {
    files: &[COLLECTOR, ENTRY, LINGER, MAP, REGISTRY, STATISTICS, TURN, WAITERS],
    needed: NEEDED,
    kept: &[
        ((COLLECTOR.0, "Collector::borrow", Ordering::Release, "store"), NO_MODEL),
        ((ENTRY.0, "Entry::take_turn", Ordering::AcqRel, "compare_exchange"), BETWEEN),
        ((ENTRY.0, "Entry::is_lost", Ordering::Acquire, "load"), FORKED),
        ((WAITERS.0, "Waiters::add", Ordering::Release, "compare_exchange"), ADDED_LATE),
        ((WAITERS.0, "Waiters::take", Ordering::Acquire, "compare_exchange"), ADDED_LATE),
        ((LINGER.0, "swap", Ordering::AcqRel, "compare_exchange"), LATE),
    ],
    tests: &["registry::"],
};

tests_of!(ROOM);

/// A lookup meets a removal.
const MEETINGS: [fn(); 2] =
    [|| lookups_under_a_removal(1), || meet::<C>(None, [get as Act<C>], 1..=1)];

#[test]
fn without_light_barriers_what_a_lookup_finds_is_freed() {
    for model in MEETINGS {
        let enter = (COLLECTOR, "Collector::enter");
        fails_without("light_barrier", enter, Some(2), MemoryRace, model);
    }
}

#[test]
fn without_heavy_barriers_what_a_lookup_finds_is_freed() {
    for model in MEETINGS {
        let collect = (COLLECTOR, "Collector::collect");
        fails_without("heavy_barrier", collect, Some(2), MemoryRace, model);
    }
}
