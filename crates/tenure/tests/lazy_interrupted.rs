//! Every two operations of seats and handles, with one in the middle of the other, at each of its steps.
//!
//! See `lazies/staged.rs` for how. What is checked: what a guard shows is alive, nothing is dropped twice, and what
//! nobody has any more is gone.
#![cfg(feature = "std")]

mod lazies;

use lazies::staged::{Barriers, Staged, every_way, interrupted, with};
use lazies::{Kind, Token, Worker};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tenure::lazy::{Context, Domain, Shootdown};

type Handle<S> = Context<Token, S, Staged>;

/// A seat, an object that ends, and one that stays.
struct Stage<S: Kind<Staged>> {
    domain: Domain<Token, S, Staged>,
    worker: RefCell<Worker<Token, S, Staged>>,
    ending: Cell<Option<Handle<S>>>,
    staying: Handle<S>,
    /// Says whether the one that ends is there.
    token: Token,
    _other: Token,
    /// Whether the seat's guard was forgotten: what it used may be there until the seat is used again.
    forgotten: Cell<bool>,
}

/// What the owner of the seat can do without a handle to what ends.
#[derive(Debug, Clone, Copy)]
enum Step {
    Leave,
    Lazy,
    EnterOther,
    Clear,
    /// Gives the seat back, and takes one.
    Seat,
}

const STEPS: [Step; 5] = [Step::Leave, Step::Lazy, Step::EnterOther, Step::Clear, Step::Seat];

/// How the seat stands when the other operation begins.
#[derive(Debug, Clone, Copy)]
enum Before {
    Nothing,
    Idle,
    Active,
    ActiveLazily,
    Forgotten,
    IdleWithOther,
    ActiveWithOther,
    ForgottenWithOther,
    Cleared,
}

const BEFORE: [Before; 9] = [
    Before::Nothing,
    Before::Idle,
    Before::Active,
    Before::ActiveLazily,
    Before::Forgotten,
    Before::IdleWithOther,
    Before::ActiveWithOther,
    Before::ForgottenWithOther,
    Before::Cleared,
];

impl<S: Kind<Staged>> Stage<S> {
    fn new(before: Before) -> Rc<Self> {
        let domain = Domain::new_in();
        let (token, other) = (Token::new(), Token::new());
        let (ending, staying) = (domain.context(token.clone()), domain.context(other.clone()));
        let mut worker = Worker::new(&domain);
        let mut forgotten = false;
        if !matches!(before, Before::Nothing) {
            worker.enter(&ending);
        }
        match before {
            Before::Nothing | Before::Active => {}
            Before::Idle => worker.leave(),
            Before::ActiveLazily => assert!(worker.lazy()),
            Before::Forgotten => (forgotten, _) = (true, worker.forget()),
            Before::IdleWithOther => {
                worker.enter(&staying);
                worker.leave();
            }
            Before::ActiveWithOther => worker.enter(&staying),
            Before::ForgottenWithOther => {
                worker.enter(&staying);
                worker.forget();
            }
            Before::Cleared => worker.seat().clear(),
        }
        Rc::new(Self {
            domain,
            worker: RefCell::new(worker),
            ending: Cell::new(Some(ending)),
            staying,
            token,
            _other: other,
            forgotten: Cell::new(forgotten),
        })
    }

    fn act(&self, step: Step) {
        let mut worker = self.worker.borrow_mut();
        match step {
            Step::Leave => worker.leave(),
            Step::Lazy => _ = worker.lazy(),
            Step::EnterOther => worker.enter(&self.staying),
            Step::Clear => worker.seat().clear(),
            Step::Seat => *worker = Worker::new(&self.domain),
        }
        if !matches!(step, Step::Leave) {
            self.forgotten.set(false);
        }
        self.look(&worker);
    }

    fn look(&self, worker: &Worker<Token, S, Staged>) {
        if let Some(value) = worker.value() {
            value.check();
        }
    }

    fn end(&self) {
        drop(self.ending.take().expect("the last handle goes once"));
    }

    /// Whether the seat uses what has ended.
    fn is_used(&self) -> bool {
        let worker = self.worker.borrow();
        worker.value().is_some_and(|value| value.is(&self.token))
    }

    /// After both operations.
    fn check(&self, what: &str) {
        self.look(&self.worker.borrow());
        let there = self.token.objects();
        assert!(there <= 1);
        if self.is_used() {
            assert_eq!(there, 1, "{what}: used and dropped");
        } else if !S::KEEPS && !self.forgotten.get() {
            assert_eq!(there, 0, "{what}: nobody has it and it was not dropped");
        }
        self.worker.borrow_mut().seat().clear();
        assert_eq!(self.token.objects(), 0, "{what}: the seat has let go of it");
    }
}

fn an_owner_is_interrupted_by_the_end_of_an_object<S: Kind<Staged>>() {
    every_way(|| {
        for before in BEFORE {
            for first in STEPS {
                for at in 1.. {
                    let stage = Stage::<S>::new(before);
                    let other = Rc::clone(&stage);
                    let reached = interrupted(at, || stage.act(first), move || other.end());
                    if !reached {
                        break;
                    }
                    stage.check(&format!("{before:?}, {first:?} interrupted at {at}"));
                }
            }
        }
    });
}

