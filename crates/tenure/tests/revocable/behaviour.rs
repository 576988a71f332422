//! What domains, strong handles, local handles and guards promise, under every scheme.

use crate::support::{Kind, Token, Worker, domain, figures, panics, registered};
use std::thread;
use tenure::revocable::generic::{Domain, Guard, LocalHandle, Strong};

fn an_object_goes_with_its_last_handle<S: Kind>() {
    let (token, domain) = domain::<S>();
    let strong = domain.strong(token.clone());
    let other = strong.clone();
    assert!(Strong::ptr_eq(&strong, &other));
    drop(strong);
    assert_eq!(token.objects(), 1);
    other.check();
    drop(other);
    assert_eq!(token.objects(), 0);
    assert_eq!(figures(&domain.stats()), [1, 0, 0, 0], "no local handle had it: no barrier");
}

fn objects_and_workers_outlive_the_domains_handles<S: Kind>() {
    let (token, domain) = domain::<S>();
    let strong = domain.clone().strong(token.clone());
    let mut local = domain.register();
    drop(domain);
    local.enter(&strong).check();
    drop(strong);
    drop(local);
    assert_eq!(token.objects(), 0);

    let domain = Domain::<Token, S>::new_in();
    let strong = domain.strong(token.clone());
    drop(domain.register().enter(&strong));
    drop(domain);
    strong.check();
    drop(strong);
    assert_eq!(token.objects(), 0);
}

fn a_worker_uses_what_it_enters_and_keeps_it<S: Kind>() {
    let domain = Domain::<u32, S>::new_in();
    let (one, two) = (domain.strong(1), domain.strong(2));
    let mut local = domain.register();
    assert!(local.kept().is_none(), "it has entered nothing");
    for _ in 0..3 {
        assert_eq!(*local.enter(&one), 1);
        assert_eq!(*local.kept().unwrap(), 1);
        assert_eq!(*local.kept().unwrap(), 1, "it is kept after each use");
    }
    assert_eq!(*local.enter(&two), 2);
    assert_eq!(*local.kept().unwrap(), 2, "the newest is kept");
    assert_eq!(*local.enter(&one), 1);
    local.clear();
    assert!(local.kept().is_none(), "a local handle that was cleared has nothing");
    local.clear();
    assert_eq!(*local.enter(&two), 2);
    assert_eq!(figures(&domain.stats()), [0; 4], "nothing has ended");
}

fn workers_share_an_object<S: Kind>() {
    let domain = Domain::<u32, S>::new_in();
    let strong = domain.strong(7);
    let mut locals = Vec::from_iter((0..100).map(|_| domain.register()));
    let guards = Vec::from_iter(locals.iter_mut().map(|local| local.enter(&strong)));
    let place = &raw const *strong;
    assert!(guards.iter().all(|guard| std::ptr::eq(&raw const **guard, place)));
    drop(guards);
    assert!(locals.iter_mut().all(|local| local.kept().is_some_and(|kept| *kept == 7)));
}

fn a_guard_gives_handles<S: Kind>() {
    let (token, _, strong, mut local) = registered::<S>();
    let active = local.enter(&strong);
    let from_active = Guard::upgrade(&active).unwrap();
    assert!(Strong::ptr_eq(&from_active, &strong));
    drop((active, strong));
    let kept = local.kept().unwrap();
    let from_kept = Guard::upgrade(&kept).unwrap();
    drop((kept, from_active));
    assert_eq!(token.objects(), 1);
    local.clear();
    assert_eq!(token.objects(), 1);
    drop(from_kept);
    assert_eq!(token.objects(), 0);
}

