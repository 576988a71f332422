//! Every operation of every count, from every zone and across every border of one.
//!
//! The tables are written by hand from the description of the encoding. They cover the checklist of the kernel's
//! fault-injection tests: increment and add that overflow, from zero, and at overflow with the not-zero variants;
//! decrement and decrement-and-test to zero and below; each again from a saturated count.

use crate::faults::recorded;
use std::num::NonZeroU16;
use tenure::count::generic::{IncNotZero, RcuRef, TicketRef};
use tenure::count::{
    DEAD, GetResult, MAXREF, NOREF, ONEREF, PutResult, RELEASED, Readable, RefCount, SATURATED,
};
use tenure::fault::FaultKind::{self, ImbalancedPut, Overflow, UseAfterDeath};

/// What the `_many` columns take and give back.
const MANY: NonZeroU16 = NonZeroU16::new(3).unwrap();

/// Tickets of a count whose verdict was never contested.
const NO_TICKETS: u64 = 1 << 31;
/// Where one more might make a difference.
const OFTEN: u32 = if cfg!(miri) { 200 } else { 200_000 };

/// The outcome, the word it leaves, and the report.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Does {
    outcome: &'static str,
    word: u32,
    fault: Option<FaultKind>,
}

const fn acquired(word: u32) -> Does {
    Does { outcome: "acquired", word, fault: None }
}
const fn overflows(word: u32) -> Does {
    Does { outcome: "acquired", word, fault: Some(Overflow) }
}
const fn dead(word: u32) -> Does {
    Does { outcome: "dead", word, fault: None }
}
const fn held(word: u32) -> Does {
    Does { outcome: "still held", word, fault: None }
}
const fn imbalanced(word: u32) -> Does {
    Does { outcome: "still held", word, fault: Some(ImbalancedPut) }
}
const fn last(word: u32) -> Does {
    Does { outcome: "last", word, fault: None }
}

/// A starting word; what `read` and `is_dead` say of it; what the operations do to it.
type Row = (u32, u32, bool, [Does; 5]);

trait Tabled: RefCount {
    const DEAD: u32 = DEAD;
    const MOST: u32 = MAXREF;
    fn at(word: u32) -> Self;
    fn word(&self) -> u32;
    fn operate(&self, operation: &str) -> &'static str;
}

fn of_get(outcome: GetResult) -> &'static str {
    match outcome {
        GetResult::Acquired => "acquired",
        GetResult::Dead => "dead",
    }
}

fn of_put(outcome: PutResult) -> &'static str {
    match outcome {
        PutResult::StillHeld => "still held",
        PutResult::Last => "last",
    }
}

const OPERATIONS: [&str; 5] = ["get", "get_many", "put", "put_many", "put_last"];

fn operate<C: RefCount>(count: &C, operation: &str, readable: C::Readable<'_>) -> &'static str {
    match operation {
        "get" => of_get(count.get()),
        "get_acquire" => of_get(count.get_acquire()),
        "get_many" => of_get(count.get_many(MANY)),
        "put" => of_put(count.put(readable)),
        "put_many" => of_put(count.put_many(MANY, readable)),
        "put_last" => of_put(count.put_last(readable)),
        _ => unreachable!("{operation}"),
    }
}

impl Tabled for IncNotZero {
    const DEAD: u32 = 0;
    const MOST: u32 = 0x7FFF_FFFF;
    fn at(word: u32) -> Self {
        Self::from_raw(word)
    }
    fn word(&self) -> u32 {
        self.raw()
    }
    fn operate(&self, operation: &str) -> &'static str {
        operate(self, operation, ())
    }
}

impl Tabled for RcuRef {
    fn at(word: u32) -> Self {
        Self::from_raw(word)
    }
    fn word(&self) -> u32 {
        self.raw()
    }
    fn operate(&self, operation: &str) -> &'static str {
        // SAFETY: `self` is borrowed, and no count here is destroyed before its test ends.
        operate(self, operation, unsafe { Readable::assume() })
    }
}