fn the_end_of_an_object_is_interrupted_by_an_owner<S: Kind<Staged>>() {
    every_way(|| {
        let none = [None];
        let steps = || none.into_iter().chain(STEPS.map(Some));
        for before in BEFORE {
            for (first, second) in
                steps().flat_map(|first| steps().map(move |second| (first, second)))
            {
                for at in 1.. {
                    let stage = Stage::<S>::new(before);
                    let other = Rc::clone(&stage);
                    let reached = interrupted(
                        at,
                        || stage.end(),
                        move || {
                            [first, second].into_iter().flatten().for_each(|step| other.act(step));
                        },
                    );
                    if !reached {
                        break;
                    }
                    stage.check(&format!(
                        "{before:?}, end interrupted at {at} by {first:?}, {second:?}"
                    ));
                }
            }
        }
    });
}

/// Two objects end at once, one of them that a seat uses and one that it keeps.
fn the_end_of_an_object_is_interrupted_by_that_of_another<S: Kind<Staged>>() {
    every_way(|| {
        for at in 1.. {
            let domain = Domain::<Token, S, Staged>::new_in();
            let tokens = [Token::new(), Token::new()];
            let [one, other] = tokens.each_ref().map(|token| domain.context(token.clone()));
            let mut workers = [Worker::new(&domain), Worker::new(&domain)];
            workers[0].enter(&one);
            workers[1].enter(&other);
            workers[1].leave();
            let reached = interrupted(at, || drop(one), move || drop(other));
            if !reached {
                break;
            }
            workers[0].value().unwrap().check();
            let there = tokens.each_ref().map(Token::objects);
            assert_eq!(there, if S::KEEPS { [1, 1] } else { [1, 0] }, "interrupted at {at}");
            drop(workers);
            assert_eq!(tokens.each_ref().map(Token::objects), [0, 0]);
            assert_eq!(domain.statistics().ended, 2);
        }
    });
}

/// Handles of two threads go; one is the last.
fn a_handle_goes_while_another_does<S: Kind<Staged>>() {
    every_way(|| {
        for before in BEFORE {
            for at in 1.. {
                let stage = Stage::<S>::new(before);
                let one = stage.ending.take().unwrap();
                stage.ending.set(Some(one.clone()));
                let other = Rc::clone(&stage);
                if !interrupted(at, || drop(one), move || other.end()) {
                    break;
                }
                stage.check(&format!("{before:?}, drop interrupted at {at}"));
            }
        }
    });
}

/// A seat is taken, and given back, while others are.
fn seats_come_and_go_while_others_do<S: Kind<Staged>>() {
    every_way(|| {
        for at in 1.. {
            let domain = Domain::<Token, S, Staged>::new_in();
            let token = Token::new();
            let context = domain.context(token.clone());
            let first = domain.seat();
            drop(domain.seat());
            let meanwhile = (domain.clone(), context.clone());
            let seats = RefCell::new(Vec::new());
            let kept = Rc::new(RefCell::new(None));
            let in_other = Rc::clone(&kept);
            let reached = interrupted(
                at,
                || {
                    drop(first);
                    let mut seats = seats.borrow_mut();
                    seats.extend((0..3).map(|_| domain.seat()));
                    seats.iter_mut().for_each(|seat| drop(seat.enter(&context)));
                },
                move || {
                    let mut seat = meanwhile.0.seat();
                    drop(seat.enter(&meanwhile.1));
                    *in_other.borrow_mut() = Some(seat);
                },
            );
            if !reached {
                break;
            }
            let mut seats = seats.into_inner();
            seats.extend(kept.take());
            let mut numbers = Vec::from_iter(seats.iter().map(|seat| format!("{seat:?}")));
            numbers.sort();
            numbers.dedup();
            assert_eq!(numbers.len(), 4, "interrupted at {at}: a slot has two owners");
            assert_eq!(domain.statistics().seats, 4);
            drop(context);
            drop(seats);
            assert_eq!((token.objects(), domain.statistics().seats), (0, 0));
        }
    });
}

/// The control: with heavy barriers that interrupt nobody an owner uses what was dropped, and one that leaves keeps what
/// it was given.
#[test]
fn a_heavy_barrier_that_interrupts_nobody_is_found_out() {
    let broken = |before: Before, first: Step| {
        let fails = |at: &u32| {
            let stage = Stage::<Shootdown>::new(before);
            let other = Rc::clone(&stage);
            // What is used is not looked at: it may be gone.
            let act = || match first {
                Step::Leave => stage.worker.borrow_mut().leave(),
                _ => _ = stage.worker.borrow_mut().lazy(),
            };
            let reached = interrupted(*at, act, move || other.end());
            let is_there = stage.token.objects() == 1;
            let is_used = stage.worker.borrow().value().is_some();
            if is_used && !is_there {
                // It is not to be left, either.
                stage.worker.borrow_mut().forget();
            }
            reached && is_used != is_there
        };
        (1..20).any(|at| fails(&at))
    };
    let cases = [(Before::Idle, Step::Lazy), (Before::Active, Step::Leave)];
    with(Barriers::Late, || assert!(cases.iter().all(|&(before, first)| !broken(before, first))));
    with(Barriers::Broken, || assert!(cases.iter().all(|&(before, first)| broken(before, first))));
}

claims! {
    an_owner_is_interrupted_by_the_end_of_an_object,
    the_end_of_an_object_is_interrupted_by_an_owner,
    the_end_of_an_object_is_interrupted_by_that_of_another,
    a_handle_goes_while_another_does,
    seats_come_and_go_while_others_do,
}
