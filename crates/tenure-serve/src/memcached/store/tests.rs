use super::*;
use crate::memcached::counters::Workers;
use tenure::count::{IncNotZero, RcuRef, TicketRef};

fn config(memory: u64) -> Config {
    Config { memory, ..Config::default() }
}

fn store<C: RefCount + 'static>(visit: &Visit<'_, C>, name: &str, data: &str) -> ItemRef<C> {
    let key = visit.key(name.as_bytes());
    let (bytes, hash, len) = (key.bytes, key.hash, data.len());
    let recipe = Recipe { key: bytes, hash, flags: 0, expiry: 0, len, state: 0, number: 0 };
    let mut draft = visit.draft(&recipe).unwrap();
    draft.fill(data.as_bytes());
    draft.fill(b"\r\n");
    let item = draft.finish();
    let how = Storing { verb: Verb::Set, cas: 0, stale: false, makes: false };
    assert!(matches!(visit.store(&item, how), Outcome::Done { .. }));
    item
}

fn an_item_outlives_the_store_while_it_has_a_reference<C: RefCount + 'static>() {
    let workers = Workers::new();
    let worker = workers.join();
    let all = Store::<C>::new(&config(1 << 20), 1 << 20);
    let arena = all.arena.clone();
    let alive = || arena.items();
    let held = {
        let visit = all.visit(&worker, 100);
        for number in 0..100 {
            drop(store(&visit, &format!("key{}", number % 50), "value"));
        }
        let held = store(&visit, "held", "held");
        drop(store(&visit, "held", "new"));
        visit.settle();
        held
    };
    assert_eq!((all.len(), alive()), (51, 52));
    drop(all);
    assert_eq!((held.short_data(), alive()), (Some(&b"held"[..]), 1));
    drop(held);
    assert_eq!(alive(), 0);
}

#[test]
fn with_every_count_an_item_outlives_the_store_while_it_has_a_reference() {
    an_item_outlives_the_store_while_it_has_a_reference::<IncNotZero>();
    an_item_outlives_the_store_while_it_has_a_reference::<RcuRef>();
    an_item_outlives_the_store_while_it_has_a_reference::<TicketRef>();
}

#[test]
fn a_thread_that_leaves_while_others_look_keeps_nothing_back() {
    let workers = Workers::new();
    let all = Store::<TicketRef>::new(&config(1 << 20), 1 << 20);
    let here = workers.join();
    let looking = all.visit(&here, 100);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let worker = workers.join();
            let visit = all.visit(&worker, 100);
            drop(store(&visit, "key", "value"));
            assert_eq!(visit.delete(visit.key(b"key"), None, ""), Removal::Done);
            workers.leave(&worker, |threads| visit.leave(threads));
        });
    });
    assert_eq!((all.len(), all.alive().0), (0, 1), "kept for who looks");
    drop(looking);
    assert_eq!(all.alive(), (0, 0));
}

#[test]
fn a_full_shard_makes_others_give_way() {
    let workers = Workers::new();
    let worker = workers.join();
    let all = Store::<TicketRef>::new(&config(10_000), 1 << 20);
    let visit = all.visit(&worker, 100);
    for number in 0..20 {
        drop(store(&visit, &format!("key{number}"), &"x".repeat(900)));
    }
    assert!(all.used() <= 10_000 && all.len() >= 7, "{} bytes, {} items", all.used(), all.len());
    drop(store(&visit, "large", &"x".repeat(9_000)));
    assert_eq!(all.len(), 1);
    assert!(visit.find(visit.key(b"large")).is_some());
}
