//! What the cache evicts, and that it keeps to its memory.

use proptest::prelude::*;

use crate::support::{Server, set};

const NO_MEMORY: &str = "SERVER_ERROR out of memory storing object\r\n";

#[test]
fn memory_stays_within_the_limit_and_what_is_used_stays() {
    let mut server = Server::with_memory(1 << 20);
    for number in 0..5000 {
        if number >= 100 {
            assert!(server.has("hot"), "at {number}");
        } else {
            server.set("hot", 1000);
        }
        assert_eq!(server.set(format_args!("k{number}"), 1000), "STORED\r\n");
        assert!(server.cache.used() <= 1 << 20);
    }
    assert!(!server.has("k0") && server.has("k4999"));
    let items = server.stat("curr_items");
    assert!((700..1000).contains(&items), "{items} items");
    assert_eq!(server.stat("evictions"), 5001 - items);
}

#[test]
fn a_new_value_stays_though_all_others_are_used() {
    // Few enough that some shards have one item, or none.
    let mut server = Server::with_memory(1 << 20);
    for number in 0..400_usize {
        let earlier = number.max(200) - 200..number;
        server.ask(earlier.map(|key| format!("mg k{key}\r\n")).collect::<String>());
        let key = format!("k{number}");
        assert_eq!(server.set(&key, 10_000), "STORED\r\n");
        assert!(server.has(&key), "{key} has gone");
        assert!(server.cache.used() <= 1 << 20);
        // A longer value for a key that is mostly the only one of its shard.
        assert_eq!(server.ask(set(&key, 5000).replace("set", "append")), "STORED\r\n");
        assert!(server.has(&key), "the longer {key} has gone");
    }
}

#[test]
fn expired_items_make_room_before_live_ones() {
    let mut server = Server::with_memory(1 << 20);
    let value = "x".repeat(1000);
    for number in 0..400 {
        server.set(format_args!("k{number}"), 1000);
        server.ask(format!("set old{number} 0 10 1000\r\n{value}\r\nget old{number}\r\n"));
    }
    server.tick(20);
    for number in 0..300 {
        server.set(format_args!("new{number}"), 1000);
    }
    assert!(server.stat("reclaimed") > 0);
    assert!(server.cache.used() <= 1 << 20);
}

#[test]
fn large_values_that_were_replaced_do_not_pile_up() {
    let mut server = Server::with_memory(4 << 20);
    for number in 0..100 {
        server.set(format_args!("k{}", number % 5), 400_000);
        let bytes = server.stat("items_alive_bytes");
        assert!(bytes < 4 << 20, "{bytes} bytes after {number}");
    }
}

#[test]
fn the_limit_may_be_changed_while_the_server_runs() {
    let mut server = Server::with_memory(64 << 20);
    server.fill(0..200, 100_000);
    assert_eq!(server.stat("curr_items"), 200);
    assert_eq!(server.ask("cache_memlimit 8\r\nset k 0 0 1\r\n1\r\n"), "OK\r\nSTORED\r\n");
    assert!(server.cache.used() <= 8 << 20);
}

#[test]
fn a_lowered_limit_refuses_no_value_of_any_size() {
    for (memory, values, len) in [(32 << 20, 1600, 20_000), (128 << 20, 45_000, 2000)] {
        let mut server = Server::with_memory(memory);
        server.fill(0..values, len);
        assert!(server.cache.used() > 28 << 20);
        assert_eq!(server.ask("cache_memlimit 8\r\n"), "OK\r\n");
        for key in 0..200 {
            let stored = server.set(format_args!("k{key}"), len);
            assert_eq!(stored, "STORED\r\n", "k{key} of {len} bytes");
        }
        assert!(server.cache.used() <= 8 << 20, "{} bytes", server.cache.used());
        server.ask("flush_all\r\n");
        assert_eq!(server.set("k0", len), "STORED\r\n");
    }
}

#[derive(Debug, Clone)]
enum Step {
    Limit(u32),
    Set { key: u8, len: usize },
    Flush,
}

