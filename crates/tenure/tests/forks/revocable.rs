//! Domains and `RcuCell`, which other threads were in the middle of.

use crate::children::{forked_under_use, in_child, in_thread, while_another_waits};
use crate::stopping::{Stopping, stop_in_the_next_barrier, while_another_is_in_a_barrier};
use crate::support::{Kind, Token, Worker};
use std::cell::{Cell, RefCell};
use tenure::revocable::generic::{Counted, Domain, Mask, On, RcuCell, Shootdown, Strong, Verified};

const FORKS: usize = 120;

/// What the thread that forks has, and takes apart in the child: a copy, so the parent keeps its own.
struct Mine<S: Kind> {
    domain: Domain<Token, S>,
    /// Used by this thread alone.
    alone: RefCell<Worker<Token, S>>,
    tokens: [Token; 4],
    /// Handles to objects: one that `alone` uses, one that another local handle keeps, one that another uses, one that
    /// all enter.
    used_here: Cell<Option<Strong<Token, S>>>,
    idle_there: Cell<Option<Strong<Token, S>>>,
    used_there: Cell<Option<Strong<Token, S>>>,
    by_all: Strong<Token, S>,
}

fn use_the_domain<S: Kind>(domain: &Domain<Token, S>) {
    let token = Token::new();
    let mut locals = [(); 3].map(|()| domain.register());
    for _ in 0..3 {
        let strongs = Vec::from_iter((0..4).map(|_| domain.strong(token.clone())));
        for (local, strong) in locals.iter_mut().zip(&strongs) {
            drop(local.enter(strong));
            local.kept().expect("there is a handle").check();
        }
        let guard = locals[0].enter(&strongs[3]);
        domain.drop_all(strongs);
        guard.check();
        drop(guard);
        locals.iter_mut().for_each(tenure::revocable::generic::LocalHandle::clear);
        assert_eq!(token.objects(), 0, "an object of the child leaks");
    }
    let last = domain.strong(token.clone());
    drop(locals[1].enter(&last));
    let theirs = domain.clone();
    in_thread(move || {
        drop(theirs.register().enter(&last));
        drop(last);
    });
    assert_eq!(token.objects(), usize::from(S::KEEPS), "it is not used");
    drop(locals);
    assert_eq!(token.objects(), 0);
}

impl<S: Kind> Mine<S> {
    fn new() -> Self {
        let domain = Domain::new_in();
        let tokens = [(); 4].map(|()| Token::new());
        let [used_here, idle_there, used_there, by_all] =
            tokens.each_ref().map(|token| domain.strong(token.clone()));
        let mut alone = Worker::new(&domain);
        alone.enter(&used_here);
        Self {
            domain,
            alone: RefCell::new(alone),
            tokens,
            used_here: Cell::new(Some(used_here)),
            idle_there: Cell::new(Some(idle_there)),
            used_there: Cell::new(Some(used_there)),
            by_all,
        }
    }

    /// In the child.
    fn go_on(&self) {
        let [used_here, idle_there, used_there, by_all] = &self.tokens;
        let mut alone = self.alone.borrow_mut();
        drop(self.used_here.take());
        alone.value().expect("it is used").check();
        alone.leave();
        alone.enter(&self.by_all);
        assert_eq!(used_here.objects(), 0);
        drop(self.idle_there.take());
        assert_eq!(
            idle_there.objects(),
            usize::from(S::KEEPS),
            "a lost thread's local handle is idle"
        );
        drop(self.used_there.take());
        assert!(used_there.objects() == 1, "that the thread is lost is not known");
        assert!(by_all.objects() == 1 && alone.value().is_some_and(|value| value.is(by_all)));
        use_the_domain(&self.domain);
        alone.leave();
    }
}

// SAFETY: the cells are used by the thread that forks alone.
unsafe impl<S: Kind> Sync for Mine<S> {}