fn the_last_handle_may_go_while_workers_use_the_object<S: Kind>() {
    fn use_it<'s, S: Kind>(
        local: &'s mut LocalHandle<Token, S>,
        strong: &Strong<Token, S>,
        lazily: bool,
    ) -> Guard<'s, Token, S> {
        if lazily { local.kept().unwrap() } else { local.enter(strong) }
    }
    for (mine_lazily, others_lazily) in [(false, false), (false, true), (true, false), (true, true)]
    {
        let (token, domain) = domain::<S>();
        let strong = domain.strong(token.clone());
        let mut locals = [(); 4].map(|()| domain.register());
        for local in &mut locals {
            drop(local.enter(&strong));
        }
        // The fourth stays idle.
        let [mine, others, third, _] = &mut locals;
        let mine = use_it(mine, &strong, mine_lazily);
        let others = use_it(others, &strong, others_lazily);
        let third = third.enter(&strong);
        drop(strong);
        assert_eq!(token.objects(), 1);
        assert_eq!(
            figures(&domain.stats()),
            if S::KEEPS { [0; 4] } else { [1, 1, 1, 3] },
            "one idle, three in use"
        );
        third.check();
        assert_eq!(Guard::upgrade(&third).is_some(), S::KEEPS, "no handle from the dead");
        drop(third);
        mine.check();
        drop(mine);
        assert_eq!(token.objects(), 1);
        others.check();
        drop(others);
        assert_eq!(token.objects(), usize::from(S::KEEPS), "the last guard is gone");
        for local in &mut locals {
            assert_eq!(local.kept().is_some(), S::KEEPS);
        }
        drop(locals);
        assert_eq!(token.objects(), 0);
        assert_eq!(domain.stats().retired, 1);
    }
}

fn a_donated_reference_is_given_back_on_whichever_thread_leaves<S: Kind>() {
    let (token, domain) = domain::<S>();
    let strong = domain.strong(token.clone());
    let mut worker = Worker::new(&domain);
    worker.enter(&strong);
    drop(strong);
    let there = token.clone();
    let worker = thread::spawn(move || {
        worker.value().unwrap().check();
        worker.leave();
        // The clone is one more.
        assert_eq!(there.objects(), 1 + usize::from(S::KEEPS));
        worker
    })
    .join()
    .unwrap();
    assert_eq!(token.objects(), usize::from(S::KEEPS));
    drop(worker);
    assert_eq!(token.objects(), 0);
}

fn a_worker_whose_object_ended_goes_on_with_others<S: Kind>() {
    let (token, domain) = domain::<S>();
    let mut local = domain.register();
    for turn in 0..20 {
        let strong = domain.strong(token.clone());
        let guard = local.enter(&strong);
        if turn % 3 == 0 {
            drop(strong);
            guard.check();
            drop(guard);
        } else {
            drop(guard);
            drop(strong);
        }
        if turn % 2 == 0 {
            assert_eq!(local.kept().is_some(), S::KEEPS);
        }
        assert_eq!(token.objects(), usize::from(S::KEEPS), "at most what the local handle keeps");
    }
    local.clear();
    assert_eq!(token.objects(), 0);
    assert_eq!(domain.stats().retired, 20);
}

/// A way in which a local handle ends, or what it keeps.
type End<S> = fn(&Domain<Token, S>, LocalHandle<Token, S>);

fn what_a_parked_worker_keeps_goes_when_the_scheme_says<S: Kind>() {
    let ends: [End<S>; 3] = [
        |_, mut local| local.clear(),
        |domain, mut local| {
            let other = domain.strong(Token::new());
            drop(local.enter(&other));
        },
        |_, local| drop(local),
    ];
    for end in ends {
        let (token, domain, strong, mut local) = registered::<S>();
        drop(local.enter(&strong));
        drop(strong);
        assert_eq!(token.objects(), usize::from(S::KEEPS));
        if let Some(kept) = local.kept() {
            kept.check();
        }
        assert_eq!(token.objects(), usize::from(S::KEEPS));
        end(&domain, local);
        assert_eq!(token.objects(), 0);
    }
}

fn a_worker_that_was_cleared_is_no_reason_for_a_barrier<S: Kind>() {
    let (token, domain, strong, mut local) = registered::<S>();
    drop(local.enter(&strong));
    local.clear();
    drop(strong);
    assert_eq!((token.objects(), figures(&domain.stats())), (0, [1, 0, 0, 0]));
}

