//! What happens before what, by the orderings that an algorithm asks for and by nothing else.
//!
//! A light barrier of the real machine is nothing to the processor, so what an algorithm passes on has to be released
//! and acquired all the same. loom's fences, which stand for both barriers, hide that: what is stored after one is
//! released, and what is loaded before one is acquired. So on [`InOrder`](super::memory::InOrder), where each access
//! sees the latest one to its word, vector clocks that ignore barriers judge as loom does (see
//! [`memory`](super::memory)), in models that ask for it ([`judge`]). A model that relies on a pair of barriers to pass
//! something on has to fail.
//!
//! loom takes additions to a count in the order in which they run. If nothing orders a put after the get whose
//! reference it gives back, a machine may let the put come first, and then it is the last one. So models in which all
//! gets are by holders ([`counts_are_held`]) ask of each put whether it would be the last one after only what happens
//! before it.

use std::any::TypeId;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use tenure::memory::{Memory, Ordering};

/// Threads of a model.
const THREADS: usize = 8;

/// Of each thread: how many of its steps happened before.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clock([u32; THREADS]);

impl Clock {
    fn join(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, its)| *mine = its.max(*mine));
    }

    fn is_before(self, other: Self) -> bool {
        self.0.iter().zip(other.0).all(|(mine, its)| *mine <= its)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    thread: usize,
    number: u32,
}

impl Step {
    /// Before all others, where clocks are not kept: loom is slow to say which thread this is.
    pub(crate) fn next() -> Self {
        if !JUDGES.get() {
            return Self { thread: 0, number: 0 };
        }
        let (step, _) = Self::begin();
        step
    }

    fn begin() -> (Self, Clock) {
        NOW.with(|now| {
            let Now { thread, mut clock } = now.get();
            clock.0[thread] += 1;
            now.set(Now { thread, clock });
            (Self { thread, number: clock.0[thread] }, clock)
        })
    }

    fn is_before(self, clock: Clock) -> bool {
        self.number <= clock.0[self.thread]
    }
}

#[derive(Default, Clone, Copy)]
struct Now {
    thread: usize,
    clock: Clock,
}

struct Record {
    /// Its first step. Another one at the same address is another word.
    made: Step,
    /// What an acquire of the word acquires.
    released: Clock,
    /// The last steps there: all of a word, or the reads of a field.
    touched: Clock,
    /// Of a field.
    written: Clock,
    /// A count's first value, and what was added to it.
    first: u64,
    added: Vec<(Step, u64)>,
}

loom::thread_local! {
    static NOW: Cell<Now> = Cell::new(Now::default());
}

thread_local! {
    // loom's threads are coroutines of one thread of the system.
    static RECORDS: RefCell<HashMap<usize, Record>> = RefCell::default();
    static STARTED: Cell<usize> = const { Cell::new(0) };
    static JUDGES: Cell<bool> = const { Cell::new(false) };
    static COUNTS_ARE_HELD: Cell<bool> = const { Cell::new(false) };
}

pub(crate) fn begin() {
    RECORDS.with_borrow_mut(HashMap::clear);
    STARTED.set(0);
    JUDGES.set(false);
    COUNTS_ARE_HELD.set(false);
}

/// From here on keeps clocks, and judges accesses by them: in models all of whose words are on `M`, if that is
/// [`InOrder`](super::memory::InOrder). The calling thread is the only one that runs.
pub(crate) fn judge<M: Memory>() {
    JUDGES.set(TypeId::of::<M>() == TypeId::of::<super::memory::InOrder>());
    if JUDGES.get() {
        NOW.with(|now| now.set(Now { thread: STARTED.get(), clock: Clock::default() }));
    }
}

/// In this model each get of a [`TicketRef`](tenure::count::generic::TicketRef) is made by a holder.
pub(crate) fn counts_are_held() {
    COUNTS_ARE_HELD.set(true);
}

