//! The memcached server as a cache: what it evicts, and that it keeps to its memory.

#![cfg(target_os = "linux")]

mod support;

use std::time::{Duration, Instant};

use proptest::prelude::*;
use support::{Server, config, stat};
use tenure_serve::handler::Handler;

#[test]
fn memory_stays_within_the_limit_and_what_is_used_stays() {
    let mut server = Server::with(&config(1 << 20));
    let value = "x".repeat(1000);
    for number in 0..5000 {
        if number >= 100 {
            assert!(server.ask("get hot\r\n").starts_with("VALUE"), "at {number}");
        } else {
            server.ask(format!("set hot 0 0 1000\r\n{value}\r\n"));
        }
        assert_eq!(server.ask(format!("set k{number} 0 0 1000\r\n{value}\r\n")), "STORED\r\n");
        assert!(server.cache.used() <= 1 << 20);
    }
    assert_eq!(server.ask("get k0\r\n"), "END\r\n");
    assert!(server.ask("get k4999\r\n").starts_with("VALUE"));
    let items = stat(&mut server, "curr_items");
    assert!((700..1000).contains(&items), "{items} items");
    assert_eq!(stat(&mut server, "evictions"), 5001 - items);
}

#[test]
fn a_new_value_stays_though_all_others_are_used() {
    // Few enough that some shards have one item, or none.
    let mut server = Server::with(&config(1 << 20));
    let value = "x".repeat(10_000);
    let set = |key: usize| format!("set k{key} 0 0 10000\r\n{value}\r\n");
    for number in 0..400_usize {
        for earlier in number.max(200) - 200..number {
            server.ask(format!("get k{earlier}\r\n"));
        }
        assert_eq!(server.ask(set(number)), "STORED\r\n");
        let found = server.ask(format!("get k{number}\r\n"));
        assert!(found.starts_with("VALUE"), "k{number} has gone");
        assert!(server.cache.used() <= 1 << 20);
        // A longer value for a key whose own is the only one of its shard, mostly.
        let longer = format!("append k{number} 0 0 5000\r\n{}\r\n", &value[..5000]);
        assert_eq!(server.ask(longer), "STORED\r\n");
        let found = server.ask(format!("get k{number}\r\n"));
        assert!(found.starts_with("VALUE"), "the longer k{number} has gone");
    }
}

#[test]
fn what_is_over_makes_room_before_what_is_not() {
    let mut server = Server::with(&config(1 << 20));
    let start = Instant::now();
    let value = "x".repeat(1000);
    for number in 0..400 {
        server.ask(format!(
            "set k{number} 0 0 1000\r\n{value}\r\nset old{number} 0 10 1000\r\n{value}\r\n"
        ));
        server.ask(format!("get old{number}\r\n"));
    }
    server.handler.tick(start + Duration::from_secs(20));
    for number in 0..300 {
        server.ask(format!("set new{number} 0 0 1000\r\n{value}\r\n"));
    }
    assert!(stat(&mut server, "reclaimed") > 0);
    assert!(server.cache.used() <= 1 << 20);
}

#[test]
fn large_values_that_were_replaced_do_not_pile_up() {
    let mut server = Server::with(&config(4 << 20));
    let value = "x".repeat(400_000);
    for number in 0..100 {
        server.ask(format!("set k{} 0 0 400000\r\n{value}\r\n", number % 5));
        let bytes = stat(&mut server, "items_alive_bytes");
        assert!(bytes < 4 << 20, "{bytes} bytes after {number}");
    }
}

#[test]
fn the_limit_may_be_changed_while_the_server_runs() {
    let mut server = Server::with(&config(64 << 20));
    let value = "x".repeat(100_000);
    for number in 0..200 {
        server.ask(format!("set k{number} 0 0 100000\r\n{value}\r\n"));
    }
    assert_eq!(stat(&mut server, "curr_items"), 200);
    assert_eq!(server.ask("cache_memlimit 8\r\nset k 0 0 1\r\n1\r\n"), "OK\r\nSTORED\r\n");
    assert!(server.cache.used() <= 8 << 20);
}

#[test]
fn a_limit_that_is_lowered_refuses_no_value_of_any_size() {
    for (memory, values, len) in [(32 << 20, 1600, 20_000), (128 << 20, 120_000, 1000)] {
        let mut server = Server::with(&config(memory));
        let value = "x".repeat(len);
        let set = |key: usize| format!("set k{key} 0 0 {len} noreply\r\n{value}\r\n");
        for key in 0..values {
            server.ask(set(key));
        }
        assert!(server.cache.used() > 28 << 20);
        assert_eq!(server.ask("cache_memlimit 8\r\n"), "OK\r\n");
        for key in 0..200 {
            assert_eq!(server.ask(set(key)), "", "k{key} of {len} bytes");
        }
        assert!(server.cache.used() <= 8 << 20, "{} bytes", server.cache.used());
        server.ask("flush_all\r\n");
        assert_eq!(server.ask(set(0)), "");
    }
}

/// What a client does to a cache with little memory.
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
    fn a_value_that_fits_is_stored_at_the_latest_on_the_second_try(
        steps in proptest::collection::vec(step(), 1..80)
    ) {
        let mut server = Server::with(&config(64 << 20));
        let value = "x".repeat(1_000_000);
        for step in steps {
            match step {
                Step::Limit(mebibytes) => {
                    server.ask(format!("cache_memlimit {mebibytes}\r\n"));
                }
                Step::Flush => {
                    server.ask("flush_all\r\n");
                }
                Step::Set { key, len } => {
                    let set = format!("set k{key} 0 0 {len}\r\n{}\r\n", &value[..len]);
                    let first = server.ask(&set);
                    prop_assert!(first == "STORED\r\n" || server.ask(&set) == "STORED\r\n", "{len} bytes: {first}");
                }
            }
        }
    }
}

