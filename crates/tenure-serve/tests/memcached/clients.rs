//! Clients that are slow, die or ask for too much.

use std::net::{IpAddr, Ipv4Addr};

use crate::support::{Client, Server, text};
use tenure_serve::handler::{Handler, Next};

#[test]
fn a_client_that_dies_at_any_byte_leaves_nothing() {
    let mut server = Server::new();
    let requests = b"set k 0 0 10\r\n0123456789\r\nms k 3 k O1\r\nabc\r\nget a b c\r\nset k 0 0 9999999\r\nxxx";
    for end in 0..requests.len() {
        server.cut(&requests[..end], 7);
        server.ask("flush_all\r\nget k\r\n");
        server.tick(end as u64);
        assert_eq!(server.cache.items(), (0, 0), "at {end}");
        assert_eq!(server.cache.peers(), 0, "at {end}");
    }
}

#[test]
fn an_address_has_its_number_of_connections() {
    let mut server = Server::with(|config| config.connections_per_peer = 2);
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
    assert_eq!(server.stat("peer_rejected_connections"), 1);
}

#[test]
fn a_slow_reader_holds_its_items_and_no_more() {
    let mut server = Server::new();
    server.set("k", 1000);
    let mut client = Client::new(&mut server);
    let requests = b"get k k k k\r\n".repeat(1000);
    let progress = client.handle(&mut server, &requests);
    assert_eq!(progress.next, Next::Room);
    assert!(progress.consumed < requests.len() && client.0.output.pending() < 2 << 20);
    server.ask("delete k\r\n");
    server.tick(5);
    assert_eq!(server.cache.items(), (0, 1), "it is not sent yet");
    client.0.output.advance(client.0.output.pending());
    assert_eq!(server.cache.items(), (0, 0));
    client.close(&mut server);
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
    let mut client = Client::new(&mut server);
    let request = b"\x80\x0b\0\0\0\0\0\0\0\0\0\0\n\0\0\0\0\0\0\0\0\0\0\0";
    for len in [1, 12, request.len()] {
        let progress = client.handle(&mut server, &request[..len]);
        assert!(matches!(progress.next, Next::Refuse(why) if why.contains("binary protocol")));
        assert!(client.0.output.is_empty(), "no answer");
    }
    client.close(&mut server);
}

#[test]
fn stats_of_every_kind_have_their_lines() {
    let mut server = Server::new();
    let stats = server.stats("");
    let names = "pid uptime peer_connections cmd_get get_hits bytes limit_maxbytes items_alive curr_peers threads";
    for name in names.split(' ') {
        assert!(stats[name].parse::<u64>().is_ok(), "{name} in {stats:?}");
    }
    server.ask("set k 0 0 1\r\nx\r\n");
    for kind in ["settings", "items", "slabs", "conns"] {
        let answer = server.ask(format!("stats {kind}\r\n"));
        assert!(answer.starts_with("STAT ") && answer.ends_with("\r\nEND\r\n"), "{answer}");
    }
}

#[test]
fn me_shows_what_is_known_of_an_item() {
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
fn values_that_clients_request_and_do_not_read_end_the_room_for_others_some_time() {
    let mut server = Server::with_memory(1 << 20);
    let mut held = Vec::new();
    let mut answers = String::new();
    for round in 0..200 {
        for key in 0..50 {
            answers = server.set(format_args!("k{key}"), 16_000);
        }
        if answers.starts_with("SERVER_ERROR out of memory") {
            assert!(round > 40, "after {round} rounds of 800 kB");
            break;
        }
        let mut client = Client::new(&mut server);
        let all: String = (0..50).map(|key| format!("get k{key}\r\n")).collect();
        let _ = client.handle(&mut server, all.as_bytes());
        held.push(client);
    }
    assert!(answers.starts_with("SERVER_ERROR out of memory"), "{answers}");
    let bytes = server.stat("items_alive_bytes");
    assert!((60 << 20..80 << 20).contains(&bytes), "{bytes} bytes");
    held.into_iter().for_each(|client| client.close(&mut server));
    // The server checks every 64th value.
    let stored = (0..100).map(|_| server.set("k", 1));
    assert_eq!(stored.last().unwrap(), "STORED\r\n");
}

#[test]
fn large_values_that_never_arrive_in_full_take_no_more_than_twice_the_memory() {
    let mut server = Server::with_memory(4 << 20);
    let mut clients = Vec::new();
    let mut refused = 0;
    for key in 0..40 {
        let mut client = Client::new(&mut server);
        let half = format!("set k{key} 0 0 1000000\r\nthe beginning");
        assert_eq!(client.handle(&mut server, half.as_bytes()).next, Next::Input);
        assert!(!server.handler.is_idle(&client.0.session), "a value is coming in");
        refused += usize::from(client.0.output.to_vec().starts_with(b"SERVER_ERROR out of memory"));
        clients.push(client);
    }
    assert!((25..35).contains(&refused), "{refused} of 40 were refused");
    assert!(server.cache.items().1 < 15);
    clients.into_iter().for_each(|client| client.close(&mut server));
    assert_eq!(server.cache.items().1, 0);
}
