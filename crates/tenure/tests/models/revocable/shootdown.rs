//! One object that ends under local handles that keep it, use it, find it again, move on, and go.
//!
//! This thread has the local handle, and another drops the last handle. Then the value is gone, whether the local
//! handle has noticed or not: the local handles are dropped after that question.

use super::super::clocks::counts_are_held;
use super::super::memory::{InOrder, Loom, PointersInOrder, fenced, heavy_barriers, unfenced};
use super::super::stage::{ALL, Heap, passes, slow, spawn};
use super::{Fate, Object, assert_ended, domain, ends_in_every_way, object, worker};
use tenure::memory::{Atomic, Memory, Ordering};
use tenure::revocable::generic::{
    Domain, Guard, LocalHandle, On, Scheme, Shootdown, Strong, Verified,
};

/// A local handle that keeps an object of value 1, and the only handle to it.
fn keep<S: Scheme>(
    domain: &Domain<Object, S>,
) -> (LocalHandle<Object, S>, Strong<Object, S>, Fate) {
    let (strong, fate) = object(domain, 1);
    let mut local = domain.register();
    drop(local.enter(&strong));
    (local, strong, fate)
}

fn look_lazily<S: Scheme>(local: &mut LocalHandle<Object, S>) -> bool {
    local.kept().inspect(|kept| assert_eq!(kept.look(), 1)).is_some()
}

/// `owner` acts on a local handle that has kept an object ‖ the object's last handle goes.
fn under_the_last_drop<S: Scheme>(owner: impl FnOnce(&mut LocalHandle<Object, S>)) {
    let domain = domain::<S>();
    counts_are_held();
    let (mut local, strong, fate) = keep(&domain);
    let dropper = worker(1, move || drop(strong));
    owner(&mut local);
    dropper.join().unwrap();
    assert!(local.kept().is_none());
    assert_ended(&domain, 1, &[fate]);
}

/// As above, of a local handle that the owner may give back, beside another object, of value 2. What `owner` returns is
/// called after the first one has ended, and what that returns is dropped after all have.
fn under_the_last_drop_beside<S: Scheme, K, R: FnOnce() -> K>(
    owner: impl FnOnce(&Domain<Object, S>, LocalHandle<Object, S>, Strong<Object, S>) -> R,
) {
    let domain = domain::<S>();
    counts_are_held();
    let (local, strong, fate) = keep(&domain);
    let (next, fate_of_next) = object(&domain, 2);
    let dropper = worker(1, move || drop(strong));
    let after = owner(&domain, local, next);
    dropper.join().unwrap();
    fate.assert_gone();
    let kept = after();
    assert_ended(&domain, 1, &[fate, fate_of_next]);
    drop(kept);
}

/// One handle is dropped ‖ an owner, which has kept the object or not, enters it by another and drops that inside or
/// after.
fn entered_under_a_drop<S: Scheme>(has_kept: bool, drops_inside: bool) {
    let domain = domain::<S>();
    let (strong, fate) = object(&domain, 1);
    let other = strong.clone();
    let mut local = domain.register();
    if has_kept {
        drop(local.enter(&strong));
    }
    let dropper = worker(1, move || drop(other));
    let active = local.enter(&strong);
    let after = if drops_inside {
        drop(strong);
        None
    } else {
        Some(strong)
    };
    assert_eq!(active.look(), 1);
    drop(active);
    drop(after);
    dropper.join().unwrap();
    assert_ended(&domain, 1, &[fate]);
}

pub(super) fn entered_and_its_handle_dropped_inside<S: Scheme>() {
    entered_under_a_drop::<S>(false, true);
}

pub(super) fn entered_and_its_handle_dropped_outside<S: Scheme>() {
    entered_under_a_drop::<S>(false, false);
}

pub(super) fn entered_again_and_its_handle_dropped_inside<S: Scheme>() {
    entered_under_a_drop::<S>(true, true);
}

