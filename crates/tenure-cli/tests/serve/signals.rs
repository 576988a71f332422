//! How a server ends.

use std::io::Write;
use std::net::TcpStream;

use rustix::process::Signal;

use super::server::{PROTOCOLS, Protocol, Server, eventually};
use super::traffic::{drain, expect_large, expect_small, large, small, start};

/// Waits until nobody can connect: the signal has been heard.
#[track_caller]
fn is_deaf(server: &Server) {
    eventually("the signal is heard", || TcpStream::connect(server.address).is_err());
}

#[test]
fn a_server_that_is_told_to_end_finishes_what_is_under_way() {
    for protocol in PROTOCOLS {
        for signal in [Signal::TERM, Signal::INT] {
            let mut server = start(protocol, &["--grace", "60"]);
            let (mut idle, mut half, mut busy) =
                (server.connect(), server.connect(), server.connect());
            half.write_all(&small(protocol)[..5]).unwrap();
            busy.write_all(&large(protocol).repeat(10)).unwrap();
            server.wait_for("it stalls", |figures| figures["stalled_writes"] >= 1);
            server.signal(signal);
            // Whoever is idle is closed, and no one else comes.
            assert!(drain(&mut idle).is_empty());
            for _ in 0..10 {
                expect_large(&server, &mut busy);
            }
            assert!(drain(&mut busy).is_empty());
            is_deaf(&server);
            // Half a request may still become one.
            half.write_all(&small(protocol)[5..]).unwrap();
            expect_small(&server, &mut half);
            assert!(drain(&mut half).is_empty());
            server.ended();
        }
    }
}

#[test]
fn half_a_value_may_still_become_one_while_a_server_ends() {
    let mut server = start(Protocol::Memcached, &["--grace", "60"]);
    let mut client = server.connect();
    client.write_all(b"set half 0 0 10\r\n12345").unwrap();
    server.wait_for("half a value", |figures| figures["items_alive"] > figures["curr_items"]);
    server.signal(Signal::TERM);
    is_deaf(&server);
    client.write_all(b"67890\r\n").unwrap();
    assert_eq!(drain(&mut client), b"STORED\r\n");
    server.ended();
}

#[test]
fn a_server_waits_no_longer_than_its_grace() {
    for protocol in PROTOCOLS {
        let mut server = start(protocol, &["--grace", "0.2"]);
        let mut slow = server.connect();
        slow.write_all(&large(protocol).repeat(50)).unwrap();
        server.wait_for("it stalls", |figures| figures["stalled_writes"] >= 1);
        server.signal(Signal::TERM);
        server.ended();
    }
}

#[test]
fn a_second_signal_ends_a_server_at_once() {
    let mut server = start(Protocol::Http, &["--grace", "100"]);
    let mut slow = server.connect();
    slow.write_all(&large(Protocol::Http).repeat(50)).unwrap();
    server.wait_for("it stalls", |figures| figures["stalled_writes"] >= 1);
    server.signal(Signal::TERM);
    is_deaf(&server);
    server.signal(Signal::INT);
    assert_eq!(server.wait().code(), Some(1));
}
