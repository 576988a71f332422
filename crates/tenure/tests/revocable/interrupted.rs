//! Every two operations of local handles and handles, with one in the middle of the other, at each of its steps
//! (`staged.rs`): what a guard shows is alive, nothing is dropped twice, and what is neither held nor used is gone.

use crate::staged::{Barriers, Staged, every_step, every_way, interrupted, with};
use crate::support::{Kind, Token, Worker};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tenure::revocable::generic::{Domain, On, Shootdown, Strong};

type Handle<S> = Strong<Token, S>;

struct Stage<S: Kind> {
    domain: Domain<Token, S>,
    worker: RefCell<Worker<Token, S>>,
    ending: Cell<Option<Handle<S>>>,
    staying: Handle<S>,
    token: Token,
    _other: Token,
    /// Whether the guard was forgotten: what it used may be there until the local handle is used again.
    forgotten: Cell<bool>,
}

/// What the owner of the local handle can do without a handle to what ends.
#[derive(Debug, Clone, Copy)]
enum Step {
    Leave,
    Kept,
    EnterOther,
    Clear,
    LocalHandle,
}

const STEPS: [Step; 5] =
    [Step::Leave, Step::Kept, Step::EnterOther, Step::Clear, Step::LocalHandle];

#[derive(Debug, Clone, Copy)]
enum Before {
    Nothing,
    Idle,
    Guard,
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
    Before::Guard,
    Before::ActiveLazily,
    Before::Forgotten,
    Before::IdleWithOther,
    Before::ActiveWithOther,
    Before::ForgottenWithOther,
    Before::Cleared,
];

impl<S: Kind> Stage<S> {
    fn new(before: Before) -> Rc<Self> {
        let domain = Domain::new_in();
        let (token, other) = (Token::new(), Token::new());
        let (ending, staying) = (domain.strong(token.clone()), domain.strong(other.clone()));
        let mut worker = Worker::new(&domain);
        let mut forgotten = false;
        if !matches!(before, Before::Nothing) {
            worker.enter(&ending);
        }
        match before {
            Before::Nothing | Before::Guard => {}
            Before::Idle => worker.leave(),
            Before::ActiveLazily => assert!(worker.kept()),
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
            Before::Cleared => worker.local().clear(),
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
            Step::Kept => _ = worker.kept(),
            Step::EnterOther => worker.enter(&self.staying),
            Step::Clear => worker.local().clear(),
            Step::LocalHandle => *worker = Worker::new(&self.domain),
        }
        if !matches!(step, Step::Leave) {
            self.forgotten.set(false);
        }
        self.look(&worker);
    }

    fn look(&self, worker: &Worker<Token, S>) {
        if let Some(value) = worker.value() {
            value.check();
        }
    }

    fn end(&self) {
        drop(self.ending.take().expect("the last handle goes once"));
    }

    /// Whether the local handle uses what has ended.
    fn is_used(&self) -> bool {
        let worker = self.worker.borrow();
        worker.value().is_some_and(|value| value.is(&self.token))
    }

    /// Checks the end. Returns whether both operations ran.
    fn check_if(&self, reached: bool, what: &str) -> bool {
        if reached {
            self.check(what);
        }
        reached
    }

    fn check(&self, what: &str) {
        self.look(&self.worker.borrow());
        let there = self.token.objects();
        assert!(there <= 1);
        if self.is_used() {
            assert_eq!(there, 1, "{what}: used and dropped");
        } else if !S::KEEPS && !self.forgotten.get() {
            assert_eq!(there, 0, "{what}: it is not used and was not dropped");
        }
        self.worker.borrow_mut().local().clear();
        assert_eq!(self.token.objects(), 0, "{what}: the local handle has let go of it");
    }
}

fn an_owner_is_interrupted_by_the_end_of_an_object<S: Kind>() {
    for (before, first) in BEFORE.into_iter().flat_map(|at| STEPS.map(|first| (at, first))) {
        every_step(|at| {
            let stage = Stage::<S>::new(before);
            let other = Rc::clone(&stage);
            let reached = interrupted(at, || stage.act(first), move || other.end());
            stage.check_if(reached, &format!("{before:?}, {first:?} interrupted at {at}"))
        });
    }
}

fn the_end_of_an_object_is_interrupted_by_an_owner<S: Kind>() {
    let steps = || [None].into_iter().chain(STEPS.map(Some));
    let pairs = || steps().flat_map(|first| steps().map(move |second| [first, second]));
    for (before, acts) in BEFORE.into_iter().flat_map(|at| pairs().map(move |acts| (at, acts))) {
        every_step(|at| {
            let stage = Stage::<S>::new(before);
            let other = Rc::clone(&stage);
            let owner = move || acts.into_iter().flatten().for_each(|step| other.act(step));
            let reached = interrupted(at, || stage.end(), owner);
            stage.check_if(reached, &format!("{before:?}, end interrupted at {at} by {acts:?}"))
        });
    }
}