impl Tabled for TicketRef {
    fn at(word: u32) -> Self {
        Self::from_raw(u64::from(word) << 32 | NO_TICKETS)
    }
    fn word(&self) -> u32 {
        (self.raw() >> 32) as u32
    }
    fn operate(&self, operation: &str) -> &'static str {
        operate(self, operation, ())
    }
}

fn does<C: Tabled>(count: &C, operation: &str) -> Does {
    let found = count.word();
    let (outcome, faults) = recorded(|| count.operate(operation));
    assert!(faults.len() <= 1, "{} {operation} at {found:#x} reported {faults:?}", C::NAME);
    for fault in &faults {
        assert_eq!(fault.count, C::NAME);
        assert_eq!(fault.address, (&raw const *count).addr());
        let found_word = if size_of::<C>() == 8 { fault.found >> 32 } else { fault.found };
        assert_eq!(found_word, u64::from(found), "a report shows the word from before");
    }
    Does { outcome, word: count.word(), fault: faults.first().map(|fault| fault.kind) }
}

fn check<C: Tabled>(table: &[Row]) {
    for &(start, read, is_dead, expected) in table {
        let what = format!("{} at {start:#010x}", C::NAME);
        assert_eq!(C::at(start).read(), read, "read of {what}");
        assert_eq!(C::at(start).is_dead(), is_dead, "is_dead of {what}");
        for (operation, expected) in OPERATIONS.into_iter().zip(expected) {
            let seen = does(&C::at(start), operation);
            assert!(seen == expected, "{operation} of {what}:\n  {seen:x?}, not\n  {expected:x?}");
        }
        let acquiring = does(&C::at(start), "get_acquire");
        assert_eq!(acquiring, expected[0], "get_acquire does as get does: {what}");
    }
}

#[test]
fn rcuref_does_in_every_zone_what_the_encoding_says() {
    const S: u32 = SATURATED;
    let dead_zone = [dead(DEAD), dead(DEAD), imbalanced(DEAD), imbalanced(DEAD), imbalanced(DEAD)];
    let saturated = [acquired(S), acquired(S), held(S), held(S), held(S)];
    #[rustfmt::skip]
    check::<RcuRef>(&[
        // One reference, two, three, four.
        (ONEREF, 1, false, [acquired(1), acquired(3), last(DEAD), imbalanced(DEAD), last(DEAD)]),
        (1, 2, false, [acquired(2), acquired(4), held(0), imbalanced(DEAD), held(0)]),
        (2, 3, false, [acquired(3), acquired(5), held(1), last(DEAD), held(1)]),
        (3, 4, false, [acquired(4), acquired(6), held(2), held(0), held(2)]),
        // The last valid values.
        (MAXREF - 3, 0x7FFF_FFFD, false, [acquired(MAXREF - 2), acquired(MAXREF), held(MAXREF - 4), held(MAXREF - 6), held(MAXREF - 4)]),
        (MAXREF - 2, 0x7FFF_FFFE, false, [acquired(MAXREF - 1), overflows(S), held(MAXREF - 3), held(MAXREF - 5), held(MAXREF - 3)]),
        (MAXREF - 1, 0x7FFF_FFFF, false, [acquired(MAXREF), overflows(S), held(MAXREF - 2), held(MAXREF - 4), held(MAXREF - 2)]),
        (MAXREF, 0x8000_0000, false, [overflows(S), overflows(S), held(MAXREF - 1), held(MAXREF - 3), held(MAXREF - 1)]),
        // Saturated. At its lower border a put is back in the live zone, and so still held.
        (MAXREF + 1, 0x8000_0001, false, [acquired(S), acquired(S), held(MAXREF), held(MAXREF - 2), held(MAXREF)]),
        (MAXREF + 3, 0x8000_0003, false, [acquired(S), acquired(S), held(S), held(MAXREF), held(S)]),
        (S - 1, S, false, saturated),
        (S, S + 1, false, saturated),
        (S + 1, S + 2, false, saturated),
        (RELEASED - 4, RELEASED - 3, false, saturated),
        // The verdict is that of the word which the operation left, so this border is crossed too.
        (RELEASED - 3, RELEASED - 2, false, [acquired(S), dead(DEAD), held(S), held(S), held(S)]),
        (RELEASED - 1, RELEASED, false, [dead(DEAD), dead(DEAD), held(S), held(S), held(S)]),
        // Dead.
        (RELEASED, 0, true, [dead(DEAD), dead(DEAD), held(S), held(S), held(S)]),
        (RELEASED + 3, 0, true, dead_zone),
        (DEAD - 1, 0, true, dead_zone),
        (DEAD, 0, true, dead_zone),
        (DEAD + 1, 0, true, dead_zone),
        (NOREF - 4, 0, true, dead_zone),
        (NOREF - 3, 0, true, dead_zone),
        (NOREF - 1, 0, true, [dead(DEAD), acquired(1), imbalanced(DEAD), imbalanced(DEAD), imbalanced(DEAD)]),
        // The verdict is pending: a get revives.
        (NOREF, 0, false, [acquired(0), acquired(2), imbalanced(DEAD), imbalanced(DEAD), imbalanced(DEAD)]),
    ]);
}

