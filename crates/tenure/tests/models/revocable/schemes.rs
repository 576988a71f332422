//! The schemes whose local handles count: [`Counted`] and [`Mask`]. A value goes with the last handle, or with the last
//! local handle that moves on, is cleared, or goes: one of them destroys it, after all others.

use super::super::memory::{InOrder, Loom};
use super::super::stage::{ALL, passes, slow};
use super::{Fate, Object, domain, object, worker};
use tenure::revocable::generic::{Counted, Domain, Guard, LocalHandle, Mask, On, Scheme, Strong};

fn keeper<S: Scheme>(
    domain: &Domain<Object, S>,
    strong: &Strong<Object, S>,
) -> LocalHandle<Object, S> {
    let mut local = domain.register();
    drop(local.enter(strong));
    local
}

fn end<S: Scheme>(domain: &Domain<Object, S>, fates: &[Fate]) {
    fates.iter().for_each(Fate::assert_gone);
    let said = domain.stats();
    assert_eq!(said.retired, fates.len() as u64, "an object ends once");
    assert_eq!((said.barriers, said.revoked, said.donated), (0, 0, 0));
}

pub(super) fn entered_under_the_last_drop<S: Scheme>() {
    let domain = domain::<S>();
    let (strong, fate) = object(&domain, 1);
    let other = strong.clone();
    let dropper = worker(1, move || drop(other));
    let mut local = domain.register();
    let active = local.enter(&strong);
    drop(strong);
    assert_eq!(active.look(), 1);
    drop(active);
    assert_eq!(local.kept().expect("the local handle keeps it").look(), 1);
    drop(local);
    dropper.join().unwrap();
    end(&domain, &[fate]);
}

pub(super) fn used_lazily_and_cleared_under_the_last_drop<S: Scheme>() {
    let domain = domain::<S>();
    let (strong, fate) = object(&domain, 1);
    let mut local = keeper(&domain, &strong);
    let dropper = worker(1, move || drop(strong));
    assert_eq!(local.kept().expect("the local handle keeps it").look(), 1);
    local.clear();
    assert!(local.kept().is_none());
    dropper.join().unwrap();
    end(&domain, &[fate]);
}

pub(super) fn moved_on_under_the_last_drop<S: Scheme>() {
    let domain = domain::<S>();
    let (strong, fate) = object(&domain, 1);
    let (next, fate_of_next) = object(&domain, 2);
    let mut local = keeper(&domain, &strong);
    let dropper = worker(1, move || drop(strong));
    assert_eq!(local.enter(&next).look(), 2);
    drop(next);
    dropper.join().unwrap();
    fate.assert_gone();
    drop(local);
    end(&domain, &[fate, fate_of_next]);
}

/// Both bits of a mask go ‖ the last handle.
pub(super) fn cleared_by_two_workers_under_the_last_drop<S: Scheme>() {
    let domain = domain::<S>();
    let (strong, fate) = object(&domain, 1);
    let mut local = keeper(&domain, &strong);
    let mut other_worker = keeper(&domain, &strong);
    let other = worker(1, move || {
        assert_eq!(other_worker.kept().expect("the local handle keeps it").look(), 1);
        other_worker.clear();
    });
    let dropper = worker(2, move || drop(strong));
    assert_eq!(local.kept().expect("the local handle keeps it").look(), 1);
    local.clear();
    dropper.join().unwrap();
    other.join().unwrap();
    end(&domain, &[fate]);
}

/// A bit is set while the only other one of its word goes.
pub(super) fn entered_by_one_worker_while_another_is_cleared<S: Scheme>() {
    let domain = domain::<S>();
    let (strong, fate) = object(&domain, 1);
    let local = keeper(&domain, &strong);
    let mut other_worker = domain.register();
    let other = worker(1, move || {
        let active = other_worker.enter(&strong);
        drop(strong);
        assert_eq!(active.look(), 1);
        drop(active);
        drop(other_worker);
    });
    drop(local);
    other.join().unwrap();
    end(&domain, &[fate]);
}

/// Two first bits of a word: one takes the word's reference, and the other may be the last to go.
pub(crate) fn entered_and_left_by_two_workers<S: Scheme>() {
    let domain = domain::<S>();
    let (strong, fate) = object(&domain, 1);
    let other = {
        let strong = strong.clone();
        let mut local = domain.register();
        worker(1, move || {
            let active = local.enter(&strong);
            drop(strong);
            assert_eq!(active.look(), 1);
            drop(active);
            local.clear();
        })
    };
    let mut local = domain.register();
    let active = local.enter(&strong);
    drop(strong);
    assert_eq!(active.look(), 1);
    drop(active);
    local.clear();
    other.join().unwrap();
    end(&domain, &[fate]);
}

pub(super) fn upgraded_by_a_worker_that_is_cleared_after_the_last_drop<S: Scheme>() {
    let domain = domain::<S>();
    let (strong, fate) = object(&domain, 1);
    let mut local = keeper(&domain, &strong);
    let dropper = worker(1, move || drop(strong));
    let kept = local.kept().expect("the local handle keeps it");
    let strong = Guard::upgrade(&kept).expect("the local handle has a reference");
    drop(kept);
    drop(local);
    assert_eq!(strong.look(), 1);
    drop(strong);
    dropper.join().unwrap();
    end(&domain, &[fate]);
}

macro_rules! counting {
    ($($model:ident: $late:expr, $in_order:expr;)*) => {
        mod counted {
            use super::*;
            tests! { $($model => passes($late, super::$model::<On<Loom, Counted>>), passes($in_order, super::$model::<On<InOrder, Counted>>);)* }
        }
        mod mask {
            use super::*;
            tests! { $($model => passes($late, super::$model::<On<Loom, Mask>>), passes($in_order, super::$model::<On<InOrder, Mask>>);)* }
        }
    };
}

counting! {
    entered_under_the_last_drop: ALL, ALL;
    used_lazily_and_cleared_under_the_last_drop: ALL, ALL;
    moved_on_under_the_last_drop: ALL, ALL;
    cleared_by_two_workers_under_the_last_drop: ALL, ALL;
    entered_by_one_worker_while_another_is_cleared: slow(ALL), slow(ALL);
    entered_and_left_by_two_workers: slow(Some(4)), Some(4);
    upgraded_by_a_worker_that_is_cleared_after_the_last_drop: ALL, ALL;
}
