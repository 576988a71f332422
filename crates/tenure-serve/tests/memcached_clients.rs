//! The memcached server and its clients: those that are slow, die, ask for too much, or want to know what happened.

#![cfg(target_os = "linux")]

mod support;

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use support::{Server, config, stat, text};
use tenure_serve::buffers::{Buffers, PoolKind};
use tenure_serve::handler::{Handler, Next, Output};
use tenure_serve::memcached::Config;

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
    server.ask("set k 0 0 1\r\nx\r\n");
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