/// What a thread does until it is stopped, or a fork loses it: each of it may be cut short.
fn work<S: Kind>(mine: &Mine<S>, token: &Token, goes_on: &dyn Fn() -> bool) {
    let mut locals = [(); 2].map(|()| mine.domain.register());
    let mut turn = 0;
    while goes_on() {
        turn += 1;
        let strong = mine.domain.strong(token.clone());
        drop(locals[0].enter(&strong));
        let guard = locals[1].enter(&strong);
        drop(strong);
        guard.check();
        drop(guard);
        drop(locals[1].kept());
        locals[0].enter(&mine.by_all).check();
        if turn % 8 == 0 {
            let many = Vec::from_iter((0..4).map(|_| mine.domain.strong(token.clone())));
            drop(locals[0].enter(&many[0]));
            mine.domain.drop_all(many);
        }
        if turn % 16 == 0 {
            locals = [(); 2].map(|()| mine.domain.register());
        }
    }
}

/// Forks while threads enter, leave and end objects, and one sleeps on what its local handles have.
fn a_child_goes_on_with_a_domain_that_other_threads_were_in<S: Kind>() {
    let mut mine = Mine::<S>::new();
    let worked_on = Token::new();
    let mut locals = [&mine.idle_there, &mine.used_there].map(|cell| {
        let (mut worker, strong) = (Worker::new(&mine.domain), cell.take());
        worker.enter(strong.as_ref().expect("it is there"));
        cell.set(strong);
        worker
    });
    locals[0].leave();
    let sleep = move |waits: &(dyn Fn() + Sync)| {
        waits();
        locals[1].value().expect("it is used").check();
    };
    let work = |_, goes_on: &dyn Fn() -> bool| work(&mine, &worked_on, goes_on);
    while_another_waits(sleep, || forked_under_use(2, FORKS, work, || in_child(|| mine.go_on())));
    // The parent has lost nothing.
    let tokens = std::mem::replace(&mut mine.tokens, [(); 4].map(|()| Token::new()));
    drop(mine);
    let there = tokens.each_ref().map(Token::objects);
    assert_eq!((there, worked_on.objects()), ([0; 4], 0), "objects of the parent leak");
}

tests! {
    a_child_goes_on_with_what_ends_by_shootdown =>
        a_child_goes_on_with_a_domain_that_other_threads_were_in::<Shootdown>(),
        a_child_goes_on_with_a_domain_that_other_threads_were_in::<Verified>();
    a_child_goes_on_with_what_ends_by_counts =>
        a_child_goes_on_with_a_domain_that_other_threads_were_in::<Counted>(),
        a_child_goes_on_with_a_domain_that_other_threads_were_in::<Mask>();
}

#[test]
fn a_child_goes_on_with_what_other_threads_read_and_stored() {
    let token = Token::new();
    let cached = RcuCell::<_>::new_in(token.clone());
    let work = |_, goes_on: &dyn Fn() -> bool| {
        let mut reader = cached.reader();
        while goes_on() {
            let mine = reader.load();
            cached.store(token.clone());
            let outer = cached.load();
            cached.rcu(Token::clone);
            cached.load().check();
            outer.check();
            mine.check();
        }
    };
    let reader = RefCell::new(cached.reader());
    forked_under_use(3, FORKS, work, || {
        let mut reader = reader.borrow_mut();
        let (mine, threads) = (reader.load(), cached.load());
        in_child(|| {
            mine.check();
            threads.check();
            let values = [(); 3].map(|()| Token::new());
            cached.store(values[0].clone());
            let (nested, mut other) = (cached.load(), cached.reader());
            cached.store(values[1].clone());
            assert!(nested.is(&values[0]) && other.load().is(&values[1]));
            drop(nested);
            cached.rcu(|_| values[2].clone());
            let mut is_newest = || cached.load().is(&values[2]) && other.load().is(&values[2]);
            assert!(in_thread(&mut is_newest));
            assert_eq!(values.each_ref().map(Token::objects), [0, 0, 1]);
        });
    });
    drop((reader, cached));
    assert_eq!(token.objects(), 0, "values of the parent leak");
}