pub(crate) fn left_under_the_last_drop<S: Scheme>() {
    let domain = domain::<S>();
    counts_are_held();
    let (strong, fate) = object(&domain, 1);
    let mut local = domain.register();
    let active = local.enter(&strong);
    let dropper = worker(1, move || drop(strong));
    assert_eq!(active.look(), 1);
    drop(active);
    dropper.join().unwrap();
    assert_ended(&domain, 1, &[fate]);
}

pub(super) fn the_last_handle_dropped_inside_its_own_guard_under_a_worker_that_keeps_it<
    S: Scheme,
>() {
    let domain = domain::<S>();
    let (mut local, strong, fate) = keep(&domain);
    let mut own = domain.register();
    let dropper = worker(1, move || {
        let active = own.enter(&strong);
        drop(strong);
        assert_eq!(active.look(), 1);
        drop(active);
        own
    });
    look_lazily(&mut local);
    let own = dropper.join().unwrap();
    assert_ended(&domain, 2, &[fate]);
    drop(own);
}

pub(super) fn used_lazily_under_the_last_drop<S: Scheme>() {
    under_the_last_drop::<S>(|local| _ = look_lazily(local));
}

pub(super) fn used_lazily_twice_under_the_last_drop<S: Scheme>() {
    under_the_last_drop::<S>(|local| {
        let first = look_lazily(local);
        let second = look_lazily(local);
        assert!(first || !second, "what was lost is found again");
    });
}

pub(super) fn used_lazily_by_two_workers_under_the_last_drop<S: Scheme>() {
    let domain = domain::<S>();
    let (mut local, strong, fate) = keep(&domain);
    let mut second = domain.register();
    drop(second.enter(&strong));
    let second = worker(1, move || {
        look_lazily(&mut second);
        second
    });
    let dropper = worker(2, move || drop(strong));
    look_lazily(&mut local);
    dropper.join().unwrap();
    let second = second.join().unwrap();
    assert_ended(&domain, 2, &[fate]);
    drop(second);
}

/// Found or not; and taken by the reclaimer from an idle owner, donated to an active one, or given up by its owner.
#[test]
fn a_use_under_the_last_drop_ends_in_every_way() {
    let ways =
        [(false, 0, 0), (false, 0, 1), (false, 1, 0), (true, 0, 0), (true, 0, 1), (true, 1, 0)];
    ends_in_every_way(ALL, ways, || {
        let domain = domain::<On<Loom, Shootdown>>();
        let (mut local, strong, _) = keep(&domain);
        let dropper = worker(1, move || drop(strong));
        let used = look_lazily(&mut local);
        dropper.join().unwrap();
        let said = domain.stats();
        (used, said.revoked, said.donated)
    });
}

pub(super) fn moved_on_under_the_last_drop<S: Scheme>() {
    under_the_last_drop_beside::<S, _, _>(|_, mut local, next| {
        assert_eq!(local.enter(&next).look(), 2);
        move || {
            assert_eq!(local.kept().expect("it has a handle").look(), 2);
            drop(next);
            local
        }
    });
}

pub(super) fn used_lazily_and_moved_on_under_the_last_drop<S: Scheme>() {
    under_the_last_drop_beside::<S, _, _>(|_, mut local, next| {
        look_lazily(&mut local);
        let active = local.enter(&next);
        assert_eq!(active.look(), 2);
        drop(next);
        drop(active);
        || local
    });
}

pub(super) fn moved_on_and_come_back_under_a_drop<S: Scheme>() {
    let domain = domain::<S>();
    let (mut local, strong, fate) = keep(&domain);
    let (next, fate_of_next) = object(&domain, 2);
    let other = strong.clone();
    let dropper = worker(1, move || drop(other));
    assert_eq!(local.enter(&next).look(), 2);
    assert_eq!(local.enter(&strong).look(), 1);
    drop(strong);
    look_lazily(&mut local);
    dropper.join().unwrap();
    fate.assert_gone();
    drop(next);
    assert_ended(&domain, 1, &[fate, fate_of_next]);
}

