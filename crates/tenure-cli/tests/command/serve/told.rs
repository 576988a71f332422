use std::fs::File;
use std::io::Write;
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::server::{Protocol, Server, eventually};
use super::traffic::drain;

/// A memcached server whose standard error goes to a file.
struct Told {
    child: Child,
    folder: TempDir,
}

impl Told {
    fn start(words: &[&str]) -> (Self, String) {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| File::create(folder.path().join(name)).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_tenure"))
            .args(["serve", "memcached", "--listen", "127.0.0.1:0", "--threads", "1"])
            .args(words)
            .stdout(Stdio::from(file("out")))
            .stderr(Stdio::from(file("err")))
            .spawn()
            .unwrap();
        let told = Self { child, folder };
        eventually("it listens", || told.read("out").contains('\n'));
        let address = told.read("out").trim().strip_prefix("listening on ").unwrap().to_owned();
        (told, address)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    fn end(&mut self) -> String {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
        self.read("err")
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Expects the server to end the connection.
fn talk(address: &str, request: &[u8]) -> Vec<u8> {
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(request).unwrap();
    drain(&mut client)
}

#[test]
fn a_verbose_server_tells_when_connections_come_and_why_they_end() {
    let (mut server, address) = Told::start(&["-v", "--connections-per-peer", "1"]);
    let first = TcpStream::connect(&address).unwrap();
    eventually("it is told", || server.read("err").contains("127.0.0.1: connection "));
    assert!(talk(&address, b"mn\r\n").is_empty());
    eventually("the refusal is told", || server.read("err").contains("127.0.0.1: refused: "));
    drop(first);
    eventually("its end is told", || server.read("err").contains("ends: all is said"));
    server.end();
}

#[test]
fn a_client_of_the_binary_protocol_is_closed_at_once_and_told_of_once() {
    let (mut server, address) = Told::start(&[]);
    for _ in 0..3 {
        assert!(talk(&address, &[0x80, 0x0b, 0, 0]).is_empty());
    }
    let lines = server.end();
    assert_eq!(lines.lines().count(), 1, "{lines}");
    assert!(lines.contains("binary protocol") && lines.contains("text protocol"), "{lines}");
}

#[test]
#[cfg(debug_assertions)]
fn a_debug_build_moves_its_clock_on_for_tests() {
    let server = Server::start(Protocol::Memcached, &[]);
    assert_eq!(
        server.talk(b"set k 0 3600 1\r\n1\r\ndebugtime 3600\r\nquit\r\n"),
        b"STORED\r\nOK\r\n"
    );
    // A worker looks at the clock before each round of events, and this connection may still belong to the last one.
    eventually("it is over", || server.talk(b"get k\r\nquit\r\n") == b"END\r\n");
    server.stop();
}

#[test]
fn the_statistics_have_the_lines_that_monitoring_reads() {
    let server = Server::start(Protocol::Memcached, &["--connections", "77", "--idle", "9"]);
    let text = |request: &[u8]| String::from_utf8(server.talk(request)).unwrap();
    let stats = text(b"set k 0 0 1\r\n1\r\nget k\r\nstats\r\nquit\r\n");
    for line in [
        "max_connections 77",
        "curr_connections 1",
        "accepting_conns 1",
        "listen_disabled_num 0",
        "limit_maxbytes 67108864",
        "cmd_get 1",
        "cmd_set 1",
        "get_hits 1",
        "get_misses 0",
        "pointer_size 64",
        "curr_items 1",
    ] {
        assert!(stats.contains(&format!("STAT {line}\r\n")), "{line}: {stats}");
    }
    for name in ["rusage_user", "rusage_system", "pid", "uptime", "time", "bytes_read"] {
        let value = stats.lines().find_map(|line| line.strip_prefix(&format!("STAT {name} ")));
        assert!(value.is_some_and(|value| value.parse::<f64>().is_ok()), "{name}: {stats}");
    }
    let settings = text(b"stats settings\r\nquit\r\n");
    for line in ["maxconns 77", "idle_timeout 9", "inter 127.0.0.1", "domain_socket NULL"] {
        assert!(settings.contains(&format!("STAT {line}\r\n")), "{line}: {settings}");
    }
    server.stop();
}
