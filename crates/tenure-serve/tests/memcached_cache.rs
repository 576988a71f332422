//! The memcached server as a cache: what it forgets and when, and that it keeps nothing that it should not.

#![cfg(target_os = "linux")]

mod support;

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use support::{Server, text};
use tenure_serve::buffers::{Buffers, PoolKind};
use tenure_serve::handler::{Handler, Next, Output};
use tenure_serve::memcached::{Config, script};

fn config(memory: u64) -> Config {
    let mut config = Config::default();
    config.memory = memory;
    config
}

/// What `stats` says under that name.
fn stat(server: &mut Server, name: &str) -> u64 {
    let stats = server.ask("stats\r\n");
    let line = stats.lines().find_map(|line| line.strip_prefix(&format!("STAT {name} ")));
    line.unwrap_or_else(|| panic!("{name} in {stats}")).parse().unwrap()
}

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
fn items_are_over_when_their_time_has_come() {
    let mut server = Server::new();
    let start = Instant::now();
    let at =
        |server: &mut Server, seconds| server.handler.tick(start + Duration::from_secs(seconds));
    server.ask("set a 0 10 1\r\n1\r\nset b 0 0 1\r\n1\r\nset c 0 10 1\r\n1\r\ntouch c 100\r\n");
    at(&mut server, 8);
    assert_eq!(server.ask("mg a t\r\nmg b t\r\n"), "HD t2\r\nHD t-1\r\n");
    at(&mut server, 12);
    assert_eq!(
        server.ask("mg a\r\nmg b\r\nmg c\r\nadd a 0 0 1\r\n2\r\n"),
        "EN\r\nHD\r\nHD\r\nSTORED\r\n"
    );
    at(&mut server, 200);
    assert_eq!(server.ask("get a b c\r\n"), "VALUE a 0 1\r\n2\r\nVALUE b 0 1\r\n1\r\nEND\r\n");
    at(&mut server, 201);
    assert_eq!(server.cache.items(), (2, 2));
    assert_eq!(stat(&mut server, "get_expired") + stat(&mut server, "reclaimed"), 2);
}

#[test]
fn a_flush_comes_when_it_was_told_to_and_takes_what_was_there() {
    let mut server = Server::new();
    let start = Instant::now();
    server.ask("set a 0 0 1\r\n1\r\nflush_all 10\r\nset b 0 0 1\r\n1\r\n");
    server.handler.tick(start + Duration::from_secs(5));
    assert_eq!(server.ask("mg a\r\nmg b\r\n"), "HD\r\nHD\r\n");
    server.handler.tick(start + Duration::from_secs(15));
    assert_eq!(
        server.ask("set c 0 0 1\r\n1\r\nmg a\r\nmg b\r\nmg c\r\n"),
        "STORED\r\nEN\r\nEN\r\nHD\r\n"
    );
    assert_eq!(stat(&mut server, "get_flushed") + stat(&mut server, "reclaimed"), 2);
}

#[test]
fn what_is_over_goes_without_being_asked_for_and_nothing_else_is_evicted() {
    let mut server = Server::with(&config(8 << 20));
    let start = Instant::now();
    let value = "x".repeat(1000);
    for key in 0..2500 {
        server.ask(format!("set live{key} 0 0 1000 noreply\r\n{value}\r\n"));
        server.ask(format!("set short{key} 0 2 1000 noreply\r\n{value}\r\n"));
    }
    assert_eq!(server.cache.items().0, 5000);
    server.ask("get short7\r\n");
    for second in 1..=30 {
        server.handler.tick(start + Duration::from_secs(second));
    }
    assert_eq!(server.cache.items(), (2500, 2500));
    for key in 0..2500 {
        server.ask(format!("set new{key} 0 0 1000 noreply\r\n{value}\r\n"));
    }
    assert_eq!((server.cache.items().0, stat(&mut server, "evictions")), (5000, 0));
    assert_eq!(
        (stat(&mut server, "reclaimed"), stat(&mut server, "expired_unfetched")),
        (2500, 2499)
    );
}

