//! Random sequences of operations, against a map of weak pointers to what std's `Arc` counts.

use crate::cases::cases;
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use tenure::cache_line::CachePadded;
use tenure::count::{IncNotZero, RcuRef, TicketRef};
use tenure::registry::{Ref, Registry, RegistryCount};

#[derive(Debug, Clone)]
enum Operation {
    Acquire(u8),
    /// An acquire whose create fails, if it is called.
    Fail(u8),
    Get(u8),
    /// Of the reference of that number, modulo how many there are.
    Clone(usize),
    Drop(usize),
    Snapshot,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    use Operation::{Acquire, Clone, Drop, Fail, Get, Snapshot};
    let key = || 0..6_u8;
    let which = || 0..64_usize;
    let operation = prop_oneof![
        8 => key().prop_map(Acquire),
        2 => key().prop_map(Fail),
        4 => key().prop_map(Get),
        3 => which().prop_map(Clone),
        10 => which().prop_map(Drop),
        1 => Just(Snapshot),
    ];
    prop::collection::vec(operation, 0..300)
}

/// Ours, and the oracle's. Both are the number of the object.
type Held<C> = (Ref<u8, Arc<u32>, C>, Arc<u32>);

fn agrees<C: RegistryCount>(operations: &[Operation]) {
    let objects = Registry::<u8, Arc<u32>, C>::default();
    let mut oracle = HashMap::<u8, Weak<u32>>::new();
    let mut held = Vec::<Held<C>>::new();
    let (mut created, mut failed) = (0, 0);
    for operation in operations {
        match operation {
            Operation::Acquire(key) => {
                let found = oracle.get(key).and_then(Weak::upgrade);
                let is_there = found.is_some();
                let theirs = found.unwrap_or_else(|| {
                    created += 1;
                    Arc::new(created)
                });
                oracle.insert(*key, Arc::downgrade(&theirs));
                let ours = objects.acquire(key, || {
                    assert!(!is_there, "created although it is there");
                    Arc::new(*theirs)
                });
                held.push((ours, theirs));
            }
            Operation::Fail(key) => {
                let ours = objects.try_acquire(key, || Err("no"));
                match oracle.get(key).and_then(Weak::upgrade) {
                    Some(theirs) => held.push((ours.unwrap(), theirs)),
                    None => {
                        failed += 1;
                        assert_eq!(ours.unwrap_err(), "no");
                    }
                }
            }
            Operation::Get(key) => {
                let theirs = oracle.get(key).and_then(Weak::upgrade);
                let ours = objects.get(key);
                assert_eq!(ours.is_some(), theirs.is_some());
                held.extend(ours.zip(theirs));
            }
            Operation::Clone(which) if !held.is_empty() => {
                held.push(held[which % held.len()].clone());
            }
            Operation::Drop(which) if !held.is_empty() => {
                drop(held.swap_remove(which % held.len()));
            }
            Operation::Clone(_) | Operation::Drop(_) => {}
            Operation::Snapshot => {
                let alive = oracle.values().filter(|weak| weak.strong_count() > 0).count();
                let seen = objects.snapshot();
                assert_eq!(seen.len(), alive);
                for ours in seen {
                    assert_eq!(oracle[Ref::key(&ours)].upgrade().as_deref(), Some(&**ours));
                }
            }
        }
        let alive = oracle.values().filter(|weak| weak.strong_count() > 0).count();
        assert_eq!((objects.len(), objects.is_empty()), (alive, alive == 0));
        for (ours, theirs) in &held {
            assert_eq!(***ours, **theirs);
            assert_eq!(Ref::count(ours) as usize, Arc::strong_count(theirs));
        }
        let said = objects.statistics();
        let figures = (said.created, said.destroyed, said.failed, said.waited, said.met_dead);
        let destroyed = u64::from(created) - alive as u64;
        assert_eq!(figures, (u64::from(created), destroyed, failed, 0, 0));
    }
}

proptest! {
    #![proptest_config(cases(256, 3))]

    #[test]
    fn a_registry_has_what_a_map_of_weak_pointers_has(operations in operations()) {
        agrees::<TicketRef>(&operations);
        agrees::<RcuRef>(&operations);
        agrees::<IncNotZero>(&operations);
        agrees::<CachePadded<TicketRef>>(&operations);
    }
}