#[test]
fn ticketref_decides_from_the_zone_that_an_operation_found() {
    const S: u32 = SATURATED;
    let saturated = [acquired(S), acquired(S), held(S), held(S), held(S)];
    // A failed operation moves a dead count by that much near the middle.
    let near = |word: u32| {
        let (one, many) = (imbalanced(word - 1), imbalanced(word - 3));
        [dead(word + 1), dead(word + 3), one, many, one]
    };
    // Elsewhere it moves it back to the middle.
    let far = [dead(DEAD), dead(DEAD), imbalanced(DEAD), imbalanced(DEAD), imbalanced(DEAD)];
    #[rustfmt::skip]
    check::<TicketRef>(&[
        (ONEREF, 1, false, [acquired(1), acquired(3), last(DEAD), imbalanced(DEAD), last(DEAD)]),
        (1, 2, false, [acquired(2), acquired(4), held(0), imbalanced(DEAD), held(0)]),
        (2, 3, false, [acquired(3), acquired(5), held(1), last(DEAD), held(1)]),
        (3, 4, false, [acquired(4), acquired(6), held(2), held(0), held(2)]),
        (MAXREF - 3, 0x7FFF_FFFD, false, [acquired(MAXREF - 2), acquired(MAXREF), held(MAXREF - 4), held(MAXREF - 6), held(MAXREF - 4)]),
        (MAXREF - 2, 0x7FFF_FFFE, false, [acquired(MAXREF - 1), overflows(S), held(MAXREF - 3), held(MAXREF - 5), held(MAXREF - 3)]),
        (MAXREF - 1, 0x7FFF_FFFF, false, [acquired(MAXREF), overflows(S), held(MAXREF - 2), held(MAXREF - 4), held(MAXREF - 2)]),
        (MAXREF, 0x8000_0000, false, [overflows(S), overflows(S), held(MAXREF - 1), held(MAXREF - 3), held(MAXREF - 1)]),
        (MAXREF + 1, 0x8000_0001, false, [acquired(S), acquired(S), held(MAXREF), held(MAXREF - 2), held(MAXREF)]),
        (MAXREF + 3, 0x8000_0003, false, [acquired(S), acquired(S), held(S), held(MAXREF), held(S)]),
        (S - 1, S, false, saturated),
        (S, S + 1, false, saturated),
        (S + 1, S + 2, false, saturated),
        (RELEASED - 1, RELEASED, false, saturated),
        (RELEASED, 0, true, far),
        (DEAD - (1 << 20), 0, true, far),
        (DEAD - 1, 0, true, near(DEAD - 1)),
        (DEAD, 0, true, near(DEAD)),
        (DEAD + 1, 0, true, near(DEAD + 1)),
        (DEAD + (1 << 20), 0, true, far),
        (NOREF - 3, 0, true, far),
        (NOREF - 1, 0, true, far),
        (NOREF, 0, false, [acquired(0), acquired(2), imbalanced(DEAD), imbalanced(DEAD), imbalanced(DEAD)]),
    ]);
}

