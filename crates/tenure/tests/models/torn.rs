//! A read-modify-write of the library that is torn apart while a model runs: a load, and a store of what it comes to. The
//! protocols rest on these being one step, so with any of them torn a model fails.

use super::arc::first_downgrades;
use super::cells;
use super::cells::sum::{NOT_ONCE, taken_by_two};
use super::counts::get_put_put;
use super::memory::{InOrder, Loom, PointersInOrder};
use super::numbers::claimed_by_threads;
use super::pool::lists::one_owner_a_slot;
#[cfg(feature = "registry")]
use super::registry;
use super::revocable;
use super::stage::Failure::{Claim, FieldRace, ValueRace};
use super::stage::{ALL, fails};
use super::ticket::{freed_at_once_under_lookups, reused_under_failed_gets};
use super::weakening::{File, file, lines_of};
use std::cell::{Cell, RefCell};
use std::panic::Location;
use tenure::cells::Table;
use tenure::count::generic::TicketRef;
use tenure::pool::list::TaggedStack;
use tenure::revocable::generic::{Mask, On, Shootdown};

struct Site {
    operation: &'static str,
    /// The end of a file's path, the first line, the last.
    lines: (String, u32, u32),
}

thread_local! {
    // loom's threads are coroutines of one thread of the system.
    static TEARS: Cell<bool> = const { Cell::new(false) };
    static SITE: RefCell<Option<Site>> = const { RefCell::new(None) };
}

/// Whether the caller is to do this operation in two steps.
#[track_caller]
pub(crate) fn is_torn(operation: &str) -> bool {
    let caller = Location::caller();
    TEARS.get()
        && SITE.with_borrow(|site| {
            site.as_ref().is_some_and(|Site { operation: torn, lines: (file, first, last) }| {
                let is_there =
                    caller.file().ends_with(file) && (first..=last).contains(&&caller.line());
                *torn == operation && is_there
            })
        })
}

/// Runs `act` with the operations of that name in that function torn.
fn torn((file, function): (File, &'static str), operation: &'static str, act: impl FnOnce()) {
    SITE.set(Some(Site { operation, lines: lines_of(file, function) }));
    TEARS.set(true);
    act();
    TEARS.set(false);
}

const COUNTS: File = file!("src/arc/counts.rs");
const TICKET: File = file!("src/count/ticket/mod.rs");
const PRIVATE: File = file!("src/count/ticket/private.rs");
const NUMBERS: File = file!("src/memory/numbers.rs");
const REFERENCE: File = file!("src/cells/reference.rs");
const SUM: File = file!("src/cells/sum.rs");
const COUNTING: File = file!("src/revocable/counting.rs");
const RETIRE: File = file!("src/revocable/shootdown/retire.rs");
const SLOT: File = file!("src/revocable/shootdown/slot.rs");
const STACK: File = file!("src/pool/list/stack.rs");
#[cfg(feature = "registry")]
const ENTRY: File = file!("src/registry/entry.rs");

type Late = On<Loom, Shootdown>;
type Ordered = On<InOrder, Shootdown>;

tests! {
    two_threads_claim_one_number => torn((NUMBERS, "Numbers::claim"), "compare_exchange", || {
        fails(ALL, FieldRace, || claimed_by_threads::<Loom>(1, 2));
    });
    a_weak_is_lost_where_it_is_noted_that_the_count_is_published =>
        torn((COUNTS, "Counts::downgrade_slow"), "fetch_or", || {
            fails(Some(2), Claim("the allocation leaks"), || first_downgrades::<Loom>(1));
        });
    a_reference_is_lost_where_a_count_is_published => torn((PRIVATE, "TicketRef::publish"), "fetch_or", || {
        fails(Some(3), Claim("a holder sees no value"), || first_downgrades::<Loom>(0));
    });
    the_new_owner_of_a_slot_loses_its_reference_to_a_failed_get =>
        torn((TICKET, "TicketRef::undrift"), "compare_exchange", || {
            fails(Some(3), Claim("the new owner's reference is lost"), || reused_under_failed_gets(1));
        });
    two_puts_have_the_verdict => torn((TICKET, "TicketRef::try_verdict"), "compare_exchange", || {
        fails(Some(2), ValueRace, get_put_put::<TicketRef<Loom>>);
    });
    a_candidate_is_forgotten => torn((TICKET, "TicketRef::settle"), "compare_exchange_weak", || {
        fails(Some(2), Claim("the object is not freed exactly once"), || freed_at_once_under_lookups::<TicketRef<Loom>>(2));
    });
    two_threads_take_one_addition => torn((SUM, "ThreadSum::take"), "compare_exchange", || {
        fails(Some(2), Claim(NOT_ONCE), taken_by_two::<Loom>);
    });
    a_store_that_is_taken_back_counts_twice =>
        torn((REFERENCE, "ThreadRef::is_taken"), "compare_exchange", || {
            fails(Some(3), ValueRace, cells::put_by_the_killer_and_another::<Table<PointersInOrder>>);
        });
    the_last_two_leave_the_head_to_each_other => torn((REFERENCE, "ThreadRef::leave"), "fetch_or", || {
        fails(Some(2), Claim("the head leaks"), cells::left_while_the_last_puts::<Table<InOrder>>);
    });
    a_bit_of_a_mask_is_lost => torn((COUNTING, "Bits::add"), "fetch_or", || {
        fails(Some(2), Claim("the value leaks"), revocable::schemes::entered_and_left_by_two_workers::<On<Loom, Mask>>);
    });
    a_combiner_that_resigns_passes_over_a_request => torn((RETIRE, "RetireList::finish"), "compare_exchange", || {
        fails(Some(2), Claim("the value leaks"), revocable::ending::two_die_on_two_threads::<Late>);
    });
    a_reclaimer_donates_to_an_owner_that_has_left => torn((SLOT, "State::settle"), "compare_exchange", || {
        fails(Some(2), Claim("the value leaks"), revocable::shootdown::left_under_the_last_drop::<Ordered>);
    });
    a_slot_of_a_stack_has_two_owners => torn((STACK, "Stack::pop"), "compare_exchange_weak", || {
        fails(Some(2), FieldRace, || one_owner_a_slot::<TaggedStack<Loom>>(0));
    });
}

#[cfg(feature = "registry")]
tests! {
    two_tasks_create_one_object => torn((ENTRY, "Entry::take_turn"), "compare_exchange", || {
        fails(Some(2), FieldRace, registry::turn::two_go_on);
    });
}
