//! Users' code that panics, and destructors that use the domain that ends their values.

use crate::support::{Kind, Last, Token, Worker, panics};
use std::cell::RefCell;
use std::mem;
use tenure::revocable::generic::{Domain, Guard, LocalHandle, Strong};

fn unwinding_leaves<S: Kind>() {
    let (token, domain) = (Token::new(), Domain::<_, S>::new_in());
    let strong = domain.strong(Last::idle(&token));
    let mut local = domain.register();
    let in_use = panics(|| {
        let _active = local.enter(&strong);
        panic!("in use");
    });
    assert_eq!(in_use, "in use");
    local.kept().expect("kept as after any other use").token.check();
    let last = panics(|| {
        let _active = local.enter(&strong);
        drop(strong);
        assert_eq!(token.objects(), 1);
        panic!("in use, and the last handle is gone");
    });
    assert_eq!(last, "in use, and the last handle is gone");
    local.clear();
    assert_eq!(token.objects(), 0);
}

fn a_destructor_that_panics_when_the_last_handle_goes_is_the_users<S: Kind>() {
    let (token, domain) = (Token::new(), Domain::<_, S>::new_in());
    let strong = domain.strong(Last::panics(&token));
    assert_eq!(panics(|| drop(strong)), "in drop");
    assert_eq!((token.objects(), domain.stats().retired), (0, 1));
}

type LetGo<S> = fn(&mut Worker<Last, S>, &Strong<Last, S>);

fn a_destructor_that_panics_when_a_worker_lets_go_leaves_the_worker_in_order<S: Kind>() {
    let lets_go: [LetGo<S>; 3] = [
        |worker, _| {
            worker.leave();
            worker.local().clear();
        },
        |worker, other| worker.enter(other),
        |worker, other| {
            worker.forget();
            worker.enter(other);
        },
    ];
    for let_go in lets_go {
        let (token, domain) = (Token::new(), Domain::<_, S>::new_in());
        let other = domain.strong(Last::idle(&token));
        let strong = domain.strong(Last::panics(&token));
        let mut worker = Worker::new(&domain);
        worker.enter(&strong);
        drop(strong);
        assert_eq!(panics(|| let_go(&mut worker, &other)), "in drop");
        assert_eq!(token.objects(), 1);
        for _ in 0..2 {
            worker.enter(&other);
            worker.value().unwrap().token.check();
            worker.leave();
            assert!(worker.kept());
        }
        drop(worker);
        assert_eq!(domain.stats().local_handles, 0);
        drop(other);
        assert_eq!((token.objects(), domain.stats().retired), (0, 2));
    }
}

fn a_destructor_that_panics_when_its_worker_goes_spares_the_slot<S: Kind>() {
    let (token, domain) = (Token::new(), Domain::<_, S>::new_in());
    let strong = domain.strong(Last::panics(&token));
    let mut local = domain.register();
    mem::forget(local.enter(&strong));
    drop(strong);
    assert_eq!(panics(|| drop(local)), "in drop");
    assert_eq!((token.objects(), domain.stats().local_handles), (0, 0));
    let (mut local, other) = (domain.register(), domain.strong(Last::idle(&token)));
    local.enter(&other).token.check();
}

fn of_many_that_go_at_once_one_panics_and_the_others_are_dropped<S: Kind>() {
    for armed in 0..4 {
        let (token, domain) = (Token::new(), Domain::<_, S>::new_in());
        let strongs = Vec::from_iter((0..4).map(|at| {
            domain.strong(if at == armed { Last::panics(&token) } else { Last::idle(&token) })
        }));
        let mut local = domain.register();
        drop(local.enter(&strongs[0]));
        assert_eq!(
            panics(|| {
                domain.drop_all(strongs);
                local.clear();
            }),
            "in drop"
        );
        drop(local);
        assert_eq!((token.objects(), domain.stats().retired), (0, 4), "{armed} panics");
        domain.strong(Last::idle(&token)).token.check();
    }
}

fn what_a_users_iterator_returned_before_it_panicked_is_ended<S: Kind>() {
    let (token, domain) = (Token::new(), Domain::<_, S>::new_in());
    let mut locals = [(); 2].map(|()| domain.register());
    let strongs = Vec::from_iter((0..10).map(|_| domain.strong(Last::idle(&token))));
    drop(locals[0].enter(&strongs[0]));
    let kept = locals[1].enter(&strongs[1]);
    let mut returned = 0;
    let until_then = strongs.into_iter().inspect(|_| {
        assert!(returned < 5, "in the iterator");
        returned += 1;
    });
    assert_eq!(panics(|| domain.drop_all(until_then)), "in the iterator");
    assert_eq!(token.objects(), if S::KEEPS { 2 } else { 1 }, "the rest go one by one");
    kept.token.check();
    drop(kept);
    drop(locals);
    assert_eq!((token.objects(), domain.stats().retired), (0, 10));
}

