//! Objects that end at once: a combiner ends what the others have pushed, with shared barriers. When all threads have
//! returned, all that they dropped is gone.

use super::super::memory::{InOrder, Loom, PointersInOrder};
use super::super::stage::{ALL, JoinHandle, passes, slow, spawn};
use super::{Fate, Object, assert_ended, domain, ends_in_every_way, object, worker};
use std::iter;
use tenure::revocable::generic::{Domain, LocalHandle, On, Scheme, Shootdown, Strong, Verified};

struct Two<S: Scheme> {
    domain: Domain<Object, S>,
    local: LocalHandle<Object, S>,
    first: Strong<Object, S>,
    second: Strong<Object, S>,
    fates: [Fate; 2],
}

impl<S: Scheme> Two<S> {
    fn new() -> Self {
        let domain = domain();
        let (first, fate) = object(&domain, 1);
        let (second, fate_of_second) = object(&domain, 2);
        let mut local = domain.register();
        drop(local.enter(&first));
        Self { domain, local, first, second, fates: [fate, fate_of_second] }
    }
}

fn drop_as<S: Scheme>(number: usize, strong: Strong<Object, S>) -> JoinHandle<()> {
    worker(number, move || drop(strong))
}

pub(crate) fn two_die_on_two_threads<S: Scheme>() {
    let Two { domain, local, first, second, fates } = Two::<S>::new();
    let other = drop_as(1, second);
    drop(first);
    other.join().unwrap();
    assert_ended(&domain, 1, &fates);
    assert!(domain.stats().barriers <= 1, "one of them is kept");
    drop(local);
}

pub(super) fn two_that_two_workers_keep_die_on_two_threads<S: Scheme>() {
    let Two { domain, local, first, second, fates } = Two::<S>::new();
    let mut other_worker = domain.register();
    drop(other_worker.enter(&second));
    let other = drop_as(1, second);
    drop(first);
    other.join().unwrap();
    assert_ended(&domain, 2, &fates);
    let said = domain.stats();
    assert!((1..=2).contains(&said.barriers), "they share one or have one each");
    assert_eq!((said.revoked, said.donated), (2, 0), "both local handles are idle");
    drop((local, other_worker));
}

/// The combiner takes the other's object with its own, or goes round again; or each thread is a combiner.
#[test]
fn two_that_die_at_once_share_a_barrier_or_have_one_each() {
    ends_in_every_way(Some(3), [1, 2], || {
        let Two { domain, local: _local, first, second, .. } = Two::<On<Loom, Shootdown>>::new();
        let mut other_worker = domain.register();
        drop(other_worker.enter(&second));
        let other = drop_as(1, second);
        drop(first);
        other.join().unwrap();
        domain.stats().barriers
    });
}

pub(super) fn two_die_on_two_threads_under_a_worker<S: Scheme>() {
    let Two { domain, mut local, first, second, fates } = Two::<S>::new();
    let others = [drop_as(1, first), drop_as(2, second)];
    drop(local.kept().inspect(|kept| assert_eq!(kept.look(), 1)));
    others.into_iter().for_each(|other| other.join().unwrap());
    assert_ended(&domain, 1, &fates);
    drop(local);
}

pub(super) fn two_die_together_under_a_worker<S: Scheme>() {
    let Two { domain, mut local, first, second, fates } = Two::<S>::new();
    let mut other_worker = domain.register();
    drop(other_worker.enter(&second));
    let other = {
        let domain = domain.clone();
        worker(1, move || domain.drop_all([first, second]))
    };
    drop(local.kept().inspect(|kept| assert_eq!(kept.look(), 1)));
    other.join().unwrap();
    assert_ended(&domain, 2, &fates);
    assert_eq!(domain.stats().barriers, 1, "one for both");
    drop((local, other_worker));
}

pub(super) fn a_worker_moves_from_one_to_the_other_while_they_die_together<S: Scheme>() {
    let Two { domain, mut local, first, second, fates } = Two::<S>::new();
    let own = second.clone();
    let other = {
        let domain = domain.clone();
        worker(1, move || domain.drop_all([first, second]))
    };
    let active = local.enter(&own);
    drop(own);
    assert_eq!(active.look(), 2);
    drop(active);
    other.join().unwrap();
    assert_ended(&domain, 1, &fates);
    drop(local);
}

