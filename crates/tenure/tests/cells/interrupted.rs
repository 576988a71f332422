//! Every two operations on a count, with one in the middle of the other, at each of its steps (`staged.rs`): one put, or
//! the kill, is the last, when all references are back.

use crate::staged::{Barriers, Staged, as_thread, every_step, interrupted, with};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use tenure::cells::{Table, ThreadRef};
use tenure::count::GetResult;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Clone,
    Put,
    CloneAndPut,
    Try,
    Kill,
}

const STEPS: [Step; 5] = [Step::Clone, Step::Put, Step::CloneAndPut, Step::Try, Step::Kill];

/// What threads 0 and 1 do first: whether they have a cell, and what it counts.
#[derive(Debug, Clone, Copy)]
enum Before {
    /// No thread took a reference.
    Unheld,
    /// Thread 0 took both references.
    Nothing,
    /// Each took one.
    Own,
    /// Each took one, and gave it to the other one, who put it and took another.
    Crossed,
}

struct Stage {
    table: Table<Staged>,
    count: ThreadRef<Staged>,
    held: Cell<u32>,
    is_killed: Cell<bool>,
    /// Whether a kill has returned.
    was_killed: Cell<bool>,
    lasts: Cell<u32>,
}

// SAFETY of all: the count is of the table, an operation that puts has a reference, and `end` retires, once.
impl Stage {
    fn new(before: Before) -> Rc<Self> {
        let table = Table::new_in();
        let count = ThreadRef::new_in(&table);
        let stage = Self {
            table,
            count,
            held: Cell::new(0),
            is_killed: Cell::new(false),
            was_killed: Cell::new(false),
            lasts: Cell::new(0),
        };
        let (gets, puts): (&[_], &[_]) = match before {
            Before::Unheld => (&[], &[]),
            Before::Nothing => (&[0, 0], &[]),
            Before::Own => (&[0, 1], &[]),
            Before::Crossed => (&[0, 1, 1, 0], &[1, 0]),
        };
        gets.iter().for_each(|&thread| as_thread(Some(thread), || stage.get()));
        puts.iter().for_each(|&thread| as_thread(Some(thread), || stage.put()));
        Rc::new(stage)
    }

    fn get(&self) {
        // SAFETY: see above.
        unsafe { self.count.get(&self.table) };
        self.held.set(self.held.get() + 1);
    }

    fn put(&self) {
        self.held.set(self.held.get() - 1);
        // SAFETY: see above.
        self.note(unsafe { self.count.put(&self.table) }.is_last());
    }

    fn kill(&self) {
        self.is_killed.set(true);
        // SAFETY: see above.
        self.note(unsafe { self.count.kill(&self.table) }.is_last());
        self.was_killed.set(true);
    }

    fn try_get(&self) {
        let was_killed = self.was_killed.get();
        // SAFETY: see above.
        if unsafe { self.count.try_get(&self.table) } == GetResult::Acquired {
            assert!(!was_killed, "got after the kill");
            self.held.set(self.held.get() + 1);
        } else {
            assert!(self.is_killed.get(), "dead before the kill");
        }
    }

    fn note(&self, is_last: bool) {
        if is_last {
            assert!(self.is_killed.get() && self.held.get() == 0, "the last one is not the last");
            self.lasts.set(self.lasts.get() + 1);
        }
    }

    fn act(&self, step: Step) {
        match step {
            Step::Clone => self.get(),
            Step::Put => self.put(),
            Step::CloneAndPut => {
                self.get();
                self.put();
            }
            Step::Try => self.try_get(),
            Step::Kill => self.kill(),
        }
    }

    /// Gives all references back, and uses the place for another count.
    fn end(&self) {
        for thread in [0, 1].into_iter().cycle().take(self.held.get() as usize) {
            as_thread(Some(thread), || self.put());
        }
        if !self.is_killed.get() {
            self.kill();
        }
        assert_eq!(self.lasts.get(), 1, "one is the last");
        self.kill();
        // SAFETY: see above.
        unsafe { self.count.retire(&self.table) };

        let next = ThreadRef::new_in(&self.table);
        // SAFETY: see above.
        unsafe {
            for thread in [0, 1] {
                as_thread(Some(thread), || next.get(&self.table));
            }
            as_thread(None, || next.get(&self.table));
            assert!(!next.kill(&self.table).is_last(), "three references are left");
            assert!(!as_thread(Some(1), || next.put(&self.table)).is_last());
            assert!(!as_thread(Some(0), || next.put(&self.table)).is_last());
            assert!(next.put(&self.table).is_last());
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Pair {
    before: Before,
    first: Step,
    second: Step,
    /// Of the second.
    thread: Option<usize>,
}

impl Pair {
    fn all() -> impl Iterator<Item = Self> {
        let pairs = STEPS.into_iter().flat_map(|first| STEPS.map(|second| (first, second)));
        let all = pairs.flat_map(|(first, second)| {
            [Before::Unheld, Before::Nothing, Before::Own, Before::Crossed].into_iter().flat_map(
                move |before| [Some(1), None].map(|thread| Self { before, first, second, thread }),
            )
        });
        all.filter(|pair| pair.are_allowed())
    }

    /// Without a reference a thread can only try to get one.
    fn are_allowed(self) -> bool {
        let is_allowed = |step| matches!(step, Step::Try | Step::Kill);
        !matches!(self.before, Before::Unheld)
            || [self.first, self.second].into_iter().all(is_allowed)
    }

    /// Whether the first operation has that step.
    fn run(self, at: u32) -> bool {
        let Self { before, first, second, thread } = self;
        let stage = Stage::new(before);
        let other = Rc::clone(&stage);
        let act = move || as_thread(thread, || other.act(second));
        let reached = interrupted(at, || stage.act(first), act);
        if reached {
            stage.end();
        }
        assert!(reached || at > 2, "{self:?} has no steps");
        reached
    }
}

#[test]
fn one_is_the_last_whatever_comes_between() {
    for pair in Pair::all() {
        every_step(|at| pair.run(at));
    }
}

#[test]
fn a_kill_that_interrupts_no_thread_loses_a_reference() {
    let all = || Pair::all().for_each(|pair| assert!((1..).any(|at| !pair.run(at))));
    let failed = catch_unwind(AssertUnwindSafe(|| with(Barriers::Broken, all)));
    assert!(failed.is_err(), "the test is blind to late stores");
}