fn a_destructor_may_drop_last_handles_of_its_domain<S: Kind>() {
    let (token, domain) = (Token::new(), Domain::<_, S>::new_in());
    let mut local = domain.register();
    // Each has the handle to the next. Some are kept by a local handle when they go.
    let mut strong = domain.strong(Last::idle(&token));
    for at in 0..50 {
        if at % 3 == 0 {
            drop(local.enter(&strong));
        }
        let next = strong;
        strong = domain.strong(Last::acts(&token, move || drop(next)));
    }
    assert_eq!(token.objects(), 51);
    drop(strong);
    drop(local);
    assert_eq!((token.objects(), domain.stats().retired), (0, 51));
}

fn a_destructor_may_drop_last_handles_of_another_domain<S: Kind>() {
    let token = Token::new();
    let outer = Domain::<Last, S>::new_in();
    let mut local = outer.register();
    let strong = {
        let inner = Domain::<Token, S>::new_in();
        let mut local = inner.register();
        let nested = inner.strong(token.clone());
        drop(local.enter(&nested));
        // With the local handle and the only handles of the inner domain, that goes too.
        outer.strong(Last::acts(&token, move || {
            drop(inner);
            drop(nested);
            drop(local);
        }))
    };
    let guard = local.enter(&strong);
    drop(strong);
    assert_eq!(token.objects(), 2);
    drop(guard);
    drop(local);
    assert_eq!(token.objects(), 0);
}

fn a_destructor_may_enter_workers_and_drop_many_at_once<S: Kind>() {
    let (token, domain) = (Token::new(), Domain::<_, S>::new_in());
    let inner = domain.clone();
    let in_drop = token.clone();
    let strong = domain.strong(Last::acts(&token, move || {
        let mut locals = [(); 3].map(|()| inner.register());
        let strongs = Vec::from_iter((0..10).map(|_| inner.strong(Last::idle(&in_drop))));
        for (local, strong) in locals.iter_mut().zip(&strongs) {
            drop(local.enter(strong));
        }
        let guard = locals[0].enter(&strongs[9]);
        assert!(Guard::upgrade(&guard).is_some());
        inner.drop_all(strongs);
        guard.token.check();
    }));
    let mut local = domain.register();
    drop(local.enter(&strong));
    // Outside of the domain's own code, and from within a local handle's.
    drop(strong);
    local.clear();
    drop(local);
    assert_eq!((token.objects(), domain.stats().retired), (0, 11));
    assert_eq!(domain.stats().local_handles, 0);
}

fn an_object_may_have_a_worker_and_handles_of_its_own_domain<S: Kind>() {
    struct Holder<S: Kind> {
        local: RefCell<Option<LocalHandle<Holder<S>, S>>>,
        next: Option<Strong<Holder<S>, S>>,
        _domain: Domain<Holder<S>, S>,
        _token: Token,
    }
    // SAFETY: the test has one thread.
    unsafe impl<S: Kind> Sync for Holder<S> {}

    let token = Token::new();
    let domain = Domain::<Holder<S>, S>::new_in();
    let hold = |next| Holder {
        local: RefCell::new(Some(domain.register())),
        next,
        _domain: domain.clone(),
        _token: token.clone(),
    };
    let first = domain.strong(hold(None));
    let second = domain.strong(hold(Some(first.clone())));
    // The second's local handle keeps the first, to which the second has the last handle.
    drop(second.local.borrow_mut().as_mut().unwrap().enter(&first));
    drop(first);
    assert!(second.next.is_some());
    drop(domain);
    assert_eq!(token.objects(), 2);
    drop(second);
    assert_eq!(token.objects(), 0);
}

claims! {
    unwinding_leaves,
    a_destructor_that_panics_when_the_last_handle_goes_is_the_users,
    a_destructor_that_panics_when_a_worker_lets_go_leaves_the_worker_in_order,
    a_destructor_that_panics_when_its_worker_goes_spares_the_slot,
    of_many_that_go_at_once_one_panics_and_the_others_are_dropped,
    what_a_users_iterator_returned_before_it_panicked_is_ended,
    a_destructor_may_drop_last_handles_of_its_domain,
    a_destructor_may_drop_last_handles_of_another_domain,
    a_destructor_may_enter_workers_and_drop_many_at_once,
    an_object_may_have_a_worker_and_handles_of_its_own_domain,
}
