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

#[test]
fn blocks_that_many_items_left_are_emptied_without_a_store() {
    let workers = Workers::new();
    let worker = workers.join();
    let limit = 4 << 20;
    let all = Store::<TicketRef>::new(&config(limit), 1 << 20);
    let visit = all.visit(&worker, 100);
    let value = "x".repeat(1000);
    let names: Vec<_> = (0..3000).map(|number| format!("key{number}")).collect();
    names.iter().for_each(|name| drop(store(&visit, name, &value)));
    for name in names.iter().filter(|name| !name.ends_with('0')) {
        assert_eq!(visit.delete(visit.key(name.as_bytes()), None, ""), Removal::Done);
    }
    drop(visit);
    all.visit(&worker, 100).settle();
    let gaps = || all.arena.figures().blocks - all.arena.live();
    assert!(gaps() > limit / 2, "{} bytes", gaps());
    for _ in 0..3 {
        all.visit(&worker, 101).keep_house();
    }
    assert!(gaps() < limit / 8, "{} bytes", gaps());
    assert!(names.iter().step_by(10).all(|name| {
        let visit = all.visit(&worker, 101);
        visit.find(visit.key(name.as_bytes())).is_some()
    }));
}

#[test]
fn what_was_unlinked_while_the_map_grew_goes_without_a_store() {
    let workers = Workers::new();
    let worker = workers.join();
    let all = Store::<TicketRef>::new(&config(64 << 20), 1 << 20);
    for number in 0..5000 {
        let visit = all.visit(&worker, 100);
        for number in [number, number / 2] {
            drop(store(&visit, &format!("key{number}"), "value"));
        }
        drop(visit);
        if number % 16 == 0 {
            // The old table goes in the first second, what it kept in the next.
            for _ in 0..2 {
                all.visit(&worker, 100).keep_house();
            }
            assert_eq!(all.alive().0, all.len() as u64);
        }
    }
}