/// How many of the newest values are there, after three times as many as fit were stored once. As many as there are in all.
fn newest_that_stay(memory: u64, len: usize) -> (usize, usize) {
    let mut server = Server::with(&config(memory));
    let value = "x".repeat(len);
    let stored = 3 * memory as usize / len;
    for key in 0..stored {
        server.ask(format!("set k{key} 0 0 {len} noreply\r\n{value}\r\n"));
    }
    let items = stat(&mut server, "curr_items") as usize;
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
    let mut server = Server::with(&config(8 << 20));
    let mut set = |key: usize, len: usize| {
        server.ask(format!("set k{key} 0 0 {len} noreply\r\n{}\r\n", "x".repeat(len)));
    };
    (0..6000).for_each(|key| set(key, 1000));
    (6000..6003).for_each(|key| set(key, 1_000_000));
    let gone: Vec<usize> =
        (0..6003).filter(|key| server.ask(format!("mg k{key}\r\n")) != "HD\r\n").collect();
    let early = gone.iter().filter(|key| **key < gone.len()).count();
    assert!(gone.len() > 500 && early * 10 > gone.len() * 8, "{early} of {}", gone.len());
    assert!(gone.iter().all(|key| *key < 5000), "{gone:?}");
}

#[test]
fn a_limit_that_is_lowered_takes_effect_though_nobody_stores() {
    let mut server = Server::with(&config(32 << 20));
    let start = Instant::now();
    let value = "x".repeat(100_000);
    for key in 0..300 {
        server.ask(format!("set k{key} 0 0 100000 noreply\r\n{value}\r\n"));
    }
    server.ask("cache_memlimit 8\r\n");
    server.handler.tick(start + Duration::from_secs(2));
    assert!((6 << 20..=8 << 20).contains(&server.cache.used()), "{} bytes", server.cache.used());
    assert_eq!(stat(&mut server, "evicted_unfetched"), stat(&mut server, "evictions"));
}

#[test]
fn a_cache_without_evictions_refuses_values_and_keeps_what_it_has() {
    let mut settings = config(1 << 20);
    settings.evictions = false;
    let mut server = Server::with(&settings);
    let start = Instant::now();
    let value = "x".repeat(8192);
    let mut stored = 0;
    let refused = loop {
        // Each second one is over in a while.
        let expiry = stored % 2 * 10;
        let answer = server.ask(format!("set k{stored} 0 {expiry} 8192\r\n{value}\r\n"));
        if answer != "STORED\r\n" {
            break answer;
        }
        stored += 1;
        assert!(stored < 200, "more than fit");
    };
    assert_eq!(refused, "SERVER_ERROR out of memory storing object\r\n");
    assert!(stored > 90, "{stored} of 8 kB in 1 MiB");
    assert_eq!(
        server.ask(format!("append k0 0 0 8192\r\n{value}\r\n")),
        "SERVER_ERROR out of memory storing object\r\n"
    );
    assert_eq!((stat(&mut server, "store_no_memory"), stat(&mut server, "evictions")), (2, 0));
    for number in 0..stored {
        assert!(
            server.ask(format!("get k{number}\r\n")).starts_with("VALUE"),
            "k{number} has gone"
        );
    }
    assert!(server.cache.used() <= 1 << 20);
    assert!(server.ask("stats settings\r\n").contains("STAT evictions off\r\n"));
    // What is deleted makes room, and what is over does.
    assert_eq!(
        server.ask(format!("delete k0\r\nset new 0 0 8192\r\n{value}\r\n")),
        "DELETED\r\nSTORED\r\n"
    );
    server.handler.tick(start + Duration::from_secs(20));
    let again = server.ask(format!("get k1\r\nset k1 0 0 8192\r\n{value}\r\n"));
    assert_eq!(again, "END\r\nSTORED\r\n");
}

#[test]
fn a_value_does_not_grow_beyond_the_largest_item_by_what_is_appended() {
    let mut server = Server::with(&config(8 << 20));
    let value = "x".repeat(500_000);
    assert_eq!(server.ask(format!("set k 0 0 500000\r\n{value}\r\n")), "STORED\r\n");
    for (verb, answer) in
        [("append", "STORED\r\n"), ("append", "NOT_STORED\r\n"), ("prepend", "NOT_STORED\r\n")]
    {
        assert_eq!(server.ask(format!("{verb} k 0 0 500000\r\n{value}\r\n")), answer);
    }
    assert!(server.ask("get k\r\n").starts_with("VALUE k 0 1000000\r\n"));
    assert!(server.cache.used() < 1 << 20);
}

#[test]
fn no_value_is_larger_than_half_of_the_memory() {
    let mut server = Server::with(&config(1 << 20));
    let ask = |len: usize| format!("set k 0 0 {len}\r\n{}\r\n", "x".repeat(len));
    assert_eq!(server.ask(ask(600_000)), "SERVER_ERROR object too large for cache\r\n");
    assert_eq!(server.ask(ask(500_000)), "STORED\r\n");
}