/// The clock that a new thread starts with.
pub(crate) fn spawning() -> Clock {
    if JUDGES.get() { Step::begin().1 } else { Clock::default() }
}

pub(crate) fn spawned(clock: Clock) {
    STARTED.set(STARTED.get() + 1);
    if !JUDGES.get() {
        return;
    }
    NOW.with(|now| now.set(Now { thread: STARTED.get(), clock }));
}

/// This thread has waited for one that ended so.
pub(crate) fn joined(ended: Clock) {
    if !JUDGES.get() {
        return;
    }
    NOW.with(|now| {
        let mut joined = now.get();
        joined.clock.join(ended);
        now.set(joined);
    });
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Access {
    Load,
    Store,
    Change { old: u64, new: u64 },
}

fn acquires(order: Ordering) -> bool {
    matches!(order, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
}

fn releases(order: Ordering) -> bool {
    matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
}

fn with_record<R>(
    address: usize,
    made: Step,
    clock: Clock,
    act: impl FnOnce(&mut Record) -> R,
) -> R {
    assert!(made.is_before(clock), "Causality violation: Concurrent use of what is being made");
    RECORDS.with_borrow_mut(|records| {
        let new = || Record {
            made,
            released: Clock::default(),
            touched: Clock::default(),
            written: Clock::default(),
            first: 0,
            added: Vec::new(),
        };
        let record = records.entry(address).or_insert_with(new);
        if record.made != made {
            *record = new();
        }
        act(record)
    })
}

/// Immediately after an access to a word.
pub(crate) fn accessed(address: usize, made: Step, access: Access, order: Ordering) {
    if !JUDGES.get() {
        return;
    }
    let (step, clock) = Step::begin();
    let acquired = with_record(address, made, clock, |record| {
        record.touched.0[step.thread] = step.number;
        let acquired = record.released;
        match access {
            Access::Load => {}
            Access::Store => {
                record.released = if releases(order) { clock } else { Clock::default() };
                record.added.clear();
            }
            Access::Change { old, new } => {
                if releases(order) {
                    record.released.join(clock);
                }
                if record.added.is_empty() {
                    record.first = old;
                }
                record.added.push((step, new.wrapping_sub(old)));
            }
        }
        acquired
    });
    if acquires(order) && !matches!(access, Access::Store) {
        joined(acquired);
    }
}

/// Immediately after a subtraction, which [`accessed`] has recorded, from a word that is a count if it is negative when
/// no reference is left.
pub(crate) fn subtracted(address: usize, left: u64) {
    if !JUDGES.get() || !COUNTS_ARE_HELD.get() {
        return;
    }
    let clock = NOW.with(Cell::get).clock;
    let least = RECORDS.with_borrow(|records| {
        let record = &records[&address];
        let before = record.added.iter().filter(|(step, _)| step.is_before(clock));
        before.fold(record.first, |value, (_, added)| value.wrapping_add(*added))
    });
    let is_last = |value: u64| (value as i64) < 0;
    assert!(
        is_last(left) || !is_last(least),
        "Causality violation: Concurrent put and the get before it"
    );
}

pub(crate) fn freed(address: usize, made: Step) {
    if !JUDGES.get() {
        return;
    }
    let (_, clock) = Step::begin();
    let touched = with_record(address, made, clock, |record| record.touched);
    RECORDS.with_borrow_mut(|records| records.remove(&address));
    assert!(touched.is_before(clock), "Causality violation: Concurrent use and free");
}

pub(crate) fn field(address: usize, made: Step, writes: bool) {
    if !JUDGES.get() {
        return;
    }
    let (step, clock) = Step::begin();
    let is_ordered = with_record(address, made, clock, |record| {
        let Record { touched, written, .. } = record;
        let is_ordered = written.is_before(clock) && (!writes || touched.is_before(clock));
        let of = if writes { written } else { touched };
        of.0[step.thread] = step.number;
        is_ordered
    });
    assert!(is_ordered, "Causality violation: Concurrent read and write, by the orderings alone");
}

mod calibration {
    use super::*;
    use crate::memory::{InOrder, Loom};
    use crate::stage::Failure::{Claim, ValueRace};
    use crate::stage::{ALL, Heap, Value, fails, passes, spawn};
    use tenure::count::generic::TicketRef;
    use tenure::memory::Atomic;

    /// A thread writes a value and says so with `say`, after a barrier; this one reads it when `hear` finds that.
    fn told_after_a_barrier<M: Memory>(say: Ordering, hear: Ordering) {
        judge::<M>();
        let told = Heap::new((Value::new(1), M::AtomicU32::new(0)));
        let thread = {
            let told = told.clone();
            spawn(move || {
                told.0.write(2);
                M::heavy_barrier();
                told.1.store(1, say);
            })
        };
        if told.1.load(hear) == 1 {
            assert_eq!(told.0.look(), 2);
        }
        thread.join().unwrap();
        told.0.look();
    }

    #[test]
    fn what_is_released_and_acquired_passes() {
        passes(ALL, || told_after_a_barrier::<InOrder>(Ordering::Release, Ordering::Acquire));
    }

    #[test]
    fn a_barrier_releases_nothing() {
        passes(ALL, || told_after_a_barrier::<Loom>(Ordering::Relaxed, Ordering::Acquire));
        let relaxed = || told_after_a_barrier::<InOrder>(Ordering::Relaxed, Ordering::Acquire);
        fails(ALL, ValueRace, relaxed);
    }

    #[test]
    fn what_is_not_acquired_is_a_race() {
        let relaxed = || told_after_a_barrier::<InOrder>(Ordering::Release, Ordering::Relaxed);
        fails(ALL, ValueRace, relaxed);
    }

    #[test]
    fn a_relaxed_store_passes_on_nothing_that_was_released_before_it() {
        let told = |again: fn(&<InOrder as Memory>::AtomicU32)| {
            judge::<InOrder>();
            let told = Heap::new((Value::new(1), <InOrder as Memory>::AtomicU32::new(0)));
            let thread = {
                let told = told.clone();
                spawn(move || {
                    told.0.write(2);
                    told.1.store(1, Ordering::Release);
                    again(&told.1);
                })
            };
            if told.1.load(Ordering::Acquire) == 2 {
                told.0.look();
            }
            thread.join().unwrap();
        };
        passes(ALL, move || told(|word| _ = word.fetch_add(1, Ordering::Relaxed)));
        fails(ALL, ValueRace, move || told(|word| word.store(2, Ordering::Relaxed)));
    }

    /// A holder gives a reference away, and another thread puts it.
    fn given_away<M: Memory>(give: Ordering, take: Ordering) {
        judge::<M>();
        counts_are_held();
        let shared = Heap::new((TicketRef::<M>::new_in(), M::AtomicU32::new(0)));
        let thread = {
            let shared = shared.clone();
            spawn(move || {
                if shared.1.load(take) == 1 {
                    assert!(!shared.0.put().is_last(), "the other one has a reference");
                }
            })
        };
        shared.0.get_held();
        shared.1.store(1, give);
        thread.join().unwrap();
    }

    const BEFORE_ITS_GET: &str = "Concurrent put and the get before it";

    #[test]
    fn a_put_that_may_come_before_its_get_is_found_out() {
        passes(ALL, || given_away::<InOrder>(Ordering::Release, Ordering::Acquire));
        passes(ALL, || given_away::<Loom>(Ordering::Relaxed, Ordering::Relaxed));
        let [given, taken] = [
            || given_away::<InOrder>(Ordering::Relaxed, Ordering::Acquire),
            || given_away::<InOrder>(Ordering::Release, Ordering::Relaxed),
        ];
        fails(ALL, Claim(BEFORE_ITS_GET), given);
        fails(ALL, Claim(BEFORE_ITS_GET), taken);
    }
}