#[test]
fn a_child_ends_objects_although_a_lost_thread_had_the_turn() {
    let (token, theirs) = (Token::new(), Token::new());
    let domain = Domain::<Token, On<Stopping, Shootdown>>::new_in();
    let (mut local, strong) = (domain.register(), domain.strong(token.clone()));
    drop(local.enter(&strong));
    let end = || {
        let (mut local, strong) = (domain.register(), domain.strong(theirs.clone()));
        drop(local.enter(&strong));
        stop_in_the_next_barrier();
        drop(strong);
        assert_eq!(theirs.objects(), 0);
    };
    let strong = Cell::new(Some(strong));
    while_another_is_in_a_barrier(end, || {
        in_child(|| {
            drop(strong.take());
            assert_eq!(token.objects(), 0, "it waits for a thread that is lost");
            assert_eq!(theirs.objects(), 1, "what the lost thread had in hand is lost");
            let again = domain.strong(token.clone());
            drop(domain.register().enter(&again));
            drop(again);
            assert_eq!(token.objects(), 0);
            assert_eq!(domain.stats().retired, 3);
        });
        // In the parent the thread is there, and ends what is left to it.
        drop(strong.take());
        assert_eq!(token.objects(), 1);
    });
    assert_eq!((token.objects(), theirs.objects()), (0, 0));
}

/// Has a thread stop in the middle of what it ends, and forks: `child` is without it.
fn lost_in_the_middle(end: impl FnOnce() + Send, child: impl FnOnce()) {
    let other = || {
        stop_in_the_next_barrier();
        end();
    };
    while_another_is_in_a_barrier(other, || in_child(child));
}

/// It has marked those that have what it ends, and has not looked at who uses it.
#[test]
fn a_child_goes_on_with_workers_that_a_lost_thread_had_marked() {
    let [token, childs] = [(); 2].map(|()| Token::new());
    let domain = Domain::<Token, On<Stopping, Shootdown>>::new_in();
    let strong = domain.strong(token.clone());
    let (idle, used) = (RefCell::new(domain.register()), RefCell::new(Worker::new(&domain)));
    drop(idle.borrow_mut().enter(&strong));
    used.borrow_mut().enter(&strong);
    let child = || {
        let (mut idle, mut used) = (idle.borrow_mut(), used.borrow_mut());
        assert!(idle.kept().is_none(), "it was marked");
        used.value().expect("it is used").check();
        let strong = domain.strong(childs.clone());
        idle.enter(&strong).check();
        used.enter(&strong);
        drop(strong);
        used.value().expect("it is used").check();
        used.leave();
        assert!(idle.kept().is_none() && childs.objects() == 0, "what is the child's ends there");
    };
    lost_in_the_middle(|| drop(strong), child);
    used.borrow().value().expect("it is used").check();
    used.borrow_mut().leave();
    assert_eq!(token.objects(), 0, "in the parent the thread went on");
}

#[test]
fn a_child_goes_on_with_readers_that_a_lost_thread_had_marked() {
    let [old, new, childs] = [(); 3].map(|()| Token::new());
    let cached = RcuCell::<Token, On<Stopping, Shootdown>>::new_in(old.clone());
    let [mut idle, mut used] = [cached.reader(), cached.reader()];
    drop(idle.load());
    let (idle, read) = (RefCell::new(idle), Cell::new(Some(used.load())));
    let child = || {
        let mut idle = idle.borrow_mut();
        assert!(idle.load().is(&new), "it was stored");
        read.take().expect("it is read").check();
        cached.store(childs.clone());
        assert!(idle.load().is(&childs) && new.objects() == 0, "what follows ends in the child");
    };
    lost_in_the_middle(|| cached.store(new.clone()), child);
    read.take().expect("it is read").check();
    assert_eq!((old.objects(), new.objects()), (0, 1), "in the parent the thread went on");
}
