use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use super::server::{PROTOCOLS, Protocol, Server, eventually};
use super::traffic::{
    LARGE, drain, expect_large, expect_small, is_served, large, small, start, stop, write,
};

/// Ends a connection with a reset, as a machine's death appears later.
fn reset(client: TcpStream) {
    rustix::net::sockopt::set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
    drop(client);
}

/// The server sees an end, a reset, or a half-closed connection.
const DEATHS: [fn(TcpStream); 3] = [drop, reset, |client| drop(client.shutdown(Shutdown::Both))];

#[test]
fn a_client_that_dies_at_any_byte_of_a_request_leaves_nothing_behind() {
    for protocol in PROTOCOLS {
        let server = start(protocol, &[]);
        for request in [small(protocol), large(protocol), write(protocol)] {
            for cut in 0..=request.len() {
                for (at, ends) in DEATHS.into_iter().enumerate() {
                    let mut client = server.connect();
                    client.write_all(&request[..cut]).unwrap();
                    if at == cut % 3 {
                        // Some have read a part of an answer.
                        client.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
                        let _ = client.read(&mut [0; 10]);
                    }
                    ends(client);
                }
            }
        }
        server.wait_for_no_clients();
        is_served(&server);
        if protocol == Protocol::Memcached {
            server.talk(b"delete other noreply\r\nquit\r\n");
        }
        stop(server);
    }
}

#[test]
fn a_client_that_asks_for_much_and_reads_nothing_costs_little() {
    for protocol in PROTOCOLS {
        let server = start(protocol, &[]);
        is_served(&server);
        let before = server.resident();
        let mut slow: Vec<_> = (0..50).map(|_| server.connect()).collect();
        for client in &mut slow {
            // Two gigabytes and more of answers; what does not fit into sockets is not written.
            client.set_nonblocking(true).unwrap();
            let _ = client.write(&large(protocol).repeat(50));
        }
        server.wait_for("they stall", |figures| figures["stalled_writes"] >= 50);
        for _ in 0..10 {
            is_served(&server);
        }
        let used = server.resident().saturating_sub(before);
        assert!(used < 64 << 20, "{protocol:?}: {used} bytes");
        // A late reader gets its first request's answer.
        slow[0].set_nonblocking(false).unwrap();
        for _ in 0..3 {
            expect_large(&server, &mut slow[0]);
        }
        drop(slow);
        server.wait_for_no_clients();
        stop(server);
    }
}