fn a_worker_that_went_on_is_no_reason_for_a_barrier<S: Kind>() {
    let (token, domain) = domain::<S>();
    let (first, second) = (domain.strong(token.clone()), domain.strong(token.clone()));
    let mut local = domain.register();
    drop(local.enter(&first));
    let guard = local.enter(&second);
    drop(first);
    assert_eq!((token.objects(), figures(&domain.stats())), (1, [1, 0, 0, 0]));
    guard.check();
}

fn many_handles_dropped_at_once_share_a_barrier<S: Kind>() {
    const OBJECTS: usize = 100;
    let (token, domain) = domain::<S>();
    let strongs = Vec::from_iter((0..OBJECTS).map(|_| domain.strong(token.clone())));
    let mut locals = Vec::from_iter((0..3).map(|_| domain.register()));
    // One idle, one in use, one that has nothing; and an object that has another handle.
    drop(locals[0].enter(&strongs[10]));
    let kept = strongs[30].clone();
    let guard = locals[1].enter(&strongs[20]);
    domain.drop_all(strongs);
    if S::KEEPS {
        assert_eq!(token.objects(), 3);
        assert_eq!(figures(&domain.stats()), [OBJECTS as u64 - 3, 0, 0, 0]);
    } else {
        assert_eq!(token.objects(), 2);
        assert_eq!(figures(&domain.stats()), [OBJECTS as u64 - 1, 1, 1, 1]);
    }
    guard.check();
    drop(guard);
    kept.check();
    drop((kept, locals));
    assert_eq!((token.objects(), domain.stats().retired), (0, OBJECTS as u64));
}

fn no_handles_at_all_may_be_dropped_at_once<S: Kind>() {
    let (token, domain) = domain::<S>();
    domain.drop_all([]);
    let strong = domain.strong(token.clone());
    domain.drop_all([strong.clone(), strong.clone()]);
    assert_eq!((token.objects(), figures(&domain.stats())), (1, [0; 4]));
    domain.drop_all(Some(strong));
    assert_eq!((token.objects(), figures(&domain.stats())), (0, [1, 0, 0, 0]));
}

fn workers_that_are_given_back_are_taken_again<S: Kind>() {
    let (token, domain) = domain::<S>();
    let strong = domain.strong(token.clone());
    let numbers = |locals: &[LocalHandle<Token, S>]| {
        let mut numbers = Vec::from_iter(locals.iter().map(|local| format!("{local:?}")));
        numbers.sort();
        numbers
    };
    let first = Vec::from_iter((0..20).map(|_| domain.register()));
    let of_first = numbers(&first);
    assert_eq!(domain.stats().local_handles, 20);
    drop(first);
    assert_eq!(domain.stats().local_handles, 0);
    for _ in 0..3 {
        let mut again = Vec::from_iter((0..20).map(|_| domain.register()));
        assert_eq!(numbers(&again), of_first, "no slot but those that there were");
        for local in &mut again {
            assert!(local.kept().is_none(), "a local handle begins with nothing");
            drop(local.enter(&strong));
        }
        assert_eq!(domain.stats().local_handles, 20);
        // In another order than they were taken.
        again.swap(0, 7);
        drop(again);
        assert_eq!(domain.stats().local_handles, 0);
    }
    drop(strong);
    assert_eq!((token.objects(), figures(&domain.stats())), (0, [1, 0, 0, 0]));
}

/// More than fit in a word of the mask, and in the first segment of slots.
fn each_of_many_workers_lets_go_by_itself<S: Kind>() {
    let (token, domain) = domain::<S>();
    let strong = domain.strong(token.clone());
    let mut locals = Vec::from_iter((0..70).map(|_| domain.register()));
    for local in &mut locals {
        drop(local.enter(&strong));
    }
    let half = locals.split_off(35);
    drop(half);
    drop(strong);
    assert_eq!(token.objects(), usize::from(S::KEEPS));
    let last = locals.pop();
    drop(locals);
    assert_eq!(token.objects(), usize::from(S::KEEPS), "one local handle is left");
    drop(last);
    assert_eq!(token.objects(), 0);
    let revoked = if S::KEEPS { 0 } else { 35 };
    assert_eq!(domain.stats().revoked, revoked);
}