#[test]
fn inc_not_zero_never_raises_zero_and_never_wraps() {
    const S: u32 = SATURATED;
    const MAX: u32 = 0x7FFF_FFFF;
    // A get only reads a saturated word.
    let saturated = |w: u32| [acquired(w), acquired(w), held(S), held(S), held(S)];
    let dead_at = |w: u32| [dead(w), dead(w), imbalanced(0), imbalanced(0), imbalanced(0)];
    #[rustfmt::skip]
    check::<IncNotZero>(&[
        (0, 0, true, dead_at(0)),
        (1, 1, false, [acquired(2), acquired(4), last(0), imbalanced(0), last(0)]),
        (2, 2, false, [acquired(3), acquired(5), held(1), imbalanced(0), held(1)]),
        (3, 3, false, [acquired(4), acquired(6), held(2), last(0), held(2)]),
        (4, 4, false, [acquired(5), acquired(7), held(3), held(1), held(3)]),
        (MAX - 3, MAX - 3, false, [acquired(MAX - 2), acquired(MAX), held(MAX - 4), held(MAX - 6), held(MAX - 4)]),
        (MAX - 2, MAX - 2, false, [acquired(MAX - 1), overflows(S), held(MAX - 3), held(MAX - 5), held(MAX - 3)]),
        (MAX - 1, MAX - 1, false, [acquired(MAX), overflows(S), held(MAX - 2), held(MAX - 4), held(MAX - 2)]),
        (MAX, MAX, false, [overflows(S), overflows(S), held(MAX - 1), held(MAX - 3), held(MAX - 1)]),
        (MAX + 1, MAX + 1, false, saturated(MAX + 1)),
        (S - 1, S - 1, false, saturated(S - 1)),
        (S, S, false, saturated(S)),
        (S + 1, S + 1, false, saturated(S + 1)),
        (RELEASED - 1, RELEASED - 1, false, saturated(RELEASED - 1)),
        // Below zero, for as long as another thread's put takes to repair it.
        (RELEASED, 0, true, dead_at(RELEASED)),
        (DEAD, 0, true, dead_at(DEAD)),
        (u32::MAX - 1, 0, true, dead_at(u32::MAX - 1)),
        (u32::MAX, 0, true, dead_at(u32::MAX)),
    ]);
}

macro_rules! each_count {
    ($($name:ident: $test:ident;)*) => {$(
        #[test]
        fn $name() {
            $test::<IncNotZero>();
            $test::<RcuRef>();
            $test::<TicketRef>();
        }
    )*};
}

fn faults<C: Tabled>(count: &C, operations: &[&str]) -> Vec<FaultKind> {
    operations.iter().filter_map(|operation| does(count, operation).fault).collect()
}

fn overflow<C: Tabled>() {
    let operations = ["get", "get", "put", "put_many", "get_many", "put_last", "get"];
    assert_eq!(faults(&C::at(C::MOST), &operations), [Overflow]);
}

fn imbalanced_puts<C: Tabled>() {
    let count = C::new_in();
    assert_eq!(does(&count, "put").outcome, "last");
    let operations = ["put", "get", "put_many", "get_many", "put_last"];
    assert_eq!(faults(&count, &operations), [ImbalancedPut; 3]);
    assert!(count.is_dead());
}

fn gets_of_the_dead<C: Tabled>() {
    let count = C::at(C::DEAD);
    (0..OFTEN).for_each(|_| assert_eq!(does(&count, "get").outcome, "dead"));
    assert!(count.is_dead());
}

fn puts_of_the_dead<C: Tabled>() {
    let count = C::at(C::DEAD);
    for _ in 0..OFTEN {
        let put = does(&count, "put");
        assert_eq!((put.outcome, put.fault), ("still held", Some(ImbalancedPut)));
    }
    assert!(count.is_dead());
}