pub(super) fn a_forgotten_guard_ends_with_the_next_use<S: Scheme>() {
    let domain = domain::<S>();
    let (strong, fate) = object(&domain, 1);
    let (next, fate_of_next) = object(&domain, 2);
    let mut local = domain.register();
    std::mem::forget(local.enter(&strong));
    let dropper = worker(1, move || drop(strong));
    assert_eq!(local.enter(&next).look(), 2);
    dropper.join().unwrap();
    fate.assert_gone();
    drop(next);
    assert_ended(&domain, 1, &[fate, fate_of_next]);
}

pub(super) fn a_forgotten_guard_ends_with_a_clear<S: Scheme>() {
    let domain = domain::<S>();
    let (strong, fate) = object(&domain, 1);
    let mut local = domain.register();
    std::mem::forget(local.enter(&strong));
    let dropper = worker(1, move || drop(strong));
    local.clear();
    assert!(local.kept().is_none());
    dropper.join().unwrap();
    assert_ended(&domain, 1, &[fate]);
}

/// Otherwise the reclaimer donates a reference to what the worker has overwritten. With late stores; nothing ends the
/// next object while the worker uses it.
pub(super) fn moved_on_to_what_stays_under_the_last_drop() {
    under_the_last_drop_beside::<On<Loom, Shootdown>, _, _>(|_, mut local, next| {
        assert_eq!(local.enter(&next).look(), 2);
        || drop((local, next))
    });
}

#[test]
fn a_reclaimer_that_finds_an_owner_active_finds_what_it_uses() {
    passes(ALL, moved_on_to_what_stays_under_the_last_drop);
}

/// The reclaimer sees by a relaxed load that the worker has moved on, and passes no barrier: only the word itself
/// passes on the use.
pub(super) fn moved_on_before_the_last_drop() {
    type Flag = <PointersInOrder as Memory>::AtomicU32;
    let domain = domain::<On<PointersInOrder, Shootdown>>();
    let (mut local, strong, fate) = keep(&domain);
    let (next, fate_of_next) = object(&domain, 2);
    let has_moved_on = Heap::new(Flag::new(0));
    let dropper = {
        let has_moved_on = has_moved_on.clone();
        worker(1, move || (has_moved_on.load(Ordering::Relaxed) == 0).then_some(strong))
    };
    // There are no barriers of the reclaimer to pair with.
    unfenced(|| {
        look_lazily(&mut local);
        drop(local.enter(&next));
    });
    has_moved_on.store(1, Ordering::Relaxed);
    drop(dropper.join().unwrap());
    drop(next);
    assert_ended(&domain, 1, &[fate, fate_of_next]);
}

#[test]
fn a_use_is_seen_by_a_reclaimer_that_finds_another_object() {
    passes(ALL, moved_on_before_the_last_drop);
}

/// The local handle has used the object without a handle and moved on to one that ended under it. After giving that
/// reference back it has nothing: a reclaimer that sees this passes no barrier, so only the word itself passes on the
/// use. The reclaimer has no number, because turns order reclaimers, and sees by a relaxed load that the handle has
/// moved on.
pub(super) fn moved_on_and_given_back_before_the_last_drop() {
    type Flag = <PointersInOrder as Memory>::AtomicU32;
    let domain = domain::<On<PointersInOrder, Shootdown>>();
    let (mut local, strong, fate) = keep(&domain);
    let (next, fate_of_next) = object(&domain, 2);
    let has_moved_on = Heap::new(Flag::new(0));
    let nameless = {
        let has_moved_on = has_moved_on.clone();
        spawn(move || (has_moved_on.load(Ordering::Relaxed) == 0).then_some(strong))
    };
    // There are no barriers of the first object's reclaimer to pair with.
    unfenced(|| look_lazily(&mut local));
    let active = local.enter(&next);
    has_moved_on.store(1, Ordering::Relaxed);
    let reclaimer = worker(1, move || {
        drop(next);
        heavy_barriers()
    });
    if reclaimer.join().unwrap() == 1 {
        // The donation is there: a light barrier has nothing left to do.
        unfenced(|| drop(active));
    } else {
        // The other thread has both objects.
        drop(active);
    }
    drop(nameless.join().unwrap());
    assert_ended(&domain, 1, &[fate, fate_of_next]);
}