fn a_worker_looks_for_another_object_only_if_what_it_kept_is_not_it<S: Kind>() {
    let domain = Domain::<u32, S>::new_in();
    let table = [1, 2].map(|value| domain.strong(value));
    let mut local = domain.register();
    let mut looked_for = Vec::new();
    let mut use_one = |local: &mut LocalHandle<u32, S>, value: u32| {
        let find = || {
            looked_for.push(value);
            table.iter().find(|strong| ***strong == value).cloned()
        };
        local.kept_or(|&kept| kept == value, find).map(|guard| *guard)
    };
    for value in [1, 1, 2, 2, 1] {
        assert_eq!(use_one(&mut local, value), Some(value));
    }
    assert_eq!(use_one(&mut local, 3), None);
    assert_eq!(use_one(&mut local, 1), Some(1), "what is not found changes nothing");
    assert_eq!(looked_for, [1, 2, 1, 3]);
}

fn a_look_that_panics_leaves_what_the_worker_kept<S: Kind>() {
    let (token, _, strong, mut local) = registered::<S>();
    local.enter(&strong).check();
    assert_eq!(panics(|| drop(local.kept_or(|_| panic!("looks"), || None))), "looks");
    assert_eq!(panics(|| drop(local.kept_or(|_| false, || panic!("finds")))), "finds");
    assert!(local.kept().is_some());
    drop(strong);
    assert_eq!(token.objects(), usize::from(S::KEEPS), "the local handle is idle");
}

fn a_handle_that_was_found_may_be_the_last_one<S: Kind>() {
    let (token, domain) = domain::<S>();
    let mut local = domain.register();
    let only = domain.strong(token.clone());
    let guard = local.kept_or(|_| true, || Some(only)).unwrap();
    guard.check();
    drop(guard);
    assert_eq!(token.objects(), usize::from(S::KEEPS));
}

fn a_context_of_another_domain_is_refused<S: Kind>() {
    let (token, mine) = domain::<S>();
    let others = Domain::<Token, S>::new_in();
    let (strong, foreign) = (mine.strong(token.clone()), others.strong(token.clone()));
    let mut local = mine.register();
    for has_one in [false, true] {
        let panic = panics(|| drop(local.enter(&foreign)));
        assert_eq!(panic, "this Strong is of another Domain than this LocalHandle");
        assert_eq!(local.kept().is_some(), has_one, "the local handle has what it had");
        local.enter(&strong).check();
    }
    let three = [strong.clone(), foreign.clone(), strong.clone()];
    assert_eq!(panics(|| mine.drop_all(three)), "this Strong is of another Domain");
    drop(foreign);
    assert_eq!(token.objects(), 1, "the panic has dropped all three");
    drop(strong);
    drop(local);
    assert_eq!(token.objects(), 0);
    assert_eq!((mine.stats().retired, others.stats().retired), (1, 1));
}

claims! {
    an_object_goes_with_its_last_handle,
    objects_and_workers_outlive_the_domains_handles,
    a_worker_uses_what_it_enters_and_keeps_it,
    workers_share_an_object,
    a_guard_gives_handles,
    the_last_handle_may_go_while_workers_use_the_object,
    a_donated_reference_is_given_back_on_whichever_thread_leaves,
    a_worker_whose_object_ended_goes_on_with_others,
    what_a_parked_worker_keeps_goes_when_the_scheme_says,
    a_worker_that_was_cleared_is_no_reason_for_a_barrier,
    a_worker_that_went_on_is_no_reason_for_a_barrier,
    many_handles_dropped_at_once_share_a_barrier,
    no_handles_at_all_may_be_dropped_at_once,
    workers_that_are_given_back_are_taken_again,
    each_of_many_workers_lets_go_by_itself,
    a_worker_looks_for_another_object_only_if_what_it_kept_is_not_it,
    a_look_that_panics_leaves_what_the_worker_kept,
    a_handle_that_was_found_may_be_the_last_one,
    a_context_of_another_domain_is_refused,
}