#[test]
fn a_flush_gives_the_memory_back_within_seconds() {
    let mut server = Server::with(&config(64 << 20));
    let start = Instant::now();
    let value = "x".repeat(20_000);
    for key in 0..1500 {
        server.ask(format!("set k{key} 0 0 20000 noreply\r\n{value}\r\n"));
    }
    let full = stat(&mut server, "arena_bytes") + stat(&mut server, "arena_free_bytes");
    server.handler.tick(start + Duration::from_secs(3));
    server.ask("flush_all\r\nset new 0 0 1\r\nx\r\n");
    for second in 4..8 {
        server.handler.tick(start + Duration::from_secs(second));
    }
    assert_eq!(server.cache.items(), (1, 1));
    let left = stat(&mut server, "arena_bytes") + stat(&mut server, "arena_free_bytes");
    assert!(left * 4 < full, "{left} of {full} bytes");
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
fn the_time_since_the_last_hit_is_told() {
    let mut server = Server::new();
    let start = Instant::now();
    server.ask("set a 0 0 1\r\n1\r\n");
    server.handler.tick(start + Duration::from_secs(7));
    let idle: u32 = server
        .ask("mg a l h\r\n")
        .trim()
        .strip_prefix("HD l")
        .unwrap()
        .strip_suffix(" h0")
        .unwrap()
        .parse()
        .unwrap();
    assert!((6..=8).contains(&idle));
    assert_eq!(server.ask("mg a l h\r\n"), "HD l0 h1\r\n");
}

#[test]
fn a_client_that_dies_at_any_byte_leaves_nothing() {
    let mut server = Server::new();
    let requests = b"set k 0 0 10\r\n0123456789\r\nms k 3 k O1\r\nabc\r\nget a b c\r\nset k 0 0 9999999\r\nxxx";
    for end in 0..requests.len() {
        server.cut(&requests[..end], 7);
        server.ask("flush_all\r\nget k\r\n");
        server.handler.tick(Instant::now() + Duration::from_secs(end as u64));
        assert_eq!(server.cache.items(), (0, 0), "at {end}");
        assert_eq!(server.cache.peers(), 0, "at {end}");
    }
}

#[test]
fn an_address_has_its_number_of_connections() {
    let mut settings = Config::default();
    settings.connections_per_peer = 2;
    let mut server = Server::with(&settings);
    let from = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let first = server.handler.open(from).unwrap();
    let second = server.handler.open(from).unwrap();
    assert!(server.handler.open(from).is_none());
    let other = server.handler.open(IpAddr::V4(Ipv4Addr::BROADCAST)).unwrap();
    assert_eq!(server.cache.peers(), 2);
    server.handler.close(first);
    let again = server.handler.open(from).unwrap();
    for session in [second, other, again] {
        server.handler.close(session);
    }
    assert_eq!(server.cache.peers(), 0);
    assert_eq!(stat(&mut server, "peer_rejected_connections"), 1);
}

#[test]
fn a_reader_that_is_slow_holds_its_items_and_no_more() {
    let mut server = Server::new();
    server.ask(format!("set k 0 0 1000\r\n{}\r\n", "x".repeat(1000)));
    let mut session = server.handler.open(IpAddr::V4(Ipv4Addr::LOCALHOST)).unwrap();
    let mut output = Output::new(server.buffers.acquire().unwrap());
    let requests = b"get k k k k\r\n".repeat(1000);
    let progress = server.handler.handle(&mut session, &requests, &mut output);
    assert_eq!(progress.next, Next::Room);
    assert!(progress.consumed < requests.len() && output.pending() < 2 << 20);
    server.ask("delete k\r\n");
    server.handler.tick(Instant::now() + Duration::from_secs(5));
    assert_eq!(server.cache.items(), (0, 1), "it is not sent yet");
    output.advance(output.pending());
    assert_eq!(server.cache.items(), (0, 0));
    server.handler.close(session);
}

#[test]
fn a_retrieval_may_be_longer_than_any_buffer() {
    let mut server = Server::new();
    server.ask("set a 0 0 1\r\n1\r\n");
    let keys = "miss ".repeat(20_000);
    assert_eq!(server.ask(format!("get {keys} a\r\nmn\r\n")), "VALUE a 0 1\r\n1\r\nEND\r\nMN\r\n");
    assert_eq!(
        server.ask(format!("get {keys} {}\r\nmn\r\n", "k".repeat(300))),
        "CLIENT_ERROR bad command line format\r\nMN\r\n"
    );
}

#[test]
fn other_lines_that_are_too_long_end_the_connection() {
    let mut server = Server::new();
    for line in ["x".repeat(5000), "set ".repeat(2000), format!("{}get a", " ".repeat(3000))] {
        assert_eq!(text(&server.cut(line.as_bytes(), 1000)), "");
        let ended = format!("{line}\r\nmn\r\n");
        assert_eq!(text(&server.cut(ended.as_bytes(), 1000)), "", "{}", &line[..10]);
    }
}

#[test]
fn all_items_that_are_not_over_are_listed_once_however_slowly_they_are_read() {
    let mut server = Server::new();
    let start = Instant::now();
    for number in 0..3000 {
        server.ask(format!("set k{number} 7 {} 1\r\n1\r\n", number % 2 * 10));
    }
    server.ask("delete k0\r\nms AP8gCg== 1 b E5\r\n1\r\nget k2\r\n");
    server.handler.tick(start + Duration::from_secs(20));
    for class in ["all", "hash", "1"] {
        let list = server.ask(format!("lru_crawler metadump {class}\r\nmn\r\n"));
        let (list, rest) = list.split_once("END\r\n").unwrap();
        assert_eq!(rest, "MN\r\n");
        let mut keys: Vec<_> = list.strip_prefix("OK\r\n").unwrap().lines().collect();
        keys.sort_unstable();
        assert_eq!(keys.len(), 1500, "1,499 of the others, and one of bytes");
        assert!(keys[0].starts_with("key=%00%FF%20%0A exp=-1 la="), "{}", keys[0]);
        assert!(keys[0].contains(" cas=5 fetch=no cls=1 size=") && keys[0].ends_with(" flags=0"));
        let used = keys.iter().find(|line| line.starts_with("key=k2 ")).unwrap();
        assert!(used.contains(" fetch=yes ") && used.ends_with(" flags=7"), "{used}");
        keys.dedup();
        assert_eq!(keys.len(), 1500);
    }
    assert_eq!(server.ask("lru_crawler metadump 2\r\n"), "BADCLASS invalid class id\r\n");
    let mut settings = Config::default();
    settings.dump = false;
    let mut server = Server::with(&settings);
    assert_eq!(server.ask("lru_crawler metadump all\r\n"), "ERROR metadump not allowed\r\n");
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
fn a_value_at_the_place_of_one_that_is_over_reclaims_its_memory() {
    let mut server = Server::new();
    let set = "set k 0 0 1\r\n1\r\n";
    server.ask(set);
    assert_eq!(stat(&mut server, "reclaimed"), 0);
    server.ask("flush_all\r\n");
    server.ask(set);
    assert_eq!(stat(&mut server, "reclaimed"), 1);
}

#[test]
fn flush_all_is_refused_where_it_is_not_allowed() {
    let mut settings = Config::default();
    settings.flush = false;
    let mut server = Server::with(&settings);
    let answers = server.ask("set k 0 0 1\r\n1\r\nflush_all\r\nflush_all 0 noreply\r\nget k\r\n");
    assert_eq!(
        answers,
        "STORED\r\nCLIENT_ERROR flush_all not allowed\r\nVALUE k 0 1\r\n1\r\nEND\r\n"
    );
    assert!(server.ask("stats settings\r\n").contains("STAT flush_enabled no\r\n"));
}

#[test]
fn a_client_of_the_binary_protocol_is_refused_at_its_first_byte() {
    let mut server = Server::new();
    let mut session = server.handler.open(IpAddr::V4(Ipv4Addr::LOCALHOST)).unwrap();
    let mut output = Output::new(server.buffers.acquire().unwrap());
    let request = b"\x80\x0b\0\0\0\0\0\0\0\0\0\0\n\0\0\0\0\0\0\0\0\0\0\0";
    for len in [1, 12, request.len()] {
        let progress = server.handler.handle(&mut session, &request[..len], &mut output);
        assert!(matches!(progress.next, Next::Refuse(why) if why.contains("binary protocol")));
        assert!(output.is_empty(), "no answer");
    }
    server.handler.close(session);
}

#[test]
fn a_server_adds_its_lines_to_stats() {
    let mut server = Server::new();
    server.cache.add_to_stats(|lines| lines.stat("buffers_in_use", 3));
    assert_eq!(stat(&mut server, "buffers_in_use"), 3);
    for name in [
        "pid",
        "uptime",
        "peer_connections",
        "cmd_get",
        "get_hits",
        "bytes",
        "limit_maxbytes",
        "items_alive",
        "curr_peers",
        "threads",
    ] {
        stat(&mut server, name);
    }
    for kind in ["settings", "items", "slabs", "conns"] {
        let answer = server.ask(format!("stats {kind}\r\n"));
        assert!(answer.starts_with("STAT ") && answer.ends_with("\r\nEND\r\n"), "{answer}");
    }
}

#[test]
fn requests_are_counted() {
    let mut server = Server::new();
    server.ask("set k 0 0 1\r\n1\r\nget k n\r\ngets k\r\ndelete k\r\ndelete k\r\nincr k 1\r\ntouch k 1\r\ncas k 0 0 1 1\r\n1\r\n");
    for (name, count) in [
        ("cmd_set", 2),
        ("cmd_get", 3),
        ("get_hits", 2),
        ("get_misses", 1),
        ("delete_hits", 1),
        ("delete_misses", 1),
        ("incr_misses", 1),
        ("touch_misses", 1),
        ("cas_misses", 1),
        ("total_items", 1),
    ] {
        assert_eq!(stat(&mut server, name), count, "{name}");
    }
    server.ask("stats reset\r\n");
    assert_eq!(stat(&mut server, "cmd_get"), 0);
}

#[test]
fn what_is_known_of_an_item_is_told_to_people() {
    let mut server = Server::new();
    let answer = server.ask("set k 0 0 1\r\n1\r\nme k\r\nget k\r\nme k\r\n");
    let lines: Vec<&str> = answer.lines().filter(|line| line.starts_with("ME ")).collect();
    assert!(lines[0].starts_with("ME k exp=-1 la=0 cas=1 fetch=no cls=1 size="), "{answer}");
    assert!(lines[1].contains("fetch=yes"), "{answer}");
}

#[test]
fn the_version_begins_with_that_of_the_memcached_whose_answers_these_are() {
    let mut server = Server::new();
    assert!(server.ask("version\r\n").starts_with("VERSION 1.6.45-tenure-"));
    assert!(server.ask("stats\r\n").contains("STAT version 1.6.45-tenure-"));
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

#[test]
fn a_worker_whose_clock_is_behind_stores_values_that_an_earlier_flush_leaves() {
    let mut server = Server::new();
    let mut late = server.cache.handler();
    server.handler.tick(Instant::now() + Duration::from_secs(20));
    server.ask("set old 0 0 1\r\nx\r\n");
    assert_eq!(server.ask("flush_all\r\n"), "OK\r\n");
    let set = script::answers(&mut late, &server.buffers, b"set new 0 0 1\r\nx\r\n", []);
    assert_eq!(text(&set.unwrap()), "STORED\r\n");
    let get = script::answers(&mut late, &server.buffers, b"get new\r\n", []);
    assert_eq!(text(&get.unwrap()), "VALUE new 0 1\r\nx\r\nEND\r\n");
    assert_eq!(server.ask("get old new\r\n"), "VALUE new 0 1\r\nx\r\nEND\r\n");
}

#[test]
fn values_that_clients_ask_for_and_do_not_take_end_the_room_for_others_some_time() {
    let mut server = Server::with(&config(1 << 20));
    let buffers = Buffers::new(PoolKind::Magazines, 16 << 10).unwrap();
    let value = "x".repeat(16_000);
    let mut held = Vec::new();
    let mut answers = String::new();
    for round in 0..200 {
        for key in 0..50 {
            answers = server.ask(format!("set k{key} 0 0 16000\r\n{value}\r\n"));
        }
        if answers.starts_with("SERVER_ERROR out of memory") {
            assert!(round > 40, "after {round} rounds of 800 kB");
            break;
        }
        let mut session = server.handler.open(IpAddr::V4(Ipv4Addr::LOCALHOST)).unwrap();
        let mut output = Output::new(buffers.acquire().unwrap());
        let all: String = (0..50).map(|key| format!("get k{key}\r\n")).collect();
        let _ = server.handler.handle(&mut session, all.as_bytes(), &mut output);
        held.push((session, output));
    }
    assert!(answers.starts_with("SERVER_ERROR out of memory"), "{answers}");
    let bytes = stat(&mut server, "items_alive_bytes");
    assert!((60 << 20..80 << 20).contains(&bytes), "{bytes} bytes");
    for (session, output) in held {
        drop(output);
        server.handler.close(session);
    }
    // It is looked at every so many values.
    let stored = (0..100).map(|_| server.ask("set k 0 0 1\r\nx\r\n"));
    assert_eq!(stored.last().unwrap(), "STORED\r\n");
}

#[test]
fn large_values_that_never_come_in_full_take_no_more_than_twice_the_memory() {
    let mut server = Server::with(&config(4 << 20));
    let buffers = Buffers::new(PoolKind::Magazines, 16 << 10).unwrap();
    let mut sessions = Vec::new();
    let mut refused = 0;
    for key in 0..40 {
        let mut session = server.handler.open(IpAddr::V4(Ipv4Addr::LOCALHOST)).unwrap();
        let mut output = Output::new(buffers.acquire().unwrap());
        let half = format!("set k{key} 0 0 1000000\r\nthe beginning");
        let progress = server.handler.handle(&mut session, half.as_bytes(), &mut output);
        assert_eq!(progress.next, Next::Input);
        assert!(!server.handler.is_idle(&session), "a value is coming in");
        refused += usize::from(output.to_vec().starts_with(b"SERVER_ERROR out of memory"));
        sessions.push(session);
    }
    assert!((25..35).contains(&refused), "{refused} of 40 were refused");
    assert!(server.cache.items().1 < 15);
    sessions.into_iter().for_each(|session| server.handler.close(session));
    assert_eq!(server.cache.items().1, 0);
}