pub(super) fn one_dies_on_a_thread_without_a_number<S: Scheme>() {
    let Two { domain, mut local, first, second, fates } = Two::<S>::new();
    let nameless = spawn(move || drop(first));
    drop(second);
    drop(local.kept().inspect(|kept| assert_eq!(kept.look(), 1)));
    nameless.join().unwrap();
    assert_ended(&domain, 1, &fates);
    drop(local);
}

pub(super) fn both_die_on_threads_without_a_number<S: Scheme>() {
    let Two { domain, local, first, second, fates } = Two::<S>::new();
    let nameless = [spawn(move || drop(first)), spawn(move || drop(second))];
    nameless.into_iter().for_each(|thread| thread.join().unwrap());
    assert_ended(&domain, 1, &fates);
    drop(local);
}

pub(super) fn three_die_on_three_threads<S: Scheme>() {
    let Two { domain, local, first, second, fates: [one, two] } = Two::<S>::new();
    let (third, three) = object(&domain, 3);
    let others = [drop_as(1, second), drop_as(2, third)];
    drop(first);
    others.into_iter().for_each(|other| other.join().unwrap());
    assert_ended(&domain, 1, &[one, two, three]);
    drop(local);
}

/// Between a thread's push and its turn, a thread without a number empties the list: unless the turn is acquired, its
/// owner may find the list as empty as it was before another thread pushed and left.
pub(super) fn one_dies_beside_a_combiner_after_the_list_was_emptied<S: Scheme>() {
    let domain = domain::<S>();
    let (first, one) = object(&domain, 1);
    let (second, two) = object(&domain, 2);
    let (third, three) = object(&domain, 3);
    let mut later = Some((second, third));
    let mut other = None;
    let and_then = iter::from_fn(|| {
        let (second, third) = later.take()?;
        spawn(move || drop(second)).join().unwrap();
        other = Some(drop_as(1, third));
        None
    });
    domain.drop_all(iter::once(first).chain(and_then));
    other.expect("the iterator was used up").join().unwrap();
    assert_ended(&domain, 0, &[one, two, three]);
}

/// The last handle to the second object is in the first one.
pub(super) fn an_object_whose_end_ends_another_under_a_worker<S: Scheme>() {
    struct Chain<S: Scheme> {
        object: Object,
        _next: Option<Strong<Self, S>>,
    }

    let (first, one) = Object::new(1);
    let (second, two) = Object::new(2);
    super::begin::<S::Memory>();
    let domain = Domain::<_, S>::new_in();
    let second = domain.strong(Chain { object: second, _next: None });
    let mut local = domain.register();
    drop(local.enter(&second));
    let first = domain.strong(Chain { object: first, _next: Some(second) });
    let mut other_worker = domain.register();
    drop(other_worker.enter(&first));
    let other = worker(1, move || drop(first));
    drop(local.kept().inspect(|kept| assert_eq!(kept.object.look(), 2)));
    other.join().unwrap();
    one.assert_gone();
    two.assert_gone();
    assert_eq!(domain.stats().retired, 2);
    drop((local, other_worker));
}

shootdowns! {
    two_die_on_two_threads: Loom(Some(4)), Some(4), Some(3);
    two_that_two_workers_keep_die_on_two_threads: Loom(Some(4)), Some(4), Some(3);
    two_die_on_two_threads_under_a_worker: Loom(Some(2)), Some(2), Some(1);
    two_die_together_under_a_worker: Loom(slow(ALL)), Some(3), Some(3);
    a_worker_moves_from_one_to_the_other_while_they_die_together: PointersInOrder(Some(3)), Some(3), Some(3);
    one_dies_on_a_thread_without_a_number: Loom(Some(3)), Some(3), Some(3);
    both_die_on_threads_without_a_number: Loom(Some(2)), Some(2), Some(2);
    three_die_on_three_threads: Loom(slow(Some(2))), Some(2), slow(Some(2));
    one_dies_beside_a_combiner_after_the_list_was_emptied: Loom(ALL), ALL, ALL;
    an_object_whose_end_ends_another_under_a_worker: Loom(Some(3)), Some(3), Some(3);
}