#[test]
fn a_use_is_seen_by_a_reclaimer_that_finds_the_next_object_given_back() {
    passes(Some(3), moved_on_and_given_back_before_the_last_drop);
}

pub(super) fn cleared_under_the_last_drop<S: Scheme>() {
    under_the_last_drop::<S>(|local| {
        local.clear();
        assert!(local.kept().is_none());
    });
}

pub(super) fn used_lazily_and_cleared_under_the_last_drop<S: Scheme>() {
    under_the_last_drop::<S>(|local| {
        look_lazily(local);
        local.clear();
    });
}

/// The reclaimer passes over the slot, of which no handle is left.
pub(super) fn used_lazily_and_given_back_under_the_last_drop<S: Scheme>() {
    let domain = domain::<S>();
    let (mut local, strong, fate) = keep(&domain);
    let dropper = worker(1, move || drop(strong));
    look_lazily(&mut local);
    drop(local);
    dropper.join().unwrap();
    assert_ended(&domain, 1, &[fate]);
}

pub(super) fn given_back_and_taken_again_under_the_last_drop<S: Scheme>() {
    under_the_last_drop_beside::<S, _, _>(|domain, local, next| {
        drop(local);
        let mut local = domain.register();
        assert!(local.kept().is_none());
        assert_eq!(local.enter(&next).look(), 2);
        || {
            drop(next);
            local
        }
    });
}

pub(super) fn given_back_and_taken_by_another_thread_under_the_last_drop<S: Scheme>() {
    let domain = domain::<S>();
    let (local, strong, fate) = keep(&domain);
    let (next, fate_of_next) = object(&domain, 2);
    let dropper = worker(1, move || drop(strong));
    let other = {
        let domain = domain.clone();
        worker(2, move || {
            let mut local = domain.register();
            let active = local.enter(&next);
            drop(next);
            assert_eq!(active.look(), 2);
        })
    };
    drop(local);
    dropper.join().unwrap();
    other.join().unwrap();
    assert_ended(&domain, 1, &[fate, fate_of_next]);
}

/// The next owner of the slot enters the object that the last one has given back, and ends it.
pub(super) fn given_back_and_taken_by_another_thread_for_the_same_object<S: Scheme>() {
    let domain = domain::<S>();
    let (local, strong, fate) = keep(&domain);
    let other = {
        let domain = domain.clone();
        worker(1, move || {
            let mut local = domain.register();
            let active = local.enter(&strong);
            drop(strong);
            assert_eq!(active.look(), 1);
        })
    };
    drop(local);
    other.join().unwrap();
    assert_ended(&domain, 2, &[fate]);
}

/// The word of a block that is kept has a tag where light barriers are not free.
fn kept_without_a_race() {
    let domain = domain::<On<InOrder, Shootdown>>();
    let (mut local, strong, fate) = keep(&domain);
    assert!(look_lazily(&mut local) && look_lazily(&mut local));
    drop(strong);
    assert_ended(&domain, 1, &[fate]);
}

/// Two handles are registered at once, one of them in the place of a third.
fn registered_at_once() {
    let domain = domain::<On<PointersInOrder, Shootdown>>();
    let first = domain.register();
    let other = {
        let domain = domain.clone();
        worker(1, move || domain.register())
    };
    drop(first);
    let locals = [domain.register(), other.join().unwrap()];
    let [mine, theirs] = locals.each_ref().map(|local| format!("{local:?}"));
    assert_ne!(mine, theirs, "a slot has two owners");
    assert_eq!(domain.stats().local_handles, 2);
}

