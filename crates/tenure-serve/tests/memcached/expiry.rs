//! What expires or is flushed, and when its memory comes back.

use tenure_serve::script;

use crate::support::{Server, text};

#[test]
fn a_crawl_frees_expired_items_and_nothing_else_is_evicted() {
    let mut server = Server::with_memory(8 << 20);
    let value = "x".repeat(1000);
    for key in 0..2500 {
        server.set(format_args!("live{key}"), 1000);
        server.ask(format!("set short{key} 0 2 1000 noreply\r\n{value}\r\n"));
    }
    assert_eq!(server.cache.items().0, 5000);
    server.ask("get short7\r\n");
    for second in 1..=30 {
        server.tick(second);
    }
    assert_eq!(server.cache.items(), (2500, 2500));
    for key in 0..2500 {
        server.set(format_args!("new{key}"), 1000);
    }
    assert_eq!((server.cache.items().0, server.stat("evictions")), (5000, 0));
    assert_eq!((server.stat("reclaimed"), server.stat("expired_unfetched")), (2500, 2499));
}

#[test]
fn a_flush_gives_the_memory_back_within_seconds() {
    let mut server = Server::with_memory(64 << 20);
    server.fill(0..1500, 20_000);
    let full = server.stat("arena_bytes") + server.stat("arena_free_bytes");
    server.tick(3);
    server.ask("flush_all\r\nset new 0 0 1\r\nx\r\n");
    for second in 4..8 {
        server.tick(second);
    }
    assert_eq!(server.cache.items(), (1, 1));
    let left = server.stat("arena_bytes") + server.stat("arena_free_bytes");
    assert!(left * 4 < full, "{left} of {full} bytes");
}

#[test]
fn all_live_items_are_listed_once_however_slowly_they_are_read() {
    let mut server = Server::new();
    for number in 0..3000 {
        server.ask(format!("set k{number} 7 {} 1\r\n1\r\n", number % 2 * 10));
    }
    server.ask("delete k0\r\nms AP8gCg== 1 b E5\r\n1\r\nget k2\r\n");
    server.tick(20);
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
}

#[test]
fn a_worker_whose_clock_is_behind_stores_values_that_an_earlier_flush_leaves() {
    let mut server = Server::new();
    let mut late = server.cache.handler();
    server.tick(20);
    server.ask("set old 0 0 1\r\nx\r\n");
    assert_eq!(server.ask("flush_all\r\n"), "OK\r\n");
    let set = script::answers(&mut late, &server.buffers, b"set new 0 0 1\r\nx\r\n", []);
    assert_eq!(text(&set), "STORED\r\n");
    let get = script::answers(&mut late, &server.buffers, b"get new\r\n", []);
    assert_eq!(text(&get), "VALUE new 0 1\r\nx\r\nEND\r\n");
    assert_eq!(server.ask("get old new\r\n"), "VALUE new 0 1\r\nx\r\nEND\r\n");
}
