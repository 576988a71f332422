//! A few keys whose objects come and go while other threads look them up, acquire and drop them.

use crate::support::{Canary, objects, on_threads};
use std::hash::RandomState;
use std::sync::Arc;
use tenure::cache_line::CachePadded;
use tenure::count::generic::{IncNotZero, RcuRef, TicketRef};
use tenure::memory::{Memory, Native, Ordering};
use tenure::registry::generic::{Registered, Registry, RegistryCount};

type Counter = <Native as Memory>::AtomicU64;

struct Object {
    key: u32,
    canary: Canary,
    destroyed: Arc<Counter>,
}

impl Drop for Object {
    fn drop(&mut self) {
        self.canary.destroy();
        self.destroyed.fetch_add(1, Ordering::Relaxed);
    }
}

const KEYS: u32 = 3;

/// Each thread takes `turns` turns. Returns how many objects came and went.
fn race<C: RegistryCount>(turns: u32) -> u64 {
    race_with_linger::<C>(turns, 0)
}

/// So many objects may linger.
fn race_with_linger<C: RegistryCount>(turns: u32, places: usize) -> u64 {
    let hasher = RandomState::new();
    let registry = Registry::<u32, Object, C>::with_linger_and_hasher(places, hasher);
    let destroyed = Arc::new(Counter::new(0));
    let (same, gone) = (registry.clone(), destroyed.clone());
    on_threads(move |thread| {
        let mut kept = None;
        for turn in 0..turns {
            let key = (turn + thread as u32) % KEYS;
            let create = || Object { key, canary: Canary::new(), destroyed: destroyed.clone() };
            let found = match turn % 7 {
                0 => registry.get(&key),
                1 => registry.snapshot().pop(),
                2 => registry
                    .try_acquire(&key, || if turn % 2 == 0 { Ok(create()) } else { Err(()) })
                    .ok(),
                _ => Some(registry.acquire(&key, create)),
            };
            match turn % 256 {
                0 => registry.trim(),
                n if n % 64 == 0 => registry.sweep(),
                _ => {}
            }
            if let Some(found) = found {
                found.canary.check();
                // A removal is of the entry that died, not of the next one under its key.
                let same = registry.get(&found.key).expect("what is held is found");
                assert!(Registered::ptr_eq(&found, &same), "two live objects have one key");
                assert!(turn % 7 == 1 || found.key == key, "a key finds the object of another");
                let again = found.clone();
                // Kept until the next turn, so that others find it alive or dying.
                kept = (turn % 3 != 0).then_some(found);
                again.canary.check();
            }
        }
        drop(kept);
    });
    same.trim();
    let said = same.stats();
    assert_eq!(said.created, said.destroyed);
    assert_eq!(gone.load(Ordering::Relaxed), said.created);
    assert!(same.is_empty() && same.snapshot().is_empty());
    said.created
}

tests! {
    registered_objects_come_and_go_under_lookups_with_ticketref =>
        assert!(race::<TicketRef>(objects(100_000)) > 0);
    registered_objects_come_and_go_under_lookups_with_an_isolated_ticketref =>
        assert!(race::<CachePadded<TicketRef>>(objects(50_000)) > 0);
    registered_objects_come_and_go_under_lookups_with_rcuref =>
        assert!(race::<RcuRef>(objects(50_000)) > 0);
    registered_objects_come_and_go_under_lookups_with_inc_not_zero =>
        assert!(race::<IncNotZero>(objects(50_000)) > 0);
}

tests! {
    lingering_objects_come_and_go_under_lookups_with_ticketref =>
        for places in [1, 2] {
            assert!(race_with_linger::<TicketRef>(objects(50_000), places) > 0);
        };
    lingering_objects_come_and_go_under_lookups_with_rcuref =>
        assert!(race_with_linger::<RcuRef>(objects(50_000), 2) > 0);
}

#[test]
fn registries_end_under_their_last_references() {
    for _ in 0..objects(300) {
        let registry: Registry<u32, Canary> = Registry::new();
        let threads = on_threads({
            let registry = registry.clone();
            move |thread| {
                let mine = thread as u32 * 100;
                Vec::from_iter((mine..mine + 100).map(|key| registry.acquire(&key, Canary::new)))
            }
        });
        drop(registry);
        let threads = threads.into_iter().map(|held| {
            std::thread::spawn(move || {
                for object in held {
                    object.check();
                }
            })
        });
        for thread in Vec::from_iter(threads) {
            thread.join().unwrap();
        }
    }
}