fn the_end_of_an_object_is_interrupted_by_that_of_another<S: Kind>() {
    every_step(|at| {
        let domain = Domain::<Token, S>::new_in();
        let tokens = [Token::new(), Token::new()];
        let [one, other] = tokens.each_ref().map(|token| domain.strong(token.clone()));
        let mut workers = [Worker::new(&domain), Worker::new(&domain)];
        workers[0].enter(&one);
        workers[1].enter(&other);
        workers[1].leave();
        let reached = interrupted(at, || drop(one), move || drop(other));
        if reached {
            workers[0].value().unwrap().check();
            let there = tokens.each_ref().map(Token::objects);
            assert_eq!(there, if S::KEEPS { [1, 1] } else { [1, 0] }, "interrupted at {at}");
            drop(workers);
            assert_eq!(tokens.each_ref().map(Token::objects), [0, 0]);
            assert_eq!(domain.stats().retired, 2);
        }
        reached
    });
}

fn a_handle_goes_while_another_does<S: Kind>() {
    for before in BEFORE {
        every_step(|at| {
            let stage = Stage::<S>::new(before);
            let one = stage.ending.take().unwrap();
            stage.ending.set(Some(one.clone()));
            let other = Rc::clone(&stage);
            let reached = interrupted(at, || drop(one), move || other.end());
            stage.check_if(reached, &format!("{before:?}, drop interrupted at {at}"))
        });
    }
}

fn workers_come_and_go_while_others_do<S: Kind>() {
    every_way(|| {
        for at in 1.. {
            let domain = Domain::<Token, S>::new_in();
            let token = Token::new();
            let strong = domain.strong(token.clone());
            let first = domain.register();
            drop(domain.register());
            let meanwhile = (domain.clone(), strong.clone());
            let locals = RefCell::new(Vec::new());
            let kept = Rc::new(RefCell::new(None));
            let in_other = Rc::clone(&kept);
            let reached = interrupted(
                at,
                || {
                    drop(first);
                    let mut locals = locals.borrow_mut();
                    locals.extend((0..3).map(|_| domain.register()));
                    locals.iter_mut().for_each(|local| drop(local.enter(&strong)));
                },
                move || {
                    let mut local = meanwhile.0.register();
                    drop(local.enter(&meanwhile.1));
                    *in_other.borrow_mut() = Some(local);
                },
            );
            if !reached {
                break;
            }
            let mut locals = locals.into_inner();
            locals.extend(kept.take());
            let mut numbers = Vec::from_iter(locals.iter().map(|local| format!("{local:?}")));
            numbers.sort();
            numbers.dedup();
            assert_eq!(numbers.len(), 4, "interrupted at {at}: a slot has two owners");
            assert_eq!(domain.stats().local_handles, 4);
            drop(strong);
            drop(locals);
            assert_eq!((token.objects(), domain.stats().local_handles), (0, 0));
        }
    });
}

/// The control, in which heavy barriers interrupt no thread: an owner uses what was dropped, and one that leaves keeps
/// what it was given.
#[test]
fn a_heavy_barrier_that_interrupts_no_thread_is_found_out() {
    let broken = |before: Before, first: Step| {
        let fails = |at: &u32| {
            let stage = Stage::<On<Staged, Shootdown>>::new(before);
            let other = Rc::clone(&stage);
            // Not looked at: it may be gone.
            let act = || match first {
                Step::Leave => stage.worker.borrow_mut().leave(),
                _ => _ = stage.worker.borrow_mut().kept(),
            };
            let reached = interrupted(*at, act, move || other.end());
            let is_there = stage.token.objects() == 1;
            let is_used = stage.worker.borrow().value().is_some();
            if is_used && !is_there {
                // Nor left.
                stage.worker.borrow_mut().forget();
            }
            reached && is_used != is_there
        };
        (1..20).any(|at| fails(&at))
    };
    let cases = [(Before::Idle, Step::Kept), (Before::Guard, Step::Leave)];
    with(Barriers::Late, || assert!(cases.iter().all(|&(before, first)| !broken(before, first))));
    with(Barriers::Broken, || assert!(cases.iter().all(|&(before, first)| broken(before, first))));
}

claims! {
    on crate::staged::Staged:
    an_owner_is_interrupted_by_the_end_of_an_object,
    the_end_of_an_object_is_interrupted_by_an_owner,
    the_end_of_an_object_is_interrupted_by_that_of_another,
    a_handle_goes_while_another_does,
    workers_come_and_go_while_others_do,
}
