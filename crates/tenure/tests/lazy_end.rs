//! What becomes of objects when users' code panics, and when their destructors use the domain that ends them.
#![cfg(feature = "std")]

mod lazies;

use lazies::{Kind, Token, Worker, panics};
use std::cell::RefCell;
use std::mem;
use tenure::lazy::{Active, Context, Domain, Seat};

/// An object whose destructor does what it was told.
struct Last {
    token: Token,
    at_drop: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Last {
    fn idle(token: &Token) -> Self {
        Self { token: token.clone(), at_drop: None }
    }

    fn acts(token: &Token, at_drop: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self { token: token.clone(), at_drop: Some(Box::new(at_drop)) }
    }

    fn panics(token: &Token) -> Self {
        Self::acts(token, || panic!("in drop"))
    }
}

impl Drop for Last {
    fn drop(&mut self) {
        if let Some(act) = self.at_drop.take() {
            act();
        }
    }
}

// --- panics ---

fn unwinding_leaves<S: Kind>() {
    let (token, domain) = (Token::new(), Domain::<_, S>::new_in());
    let context = domain.context(Last::idle(&token));
    let mut seat = domain.seat();
    let in_use = panics(|| {
        let _active = seat.enter(&context);
        panic!("in use");
    });
    assert_eq!(in_use, "in use");
    seat.lazy().expect("kept as after any other use").token.check();
    let last = panics(|| {
        let _active = seat.enter(&context);
        drop(context);
        assert_eq!(token.objects(), 1);
        panic!("in use, and the last handle is gone");
    });
    assert_eq!(last, "in use, and the last handle is gone");
    seat.clear();
    assert_eq!(token.objects(), 0);
}

fn a_destructor_that_panics_when_the_last_handle_goes_is_the_users<S: Kind>() {
    let (token, domain) = (Token::new(), Domain::<_, S>::new_in());
    let context = domain.context(Last::panics(&token));
    assert_eq!(panics(|| drop(context)), "in drop");
    assert_eq!((token.objects(), domain.statistics().ended), (0, 1));
}

/// A way in which a worker lets go of what it uses, with something else to use.
type LetGo<S> = fn(&mut Worker<Last, S>, &Context<Last, S>);

/// The seat is used afterwards, and its slot is given back.
fn a_destructor_that_panics_when_a_seat_lets_go_leaves_the_seat_in_order<S: Kind>() {
    let lets_go: [LetGo<S>; 3] = [
        |worker, _| {
            worker.leave();
            worker.seat().clear();
        },
        |worker, other| worker.enter(other),
        |worker, other| {
            worker.forget();
            worker.enter(other);
        },
    ];
    for let_go in lets_go {
        let (token, domain) = (Token::new(), Domain::<_, S>::new_in());
        let other = domain.context(Last::idle(&token));
        let context = domain.context(Last::panics(&token));
        let mut worker = Worker::new(&domain);
        worker.enter(&context);
        drop(context);
        assert_eq!(panics(|| let_go(&mut worker, &other)), "in drop");
        assert_eq!(token.objects(), 1);
        for _ in 0..2 {
            worker.enter(&other);
            worker.value().unwrap().token.check();
            worker.leave();
            assert!(worker.lazy());
        }
        drop(worker);
        assert_eq!(domain.statistics().seats, 0);
        drop(other);
        assert_eq!((token.objects(), domain.statistics().ended), (0, 2));
    }
}

fn a_destructor_that_panics_when_its_seat_goes_spares_the_slot<S: Kind>() {
    let (token, domain) = (Token::new(), Domain::<_, S>::new_in());
    let context = domain.context(Last::panics(&token));
    let mut seat = domain.seat();
    mem::forget(seat.enter(&context));
    drop(context);
    assert_eq!(panics(|| drop(seat)), "in drop");
    assert_eq!((token.objects(), domain.statistics().seats), (0, 0));
    let (mut seat, other) = (domain.seat(), domain.context(Last::idle(&token)));
    seat.enter(&other).token.check();
}

fn of_many_that_go_at_once_one_panics_and_the_others_are_dropped<S: Kind>() {
    for armed in 0..4 {
        let (token, domain) = (Token::new(), Domain::<_, S>::new_in());
        let contexts = Vec::from_iter((0..4).map(|at| {
            domain.context(if at == armed { Last::panics(&token) } else { Last::idle(&token) })
        }));
        let mut seat = domain.seat();
        drop(seat.enter(&contexts[0]));
        assert_eq!(
            panics(|| {
                domain.drop_all(contexts);
                seat.clear();
            }),
            "in drop"
        );
        drop(seat);
        assert_eq!((token.objects(), domain.statistics().ended), (0, 4), "{armed} panics");
        domain.context(Last::idle(&token)).token.check();
    }
}

fn what_a_users_iterator_returned_before_it_panicked_is_ended<S: Kind>() {
    let (token, domain) = (Token::new(), Domain::<_, S>::new_in());
    let mut seats = [(); 2].map(|()| domain.seat());
    let contexts = Vec::from_iter((0..10).map(|_| domain.context(Last::idle(&token))));
    drop(seats[0].enter(&contexts[0]));
    let kept = seats[1].enter(&contexts[1]);
    let mut returned = 0;
    let until_then = contexts.into_iter().inspect(|_| {
        assert!(returned < 5, "in the iterator");
        returned += 1;
    });
    assert_eq!(panics(|| domain.drop_all(until_then)), "in the iterator");
    assert_eq!(token.objects(), if S::KEEPS { 2 } else { 1 }, "the rest go one by one");
    kept.token.check();
    drop(kept);
    drop(seats);
    assert_eq!((token.objects(), domain.statistics().ended), (0, 10));
}

// --- destructors that use the domain ---

fn a_destructor_may_drop_last_handles_of_its_domain<S: Kind>() {
    let (token, domain) = (Token::new(), Domain::<_, S>::new_in());
    let mut seat = domain.seat();
    // Each has the handle to the next. Some are kept by a seat when they go.
    let mut context = domain.context(Last::idle(&token));
    for at in 0..50 {
        if at % 3 == 0 {
            drop(seat.enter(&context));
        }
        let next = context;
        context = domain.context(Last::acts(&token, move || drop(next)));
    }
    assert_eq!(token.objects(), 51);
    drop(context);
    drop(seat);
    assert_eq!((token.objects(), domain.statistics().ended), (0, 51));
}

fn a_destructor_may_drop_last_handles_of_another_domain<S: Kind>() {
    let token = Token::new();
    let outer = Domain::<Last, S>::new_in();
    let mut seat = outer.seat();
    let context = {
        let inner = Domain::<Token, S>::new_in();
        let mut seat = inner.seat();
        let nested = inner.context(token.clone());
        drop(seat.enter(&nested));
        // The seat and the only handles of the inner domain: it goes, too.
        outer.context(Last::acts(&token, move || {
            drop(inner);
            drop(nested);
            drop(seat);
        }))
    };
    let guard = seat.enter(&context);
    drop(context);
    assert_eq!(token.objects(), 2);
    drop(guard);
    drop(seat);
    assert_eq!(token.objects(), 0);
}

fn a_destructor_may_enter_seats_and_drop_many_at_once<S: Kind>() {
    let (token, domain) = (Token::new(), Domain::<_, S>::new_in());
    let inner = domain.clone();
    let in_drop = token.clone();
    let context = domain.context(Last::acts(&token, move || {
        let mut seats = [(); 3].map(|()| inner.seat());
        let contexts = Vec::from_iter((0..10).map(|_| inner.context(Last::idle(&in_drop))));
        for (seat, context) in seats.iter_mut().zip(&contexts) {
            drop(seat.enter(context));
        }
        let guard = seats[0].enter(&contexts[9]);
        assert!(Active::upgrade(&guard).is_some());
        inner.drop_all(contexts);
        guard.token.check();
    }));
    let mut seat = domain.seat();
    drop(seat.enter(&context));
    // Outside of the domain's own code, and from within a seat's.
    drop(context);
    seat.clear();
    drop(seat);
    assert_eq!((token.objects(), domain.statistics().ended), (0, 11));
    assert_eq!(domain.statistics().seats, 0);
}

/// The seat that is about to let go is the very one whose owner runs the destructor.
fn a_destructor_run_by_a_seat_may_use_other_seats<S: Kind>() {
    let (token, domain) = (Token::new(), Domain::<_, S>::new_in());
    let inner = domain.clone();
    let in_drop = token.clone();
    let context = domain.context(Last::acts(&token, move || {
        let other = inner.context(Last::idle(&in_drop));
        let mut seat = inner.seat();
        drop(seat.enter(&other));
        drop(other);
    }));
    let mut seat = domain.seat();
    let guard = seat.enter(&context);
    drop(context);
    drop(guard);
    let next = domain.context(Last::idle(&token));
    seat.enter(&next).token.check();
    assert!(seat.lazy().is_some(), "the seat has what it entered");
    drop(next);
    drop(seat);
    assert_eq!(token.objects(), 0);
}

fn an_object_may_have_a_seat_and_handles_of_its_own_domain<S: Kind>() {
    struct Holder<S: Kind> {
        seat: RefCell<Option<Seat<Holder<S>, S>>>,
        next: Option<Context<Holder<S>, S>>,
        _domain: Domain<Holder<S>, S>,
        _token: Token,
    }
    // SAFETY: the test has one thread.
    unsafe impl<S: Kind> Sync for Holder<S> {}

    let token = Token::new();
    let domain = Domain::<Holder<S>, S>::new_in();
    let hold = |next| Holder {
        seat: RefCell::new(Some(domain.seat())),
        next,
        _domain: domain.clone(),
        _token: token.clone(),
    };
    let first = domain.context(hold(None));
    let second = domain.context(hold(Some(first.clone())));
    // The second's seat keeps the first, to which the second has the last handle.
    drop(second.seat.borrow_mut().as_mut().unwrap().enter(&first));
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
    a_destructor_that_panics_when_a_seat_lets_go_leaves_the_seat_in_order,
    a_destructor_that_panics_when_its_seat_goes_spares_the_slot,
    of_many_that_go_at_once_one_panics_and_the_others_are_dropped,
    what_a_users_iterator_returned_before_it_panicked_is_ended,
    a_destructor_may_drop_last_handles_of_its_domain,
    a_destructor_may_drop_last_handles_of_another_domain,
    a_destructor_may_enter_seats_and_drop_many_at_once,
    a_destructor_run_by_a_seat_may_use_other_seats,
    an_object_may_have_a_seat_and_handles_of_its_own_domain,
}
