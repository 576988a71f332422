use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::server::{PROTOCOLS, Protocol, Server, eventually};
use super::traffic::{drain, expect_large, expect_small, large, small, start, stop};

/// Waits until no client can connect: the server has seen the signal.
#[track_caller]
fn is_deaf(server: &Server) {
    eventually("the signal is heard", || TcpStream::connect(server.address).is_err());
}

#[test]
fn a_server_that_is_told_to_end_finishes_what_is_under_way() {
    // A server keeps ignoring what `nohup cargo test` has ignored: see the next test.
    let hangup = (!ignores_hangups()).then_some(Signal::HUP);
    for protocol in PROTOCOLS {
        for signal in [Signal::TERM, Signal::INT, Signal::QUIT].into_iter().chain(hangup) {
            let mut server = start(protocol, &["--grace", "60"]);
            let (mut idle, mut half, mut busy) =
                (server.connect(), server.connect(), server.connect());
            half.write_all(&small(protocol)[..5]).unwrap();
            busy.write_all(&large(protocol).repeat(10)).unwrap();
            server.wait_for("it stalls", |figures| figures["stalled_writes"] >= 1);
            server.signal(signal);
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

fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(ignored.trim(), 16).unwrap() & 1 != 0
}

#[test]
fn a_hangup_that_nohup_has_ignored_stays_ignored() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$0\" serve memcached --listen 127.0.0.1:0"]);
    let mut server =
        shell.arg(env!("CARGO_BIN_EXE_tenure")).stdout(Stdio::piped()).spawn().unwrap();
    let pid = Pid::from_child(&server);
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let address = first.strip_prefix("listening on ").unwrap();
    kill_process(pid, Signal::HUP).unwrap();
    // It would be deaf within 50 ms.
    std::thread::sleep(Duration::from_millis(300));
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(b"mn\r\nquit\r\n").unwrap();
    assert_eq!(drain(&mut client), b"MN\r\n");
    kill_process(pid, Signal::TERM).unwrap();
    assert!(server.wait().unwrap().success());
}

#[test]
fn a_client_may_end_a_server_that_allows_it() {
    let mut server = start(Protocol::Memcached, &["--allow-shutdown"]);
    assert_eq!(server.talk(b"shutdown now\r\nquit\r\n"), b"CLIENT_ERROR invalid shutdown mode\r\n");
    assert!(server.talk(b"shutdown\r\n").is_empty());
    server.ended();
    let server = start(Protocol::Memcached, &[]);
    assert_eq!(server.talk(b"shutdown\r\nquit\r\n"), b"SERVER_ERROR: shutdown not enabled\r\n");
    stop(server);
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