#[test]
fn of_a_large_file_little_is_read_for_a_client_that_does_not_take_it() {
    let server = Server::start(Protocol::Http, &[]);
    server.file("huge", vec![b'h'; 100 << 20]);
    server.file("small", "hello");
    is_served(&server);
    let before = server.resident();
    let mut slow: Vec<_> = (0..50).map(|_| server.connect()).collect();
    for client in &mut slow {
        client.write_all(b"GET /huge HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    }
    server.wait_for("they stall", |figures| figures["stalled_writes"] >= 50);
    let used = server.resident().saturating_sub(before);
    assert!(used < 50 << 20, "{used} bytes");
    drop(slow);
    server.wait_for_no_clients();
    server.stop();
}

#[test]
fn clients_on_which_nothing_moves_are_closed() {
    for protocol in PROTOCOLS {
        let server = start(protocol, &["--idle", "2"]);
        let (mut idle, mut half, mut slow) = (server.connect(), server.connect(), server.connect());
        half.write_all(&small(protocol)[..5]).unwrap();
        slow.write_all(&large(protocol).repeat(20)).unwrap();
        assert!(drain(&mut idle).is_empty());
        assert!(drain(&mut half).is_empty());
        server.wait_for("all three are told of", |figures| figures["idle_kicks"] >= 3);
        // What was under way arrives, and no more.
        assert!(drain(&mut slow).len() < 20 * LARGE);
        server.wait_for_no_clients();
        stop(server);
    }
}

#[test]
fn clients_beyond_the_limit_are_closed_at_once() {
    for protocol in PROTOCOLS {
        let server = start(protocol, &["--connections", "20"]);
        server.wait_for_no_clients();
        let mut clients: Vec<_> = (0..20).map(|_| server.connect()).collect();
        for client in &mut clients {
            client.write_all(small(protocol)).unwrap();
            expect_small(&server, client);
        }
        assert!(drain(&mut server.connect()).is_empty());
        for client in &mut clients {
            client.write_all(small(protocol)).unwrap();
            expect_small(&server, client);
        }
        drop(clients);
        eventually("there is room again", || {
            let mut client = server.connect();
            client.write_all(small(protocol)).is_ok() && client.read(&mut [0]).unwrap_or(0) == 1
        });
        let left = server.figures();
        assert!(left["rejected_connections"] >= 1, "{left:?}");
        server.wait_for_no_clients();
        stop(server);
    }
}

#[test]
fn a_server_without_files_serves_who_is_there_and_the_others_later() {
    for protocol in PROTOCOLS {
        let server = start(protocol, &[]);
        is_served(&server);
        server.wait_for_no_clients();
        server.limit_files(server.files() + 20);
        let mut early: Vec<_> = (0..15).map(|_| server.connect()).collect();
        for client in &mut early {
            client.write_all(small(protocol)).unwrap();
            expect_small(&server, client);
        }
        let mut late: Vec<_> = (0..15).map(|_| server.connect()).collect();
        // The server looks again whether the file is the same, if it can.
        std::thread::sleep(Duration::from_millis(1200));
        for client in &mut early {
            client.write_all(small(protocol)).unwrap();
            expect_small(&server, client);
        }
        if protocol == Protocol::Http {
            early[0].write_all(b"GET /large HTTP/1.0\r\n\r\n").unwrap();
            assert!(drain(&mut early[0]).starts_with(b"HTTP/1.1 503 Service Unavailable\r\n"));
        }
        drop(early);
        for client in &mut late {
            client.write_all(small(protocol)).unwrap();
            expect_small(&server, client);
        }
        drop(late);
        server.wait_for_no_clients();
        let figures = server.figures();
        assert!(figures["listen_disabled_num"] > 0, "{figures:?}");
        stop(server);
    }
}

#[test]
fn a_client_that_ended_its_output_gets_its_answers() {
    for protocol in PROTOCOLS {
        let server = start(protocol, &[]);
        let mut client = server.connect();
        client
            .write_all(&[large(protocol), small(protocol), &small(protocol)[..7]].concat())
            .unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        expect_large(&server, &mut client);
        expect_small(&server, &mut client);
        assert!(drain(&mut client).is_empty(), "half a request has no answer");
        server.wait_for_no_clients();
        stop(server);
    }
}

#[test]
fn many_requests_at_once_are_answered_in_their_order() {
    for protocol in PROTOCOLS {
        let server = start(protocol, &[]);
        let mut client = server.connect();
        let mut writer = client.try_clone().unwrap();
        let requests = [small(protocol), large(protocol), small(protocol)].concat().repeat(100);
        let writing = std::thread::spawn(move || writer.write_all(&requests).unwrap());
        for _ in 0..100 {
            expect_small(&server, &mut client);
            expect_large(&server, &mut client);
            expect_small(&server, &mut client);
        }
        writing.join().unwrap();
        drop(client);
        stop(server);
    }
}

#[test]
fn a_request_that_comes_byte_by_byte_is_answered() {
    for protocol in PROTOCOLS {
        let server = start(protocol, &[]);
        let mut client = server.connect();
        client.set_nodelay(true).unwrap();
        for byte in small(protocol) {
            client.write_all(&[*byte]).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
        expect_small(&server, &mut client);
        drop(client);
        stop(server);
    }
}

#[test]
fn noise_is_refused_and_harms_nobody() {
    for protocol in PROTOCOLS {
        let server = start(protocol, &[]);
        let mut noise = 0x9E37_79B9_7F4A_7C15_u64;
        for round in 0..200 {
            let mut client = server.connect();
            let bytes: Vec<u8> = (0..round * 100)
                .map(|_| {
                    noise ^= noise << 13;
                    noise ^= noise >> 7;
                    noise ^= noise << 17;
                    noise as u8
                })
                .collect();
            // The server may close earlier.
            let _ = client.write_all(&bytes);
            let _ = client.shutdown(Shutdown::Write);
            drain(&mut client);
        }
        is_served(&server);
        server.wait_for_no_clients();
        stop(server);
    }
}