fn step() -> impl Strategy<Value = Step> {
    let len = prop_oneof![0..100_usize, 0..16_000_usize, 16_000..1_000_000_usize];
    prop_oneof![
        1 => (8..40_u32).prop_map(Step::Limit),
        12 => (any::<u8>(), len).prop_map(|(key, len)| Step::Set { key, len }),
        1 => Just(Step::Flush),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_value_that_fits_is_stored_on_the_second_try_at_the_latest(
        steps in proptest::collection::vec(step(), 1..80)
    ) {
        let mut server = Server::with_memory(64 << 20);
        for step in steps {
            match step {
                Step::Limit(mebibytes) => drop(server.ask(format!("cache_memlimit {mebibytes}\r\n"))),
                Step::Flush => drop(server.ask("flush_all\r\n")),
                Step::Set { key, len } => {
                    let set = set(format_args!("k{key}"), len);
                    let first = server.ask(&set);
                    prop_assert!(first == "STORED\r\n" || server.ask(&set) == "STORED\r\n", "{len} bytes: {first}");
                }
            }
        }
    }
}

/// Stores three times as many values as fit. Returns how many of the newest are found, and how many items are left.
fn newest_that_stay(memory: u64, len: usize) -> (usize, usize) {
    let mut server = Server::with_memory(memory);
    let stored = 3 * memory as usize / len;
    server.fill(0..stored, len);
    let items = server.stat("curr_items") as usize;
    let newest = stored - items..stored;
    let there = newest.filter(|key| server.ask(format!("mg k{key}\r\n")) == "HD\r\n").count();
    (there, items)
}

#[test]
fn of_large_values_exactly_the_newest_stay() {
    for len in [1_000_000, 300_000, 20_000] {
        let (there, items) = newest_that_stay(24 << 20, len);
        assert!(items * len > 18 << 20, "{items} of {len} bytes");
        assert_eq!(there, items, "of {len} bytes");
    }
}

#[test]
fn of_small_values_nine_of_ten_are_of_the_newest() {
    let (there, items) = newest_that_stay(16 << 20, 700);
    assert!(items > 64 * 256 && there * 10 > items * 9, "{there} of {items}");
}

#[test]
fn a_large_value_takes_the_place_of_the_oldest_small_ones() {
    let mut server = Server::with_memory(8 << 20);
    for key in 0..6003 {
        server.set(format_args!("k{key}"), if key < 6000 { 1000 } else { 1_000_000 });
    }
    let gone: Vec<usize> =
        (0..6003).filter(|key| server.ask(format!("mg k{key}\r\n")) != "HD\r\n").collect();
    let early = gone.iter().filter(|key| **key < gone.len()).count();
    assert!(gone.len() > 500 && early * 10 > gone.len() * 8, "{early} of {}", gone.len());
    assert!(gone.iter().all(|key| *key < 5000), "{gone:?}");
}

#[test]
fn a_lowered_limit_takes_effect_though_no_client_stores() {
    let mut server = Server::with_memory(32 << 20);
    server.fill(0..300, 100_000);
    server.ask("cache_memlimit 8\r\n");
    server.tick(2);
    assert!((6 << 20..=8 << 20).contains(&server.cache.used()), "{} bytes", server.cache.used());
    assert_eq!(server.stat("evicted_unfetched"), server.stat("evictions"));
}

#[test]
fn a_cache_without_evictions_refuses_values_and_keeps_what_it_has() {
    let mut server = Server::with(|config| (config.memory, config.evictions) = (1 << 20, false));
    let value = "x".repeat(8192);
    let mut stored = 0;
    let refused = loop {
        // Every other one expires after a while.
        let expiry = stored % 2 * 10;
        let answer = server.ask(format!("set k{stored} 0 {expiry} 8192\r\n{value}\r\n"));
        if answer != "STORED\r\n" {
            break answer;
        }
        stored += 1;
        assert!(stored < 200, "more than fit");
    };
    assert_eq!(refused, NO_MEMORY);
    assert!(stored > 90, "{stored} of 8 kB in 1 MiB");
    assert_eq!(server.ask(set("k0", 8192).replace("set", "append")), NO_MEMORY);
    assert_eq!((server.stat("store_no_memory"), server.stat("evictions")), (2, 0));
    for number in 0..stored {
        assert!(server.has(format_args!("k{number}")), "k{number} has gone");
    }
    assert!(server.cache.used() <= 1 << 20);
    assert_eq!(server.stats("settings")["evictions"], "off");
    // A deletion makes room, and so does an expiry.
    assert_eq!(server.ask("delete k0\r\n"), "DELETED\r\n");
    assert_eq!(server.set("new", 8192), "STORED\r\n");
    server.tick(20);
    assert!(!server.has("k1"));
    assert_eq!(server.set("k1", 8192), "STORED\r\n");
}

#[test]
fn a_value_does_not_grow_beyond_the_largest_item_by_appending() {
    let mut server = Server::with_memory(8 << 20);
    let set = set("k", 500_000);
    assert_eq!(server.ask(&set), "STORED\r\n");
    for (verb, answer) in
        [("append", "STORED\r\n"), ("append", "NOT_STORED\r\n"), ("prepend", "NOT_STORED\r\n")]
    {
        assert_eq!(server.ask(set.replace("set", verb)), answer);
    }
    assert!(server.ask("get k\r\n").starts_with("VALUE k 0 1000000\r\n"));
    assert!(server.cache.used() < 1 << 20);
}