pub(super) fn upgraded_under_the_last_drop<S: Scheme>() {
    let domain = domain::<S>();
    let (strong, fate) = object(&domain, 1);
    let mut local = domain.register();
    let active = local.enter(&strong);
    let dropper = worker(1, move || drop(strong));
    let upgraded = Guard::upgrade(&active);
    drop(active);
    if let Some(strong) = upgraded {
        assert_eq!(strong.look(), 1);
        assert_eq!(local.enter(&strong).look(), 1);
        drop(strong);
    }
    dropper.join().unwrap();
    assert_ended(&domain, 1, &[fate]);
}

pub(super) fn upgraded_lazily_under_the_last_drop<S: Scheme>() {
    let domain = domain::<S>();
    let (mut local, strong, fate) = keep(&domain);
    let dropper = worker(1, move || drop(strong));
    let upgraded = local.kept().and_then(|kept| Guard::upgrade(&kept));
    upgraded.into_iter().for_each(|strong| assert_eq!(strong.look(), 1));
    dropper.join().unwrap();
    assert_ended(&domain, 1, &[fate]);
}

tests! {
    what_is_left_is_kept_where_barriers_are_fences => passes(ALL, kept_without_a_race);
    a_slot_has_one_owner => passes(Some(4), registered_at_once);
    a_use_is_seen_where_barriers_are_fences =>
        passes(Some(4), || fenced(used_lazily_twice_under_the_last_drop::<On<Loom, Shootdown>>)),
        passes(ALL, || fenced(left_under_the_last_drop::<On<Loom, Shootdown>>)),
        passes(Some(4), || fenced(entered_again_and_its_handle_dropped_inside::<On<Loom, Shootdown>>)),
        passes(Some(4), || fenced(moved_on_and_come_back_under_a_drop::<On<PointersInOrder, Shootdown>>));
}

shootdowns! {
    entered_and_its_handle_dropped_inside: Loom(ALL), ALL, Some(3);
    entered_and_its_handle_dropped_outside: Loom(ALL), ALL, Some(3);
    entered_again_and_its_handle_dropped_inside: Loom(ALL), ALL, Some(3);
    left_under_the_last_drop: Loom(ALL), ALL, Some(3);
    the_last_handle_dropped_inside_its_own_guard_under_a_worker_that_keeps_it: Loom(ALL), Some(4), Some(3);
    used_lazily_under_the_last_drop: Loom(ALL), Some(4), Some(3);
    used_lazily_twice_under_the_last_drop: Loom(ALL), slow(Some(4)), Some(3);
    used_lazily_by_two_workers_under_the_last_drop: Loom(Some(2)), Some(2), Some(2);
    moved_on_under_the_last_drop: PointersInOrder(ALL), ALL, Some(3);
    used_lazily_and_moved_on_under_the_last_drop: PointersInOrder(slow(Some(3))), slow(Some(3)), slow(Some(3));
    moved_on_and_come_back_under_a_drop: PointersInOrder(ALL), slow(Some(4)), Some(3);
    a_forgotten_guard_ends_with_the_next_use: PointersInOrder(ALL), Some(4), Some(3);
    a_forgotten_guard_ends_with_a_clear: Loom(ALL), Some(4), Some(3);
    cleared_under_the_last_drop: Loom(ALL), ALL, Some(3);
    used_lazily_and_cleared_under_the_last_drop: Loom(ALL), Some(4), Some(3);
    used_lazily_and_given_back_under_the_last_drop: Loom(Some(3)), Some(3), Some(3);
    given_back_and_taken_again_under_the_last_drop: PointersInOrder(ALL), slow(Some(4)), slow(Some(3));
    given_back_and_taken_by_another_thread_under_the_last_drop: PointersInOrder(slow(Some(2))), Some(2), Some(1);
    given_back_and_taken_by_another_thread_for_the_same_object: PointersInOrder(Some(3)), Some(3), Some(3);
    upgraded_under_the_last_drop: Loom(ALL), ALL, Some(3);
    upgraded_lazily_under_the_last_drop: Loom(ALL), Some(4), Some(3);
}
