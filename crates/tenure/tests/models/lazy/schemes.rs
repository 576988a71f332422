//! The schemes whose seats count: [`Counted`] and [`Mask`]. What a seat keeps is kept alive, so a value goes with the
//! last handle or with the last seat that moves on, is cleared, or goes: one of them destroys it, after all others.

use super::super::memory::{InOrder, Loom};
use super::super::stage::{ALL, passes};
use super::{Fate, Object, domain, object, worker};
use tenure::lazy::{Context, Counted, Domain, LazyGuard, Mask, Scheme, Seat};
use tenure::memory::Memory;

/// A seat that has kept `context`.
fn keeper<S: Scheme<M>, M: Memory>(
    domain: &Domain<Object, S, M>,
    context: &Context<Object, S, M>,
) -> Seat<Object, S, M> {
    let mut seat = domain.seat();
    drop(seat.enter(context));
    seat
}

fn end<S: Scheme<M>, M: Memory>(domain: &Domain<Object, S, M>, fates: &[Fate]) {
    fates.iter().for_each(Fate::assert_gone);
    let said = domain.statistics();
    assert_eq!(said.ended, fates.len() as u64, "an object ends once");
    assert_eq!((said.barriers, said.revoked, said.donated), (0, 0, 0));
}

fn entered_under_the_last_drop<S: Scheme<M>, M: Memory>() {
    let domain = domain::<S, M>();
    let (context, fate) = object(&domain, 1);
    let other = context.clone();
    let dropper = worker(1, move || drop(other));
    let mut seat = domain.seat();
    let active = seat.enter(&context);
    drop(context);
    assert_eq!(active.look(), 1);
    drop(active);
    assert_eq!(seat.lazy().expect("the seat keeps it").look(), 1);
    drop(seat);
    dropper.join().unwrap();
    end(&domain, &[fate]);
}

fn used_lazily_and_cleared_under_the_last_drop<S: Scheme<M>, M: Memory>() {
    let domain = domain::<S, M>();
    let (context, fate) = object(&domain, 1);
    let mut seat = keeper(&domain, &context);
    let dropper = worker(1, move || drop(context));
    assert_eq!(seat.lazy().expect("the seat keeps it").look(), 1);
    seat.clear();
    assert!(seat.lazy().is_none());
    dropper.join().unwrap();
    end(&domain, &[fate]);
}

fn moved_on_under_the_last_drop<S: Scheme<M>, M: Memory>() {
    let domain = domain::<S, M>();
    let (context, fate) = object(&domain, 1);
    let (next, fate_of_next) = object(&domain, 2);
    let mut seat = keeper(&domain, &context);
    let dropper = worker(1, move || drop(context));
    assert_eq!(seat.enter(&next).look(), 2);
    drop(next);
    dropper.join().unwrap();
    fate.assert_gone();
    drop(seat);
    end(&domain, &[fate, fate_of_next]);
}

/// Both bits of a mask go ‖ the last handle.
fn cleared_by_two_seats_under_the_last_drop<S: Scheme<M>, M: Memory>() {
    let domain = domain::<S, M>();
    let (context, fate) = object(&domain, 1);
    let mut seat = keeper(&domain, &context);
    let mut other_seat = keeper(&domain, &context);
    let other = worker(1, move || {
        assert_eq!(other_seat.lazy().expect("the seat keeps it").look(), 1);
        other_seat.clear();
    });
    let dropper = worker(2, move || drop(context));
    assert_eq!(seat.lazy().expect("the seat keeps it").look(), 1);
    seat.clear();
    dropper.join().unwrap();
    other.join().unwrap();
    end(&domain, &[fate]);
}

/// A bit is set while another one of its word, which was the only one, goes.
fn entered_by_one_seat_while_another_is_cleared<S: Scheme<M>, M: Memory>() {
    let domain = domain::<S, M>();
    let (context, fate) = object(&domain, 1);
    let seat = keeper(&domain, &context);
    let mut other_seat = domain.seat();
    let other = worker(1, move || {
        let active = other_seat.enter(&context);
        drop(context);
        assert_eq!(active.look(), 1);
        drop(active);
        drop(other_seat);
    });
    drop(seat);
    other.join().unwrap();
    end(&domain, &[fate]);
}

/// Two first bits of a word, of which one takes the word's reference, and the other may be the last to go.
fn entered_and_left_by_two_seats<S: Scheme<M>, M: Memory>() {
    let domain = domain::<S, M>();
    let (context, fate) = object(&domain, 1);
    let other = {
        let context = context.clone();
        let mut seat = domain.seat();
        worker(1, move || {
            let active = seat.enter(&context);
            drop(context);
            assert_eq!(active.look(), 1);
            drop(active);
            seat.clear();
        })
    };
    let mut seat = domain.seat();
    let active = seat.enter(&context);
    drop(context);
    assert_eq!(active.look(), 1);
    drop(active);
    seat.clear();
    other.join().unwrap();
    end(&domain, &[fate]);
}

fn upgraded_by_a_seat_that_is_cleared_after_the_last_drop<S: Scheme<M>, M: Memory>() {
    let domain = domain::<S, M>();
    let (context, fate) = object(&domain, 1);
    let mut seat = keeper(&domain, &context);
    let dropper = worker(1, move || drop(context));
    let kept = seat.lazy().expect("the seat keeps it");
    let context = LazyGuard::upgrade(&kept).expect("the seat has a reference");
    drop(kept);
    drop(seat);
    assert_eq!(context.look(), 1);
    drop(context);
    dropper.join().unwrap();
    end(&domain, &[fate]);
}

/// Each of the schemes on both machines.
macro_rules! counting {
    ($($model:ident: $late:expr, $in_order:expr;)*) => {
        mod counted {
            use super::*;
            $(#[test]
            fn $model() {
                passes($late, super::$model::<Counted, Loom>);
                passes($in_order, super::$model::<Counted, InOrder>);
            })*
        }
        mod mask {
            use super::*;
            $(#[test]
            fn $model() {
                passes($late, super::$model::<Mask, Loom>);
                passes($in_order, super::$model::<Mask, InOrder>);
            })*
        }
    };
}

counting! {
    entered_under_the_last_drop: ALL, ALL;
    used_lazily_and_cleared_under_the_last_drop: ALL, ALL;
    moved_on_under_the_last_drop: ALL, ALL;
    cleared_by_two_seats_under_the_last_drop: ALL, ALL;
    entered_by_one_seat_while_another_is_cleared: ALL, ALL;
    entered_and_left_by_two_seats: Some(4), Some(4);
    upgraded_by_a_seat_that_is_cleared_after_the_last_drop: ALL, ALL;
}
