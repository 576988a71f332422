//! The orderings of the counts, of `Arc` and of thread numbers, each with the model that fails without it.

use super::{get_acquire_after_put, get_put_put, get_put_put_last};
use crate::arc::{
    born_under_upgrades, clones_drop, drop_upgrade_drop_weak, unique_under_upgrade,
    unshared_after_a_clone, weaks_counted_under_the_last_drop,
};
use crate::memory::{InOrder, Loom};
use crate::needed::{Needed, Room, needed, tests_of};
use crate::numbers::claimed_by_threads;
use crate::stage::Failure::{Claim, FieldRace, MemoryRace, ValueRace};
use crate::stage::{ALL, Failure};
use crate::ticket::{freed_at_once_by_its_holders, freed_at_once_under_lookups};
use crate::weakening::{File, file};
use tenure::count::generic::{IncNotZero, RcuRef, TicketRef};
use tenure::memory::Ordering::Acquire;

const COUNTS: File = file!("src/arc/counts.rs");
const TICKET: File = file!("src/count/ticket/mod.rs");
const PRIVATE: File = file!("src/count/ticket/private.rs");
const RCUREF: File = file!("src/count/rcuref.rs");
const INC_NOT_ZERO: File = file!("src/count/inc_not_zero.rs");
const NUMBERS: File = file!("src/memory/numbers.rs");
const MODELS: File = file!("tests/models/counts/mod.rs");

const TWO_OF_TWO: Failure = Claim("neither both Weaks nor none");

const NEEDED: &[Needed] = needed! {
    COUNTS "Counts::drop_weak" Release "fetch_sub"
        => MemoryRace, Some(2), drop_upgrade_drop_weak::<Loom>();
    COUNTS "Counts::drop_weak" Acquire "load"
        => MemoryRace, Some(2), drop_upgrade_drop_weak::<Loom>();
    COUNTS "Counts::only_common" Acquire "load"
        => MemoryRace, Some(2), drop_upgrade_drop_weak::<Loom>();
    COUNTS "Counts::is_unique" Acquire "read_with"
        => ValueRace, Some(2), unique_under_upgrade::<Loom>(0);
    COUNTS "Counts::try_lock" Acquire "compare_exchange"
        => ValueRace, Some(2), unique_under_upgrade::<Loom>(0);
    COUNTS "Counts::weak_count" Acquire "load"
        => TWO_OF_TWO, ALL, weaks_counted_under_the_last_drop();

    TICKET "TicketRef::init" Release "store"
        => ValueRace, Some(2), born_under_upgrades::<InOrder>(1);
    TICKET "TicketRef::get_acquire" Acquire "add"
        => ValueRace, Some(2), born_under_upgrades::<InOrder>(1);
    TICKET "TicketRef::put_begin" Release "fetch_sub"
        => ValueRace, Some(2), get_put_put::<TicketRef<Loom>>();
    TICKET "TicketRef::put_begin" Release "fetch_sub"
        => MemoryRace, Some(2), freed_at_once_by_its_holders::<TicketRef<Loom>>();
    TICKET "TicketRef::put_begin" Release "fetch_sub"
        => ValueRace, Some(2), clones_drop::<Loom>();
    TICKET "TicketRef::try_last" Acquire "compare_exchange"
        => ValueRace, Some(2), get_put_put_last::<TicketRef<Loom>>();
    TICKET "TicketRef::settle" Release "compare_exchange_weak"
        => MemoryRace, Some(2), freed_at_once_under_lookups::<TicketRef<Loom>>(2);
    TICKET "TicketRef::try_verdict" Acquire "compare_exchange"
        => ValueRace, Some(2), get_put_put::<TicketRef<Loom>>();

    PRIVATE "TicketRef::is_private_one" Acquire "load"
        => ValueRace, Some(2), unshared_after_a_clone::<Loom>();
    PRIVATE "TicketRef::is_private_last" Acquire "load"
        => ValueRace, Some(2), clones_drop::<Loom>();

    RCUREF "RcuRef::get_acquire" Acquire "add"
        => ValueRace, Some(2), get_acquire_after_put::<RcuRef<Loom>>();
    RCUREF "RcuRef::put_many" Release "fetch_sub"
        => ValueRace, Some(2), get_put_put::<RcuRef<Loom>>();
    RCUREF "RcuRef::put_last" Acquire "compare_exchange" under (MODELS, "get_put_put_last")
        => ValueRace, Some(2), get_put_put_last::<RcuRef<Loom>>();
    RCUREF "RcuRef::put_slow" Acquire "compare_exchange"
        => ValueRace, Some(2), get_put_put::<RcuRef<Loom>>();

    INC_NOT_ZERO "IncNotZero::get_acquire" Acquire "add"
        => ValueRace, Some(2), get_acquire_after_put::<IncNotZero<Loom>>();
    INC_NOT_ZERO "IncNotZero::put_many" Release "fetch_sub"
        => ValueRace, Some(2), get_put_put::<IncNotZero<Loom>>();
    INC_NOT_ZERO "IncNotZero::put_slow" Acquire "load"
        => ValueRace, Some(2), get_put_put::<IncNotZero<Loom>>();

    NUMBERS "Claim::drop" Release "store"
        => FieldRace, ALL, claimed_by_threads::<Loom>(1, 2);
    NUMBERS "Numbers::records" Acquire "load"
        => MemoryRace, ALL, claimed_by_threads::<Loom>(0, 2);
    NUMBERS "Numbers::claim" Release "compare_exchange"
        => MemoryRace, ALL, claimed_by_threads::<Loom>(0, 2);
    NUMBERS "Numbers::claim" Acquire "compare_exchange"
        => FieldRace, ALL, claimed_by_threads::<Loom>(1, 2);
};

/// No execution reads what they acquire, but without it having the reference is undefined behaviour.
const A_REFERENCE: &str = "the record behind is referred to, which needs its initialisation";

pub(crate) const ROOM: Room = Room {
    files: &[COUNTS, TICKET, PRIVATE, RCUREF, INC_NOT_ZERO, NUMBERS],
    needed: NEEDED,
    kept: &[
        ((NUMBERS.0, "Numbers::claim", Acquire, "load"), A_REFERENCE),
        ((NUMBERS.0, "Numbers::claim", Acquire, "compare_exchange failing"), A_REFERENCE),
    ],
    tests: &["arc::", "counts::", "numbers::", "ticket::"],
};

tests_of!(ROOM);
