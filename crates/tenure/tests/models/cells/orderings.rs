//! The orderings of cells, each with the model that fails without it.

use super::sum::{
    LACKS, NOT_ONCE, added_in_the_place_of_another, summed_under_a_take, taken_by_two,
};
use super::{
    Late, Ordered, cloned_and_put_under_a_kill, left_while_the_last_puts,
    put_before_a_kill_elsewhere, put_by_the_killer_and_another, put_elsewhere_under_a_kill,
    put_here_under_a_kill_elsewhere, put_without_a_number_under_a_kill, two_killed_at_once,
    two_put_under_a_kill,
};
use crate::memory::{Loom, PointersInOrder};
use crate::needed::{Needed, Room, fails_without, needed, tests_of};
use crate::stage::Failure::{self, Claim, MemoryRace, ValueRace};
use crate::weakening::{File, file};

const TABLE: File = file!("src/cells/table.rs");
const REFERENCE: File = file!("src/cells/reference.rs");

const SUM: File = file!("src/cells/sum.rs");

/// A thread that sees the sum's place does not see the memory there.
const NO_NODE: Failure = Claim("it was acquired");
const BEGAN: Failure = Claim("it began with what was added to another");

const NEEDED: &[Needed] = needed! {
    TABLE "Table::own_or_grow" Release "store"
        => MemoryRace, Some(2), put_elsewhere_under_a_kill::<Ordered>();
    TABLE "Table::all" Acquire "load"
        => MemoryRace, Some(2), put_elsewhere_under_a_kill::<Ordered>();

    REFERENCE "ThreadRef::put_shared" Release "fetch_sub"
        => ValueRace, Some(2), put_by_the_killer_and_another::<Late>();
    REFERENCE "ThreadRef::put_shared" Acquire "load"
        => ValueRace, Some(2), put_by_the_killer_and_another::<Late>();
    REFERENCE "ThreadRef::add" Release "store"
        => ValueRace, Some(2), put_before_a_kill_elsewhere::<Late>();
    REFERENCE "ThreadRef::add_slowly" Release "store"
        => ValueRace, Some(2), cloned_and_put_under_a_kill::<Ordered>();
    REFERENCE "ThreadRef::sum" AcqRel "fetch_add" to Acquire
        => ValueRace, Some(2), two_put_under_a_kill::<Ordered>();
    REFERENCE "ThreadRef::sum" AcqRel "fetch_add" to Release
        => ValueRace, Some(2), put_without_a_number_under_a_kill::<Ordered>();
    REFERENCE "ThreadRef::leave" AcqRel "fetch_or" to Acquire
        => ValueRace, Some(2), left_while_the_last_puts::<Ordered>();
    REFERENCE "ThreadRef::leave" AcqRel "fetch_or" to Release
        => ValueRace, Some(2), left_while_the_last_puts::<Ordered>();
    REFERENCE "take" Acquire "compare_exchange"
        => ValueRace, Some(2), put_before_a_kill_elsewhere::<Late>();

    SUM "ThreadSum::spot" Acquire "load"
        => NO_NODE, Some(2), summed_under_a_take::<Loom>();
    SUM "ThreadSum::first_spot" Release "compare_exchange"
        => BEGAN, Some(2), added_in_the_place_of_another::<Loom>();
    SUM "ThreadSum::first_spot" Acquire "compare_exchange failing"
        => BEGAN, Some(3), added_in_the_place_of_another::<Loom>();
    SUM "ThreadSum::take" Release "compare_exchange"
        => Claim(NOT_ONCE), Some(2), taken_by_two::<Loom>();
    SUM "ThreadSum::take" Acquire "load"
        => Claim(NOT_ONCE), Some(2), taken_by_two::<Loom>();
    SUM "ThreadSum::sum" Acquire "load"
        => Claim(LACKS), Some(2), summed_under_a_take::<Loom>();
};

pub(crate) const ROOM: Room =
    Room { files: &[TABLE, REFERENCE, SUM], needed: NEEDED, kept: &[], tests: &["cells::"] };

tests_of!(ROOM);

#[test]
fn without_its_barrier_a_holder_or_the_killer_misses_the_other() {
    let slowly = put_elsewhere_under_a_kill::<Late> as fn();
    let fast = put_here_under_a_kill_elsewhere::<Late> as fn();
    let together = two_killed_at_once::<PointersInOrder> as fn();
    for (barrier, function, model) in [
        ("light_barrier", "ThreadRef::add", fast),
        ("light_barrier", "ThreadRef::add_slowly", slowly),
        ("heavy_barrier", "ThreadRef::kill", slowly),
        ("heavy_barrier", "ThreadRef::kill_all", together),
    ] {
        fails_without(barrier, (REFERENCE, function), Some(2), Claim("the value leaks"), model);
    }
}