fn saturated<C: Tabled>() {
    for operation in OPERATIONS {
        let count = C::at(SATURATED);
        for _ in 0..OFTEN / 2 {
            let did = does(&count, operation);
            assert!(matches!(did.outcome, "acquired" | "still held"), "{operation}: {did:?}");
            assert_eq!(did.fault, None);
        }
        assert!(!count.is_dead());
    }
}

each_count! {
    an_overflow_is_reported_once_however_many_gets_and_puts_follow: overflow;
    an_imbalanced_put_is_reported_each_time: imbalanced_puts;
    a_get_on_a_dead_count_fails_and_leaves_it_dead: gets_of_the_dead;
    puts_on_a_dead_count_leave_it_dead_however_many: puts_of_the_dead;
    a_saturated_count_outlives_any_number_of_puts_and_gets: saturated;
}

#[test]
fn the_most_that_can_be_taken_at_once_stays_inside_its_zone() {
    let most = NonZeroU16::MAX;
    for start in [ONEREF, MAXREF - 1, MAXREF, SATURATED, DEAD, NOREF] {
        let ticket = TicketRef::at(start);
        let rcuref = RcuRef::at(start);
        let ((ticket_got, rcuref_got), _) =
            recorded(|| (ticket.get_many(most), rcuref.get_many(most)));
        assert_eq!(ticket_got, rcuref_got, "{start:#x}");
        assert_eq!(ticket_got, if start == DEAD { GetResult::Dead } else { GetResult::Acquired });
        assert_eq!(ticket.is_dead(), start == DEAD);
        assert_eq!(rcuref.is_dead(), start == DEAD);
    }
}

#[test]
fn a_get_that_revives_takes_a_ticket_and_nothing_else_does() {
    let tickets = |count: &TicketRef| i64::from(count.raw() as u32) - (1 << 31);
    for start in [ONEREF, 7, MAXREF, SATURATED, DEAD] {
        for operation in OPERATIONS {
            let count = TicketRef::at(start);
            recorded(|| count.operate(operation));
            assert_eq!(tickets(&count), 0, "{operation} at {start:#x}");
        }
    }
    let pending = TicketRef::at(NOREF);
    assert_eq!(pending.get(), GetResult::Acquired);
    assert_eq!(tickets(&pending), -1);
    let pending = TicketRef::at(NOREF);
    assert_eq!(pending.get_many(MANY), GetResult::Acquired);
    assert_eq!(tickets(&pending), -1, "one revival, however many references");
}

#[test]
fn a_get_by_an_owner_saturates_and_reports_as_any_get_does() {
    let count = TicketRef::at(MAXREF);
    let ((), faults) = recorded(|| count.get_held());
    assert_eq!(count.word(), SATURATED);
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].kind, Overflow);
    let ((), faults) = recorded(|| count.get_held());
    assert!(faults.is_empty());
}

#[test]
fn a_get_by_an_owner_that_cannot_be_one_is_reported_and_leaves_the_count_dead() {
    for refs in [RELEASED, DEAD, NOREF - 1] {
        let count = TicketRef::at(refs);
        let ((), faults) = recorded(|| count.get_held());
        assert_eq!(faults.len(), 1, "{refs:#x}");
        assert_eq!(faults[0].kind, UseAfterDeath);
        assert!(count.is_dead(), "{refs:#x}");
        assert_eq!(count.get(), GetResult::Dead);
    }
}

#[test]
fn a_dead_ticketref_lives_again_after_init() {
    let count = TicketRef::at(DEAD + 5);
    count.init();
    assert_eq!(count.raw(), TicketRef::new().raw());
    assert_eq!(count.get_acquire(), GetResult::Acquired);
    assert_eq!(count.put(), PutResult::StillHeld);
    assert_eq!(count.put_last(), PutResult::Last);
}

#[test]
fn the_loop_counts_no_retries_when_alone() {
    let mut retries = 0;
    for word in [0, 1, 0x7FFF_FFFF, SATURATED] {
        let count = IncNotZero::at(word);
        let (got, _) = recorded(|| count.get_counting(&mut retries));
        assert_eq!(got.is_acquired(), word != 0);
    }
    assert_eq!(retries, 0);
}
