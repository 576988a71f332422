//! The event loop, with a small protocol of lines.

#![cfg(target_os = "linux")]

mod output;

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure_serve::handler::{Handler, Next, Output, Progress};
use tenure_serve::net::{Address, Server, Settings, Shared, Statistics};

/// Answers `copy ...` and `chunk ...` with themselves, `big` with a megabyte, `end` and `linger` with the end,
/// `endless` with byte after byte until a client says `enough`.
struct Lines<const KEEPS: bool> {
    /// Referenced by each chunk under way.
    big: Arc<[u8]>,
    refuses: bool,
    /// When `endless` ends all the same.
    enough: Instant,
}

impl<const KEEPS: bool> Lines<KEEPS> {
    fn new(big: Arc<[u8]>, refuses: bool) -> Self {
        Self { big, refuses, enough: Instant::now() + Duration::from_secs(30) }
    }
}

const BIG: usize = 1 << 20;

impl<const KEEPS: bool> Handler for Lines<KEEPS> {
    type Session = IpAddr;
    type Chunk = Arc<[u8]>;
    const KEEPS_BUFFERS: bool = KEEPS;

    fn open(&mut self, from: IpAddr) -> Option<IpAddr> {
        (!self.refuses).then_some(from)
    }

    fn handle(&mut self, _: &mut IpAddr, input: &[u8], output: &mut Output<Arc<[u8]>>) -> Progress {
        let mut consumed = 0;
        while let Some(len) = input[consumed..].iter().position(|&byte| byte == b'\n') {
            if output.is_full() {
                return Progress { consumed, next: Next::Room };
            }
            let line = &input[consumed..=consumed + len];
            consumed += line.len();
            match line {
                b"end\n" => return Progress { consumed, next: Next::End },
                b"linger\n" => {
                    output.write(b"no\n");
                    return Progress { consumed, next: Next::Linger };
                }
                b"endless\n" if Instant::now() < self.enough => {
                    output.write(b".");
                    return Progress { consumed: consumed - line.len(), next: Next::Room };
                }
                b"enough\n" => {
                    self.enough = Instant::now();
                    output.write(line);
                }
                b"big\n" => output.send(Arc::clone(&self.big), 0),
                line if line.starts_with(b"chunk") => output.send(Arc::from(line), 0),
                line => output.write(line),
            }
        }
        Progress { consumed, next: Next::Input }
    }

    fn close(&mut self, _: IpAddr) {}
}

fn settings() -> Settings {
    Settings { threads: 2, ..Settings::at(SocketAddr::from(([127, 0, 0, 1], 0))) }
}

/// Its drop stops the server and asserts that nothing is left.
struct Lent {
    server: Option<Server>,
    big: Arc<[u8]>,
}

impl Lent {
    fn statistics(&self) -> Statistics {
        self.shared().statistics()
    }
}

impl Deref for Lent {
    type Target = Server;
    fn deref(&self) -> &Server {
        self.server.as_ref().unwrap()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let shared = Arc::clone(self.shared());
        let stopped = self.server.take().unwrap().stop();
        if !std::thread::panicking() {
            stopped.unwrap();
            let statistics = shared.statistics();
            assert_eq!((statistics.open, statistics.buffers.in_use), (0, 0), "{statistics:?}");
            assert_eq!(Arc::strong_count(&self.big), 1, "chunks are let go");
        }
    }
}

fn start<const KEEPS: bool>(settings: Settings) -> Lent {
    start_with::<KEEPS>(settings, false)
}

fn start_with<const KEEPS: bool>(settings: Settings, refuses: bool) -> Lent {
    let big: Arc<[u8]> = Arc::from(vec![b'x'; BIG]);
    let shared = Arc::clone(&big);
    let handler = move |_, _: &Arc<Shared>| Lines::<KEEPS>::new(Arc::clone(&shared), refuses);
    Lent { server: Some(Server::start(settings, handler).unwrap()), big }
}

fn internet(server: &Server) -> SocketAddr {
    server.address().internet().unwrap()
}

fn client(server: &Server) -> TcpStream {
    let client = TcpStream::connect(internet(server)).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    client.set_nodelay(true).unwrap();
    client
}

fn answer(client: &mut TcpStream, len: usize) -> Vec<u8> {
    let mut answer = vec![0; len];
    client.read_exact(&mut answer).unwrap();
    answer
}

#[track_caller]
fn assert_answered(client: &mut TcpStream, request: &[u8], expected: &[u8]) {
    client.write_all(request).unwrap();
    assert_eq!(answer(client, expected.len()), expected);
}

fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is() {
        assert!(Instant::now() < deadline, "still not: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn lines_are_answered<const KEEPS: bool>() {
    let server = start::<KEEPS>(settings());
    let mut clients: Vec<_> = (0..10).map(|_| client(&server)).collect();
    for client in &mut clients {
        client.write_all(b"copy 1\nchunk 2\ncopy 3\n").unwrap();
    }
    for client in &mut clients {
        assert_eq!(answer(client, 22), b"copy 1\nchunk 2\ncopy 3\n");
    }
    clients[0].write_all(b"half").unwrap();
    std::thread::sleep(Duration::from_millis(20));
    assert_answered(&mut clients[0], b" and half\n", b"half and half\n");
    let statistics = server.statistics();
    assert_eq!((statistics.open, statistics.accepted), (10, 10));
    // At most a pair for each of two workers; none for an idle connection.
    let buffers = || server.statistics().buffers.in_use;
    eventually("idle connections have no buffers", || buffers() <= if KEEPS { 0 } else { 4 });
}

#[test]
fn half_a_line_takes_no_buffer_from_the_pool_unless_the_handler_keeps_buffers() {
    fn in_use<const KEEPS: bool>() -> u64 {
        let server = start::<KEEPS>(settings());
        let mut clients: Vec<_> = (0..100).map(|_| client(&server)).collect();
        for client in &mut clients {
            client.write_all(b"half a ").unwrap();
        }
        eventually("all is read", || server.statistics().read == 700);
        std::thread::sleep(Duration::from_millis(20));
        let in_use = server.statistics().buffers.in_use;
        for client in &mut clients {
            assert_answered(client, b"line\n", b"half a line\n");
        }
        drop(clients);
        drop(server);
        in_use
    }
    assert_eq!(in_use::<true>(), 200);
    assert!(in_use::<false>() <= 4);
}

#[test]
fn a_pool_gives_the_memory_of_a_burst_back() {
    // A worker looks every sixteenth of this time.
    let idle = Some(Duration::from_secs(4));
    let server = start::<true>(Settings { idle, ..settings() });
    let mut clients: Vec<_> = (0..400).map(|_| client(&server)).collect();
    for client in &mut clients {
        client.write_all(b"half a ").unwrap();
    }
    let buffers = || server.statistics().buffers;
    eventually("all have buffers", || buffers().in_use == 800);
    for client in &mut clients {
        assert_answered(client, b"line\n", b"half a line\n");
    }
    eventually("the buffers are freed", || buffers().in_use + buffers().idle == 0);
}

#[test]
fn lines_are_answered_with_buffers_for_each_connection() {
    lines_are_answered::<true>();
}

#[test]
fn lines_are_answered_with_buffers_for_each_worker() {
    lines_are_answered::<false>();
}

#[test]
fn connections_are_spread_evenly_or_stay_where_they_come() {
    let server = start::<false>(settings());
    let clients: Vec<_> = (0..40).map(|_| client(&server)).collect();
    eventually("all open", || server.statistics().open == 40);
    let by_worker = server.shared().open_by_worker();
    // Two workers may both take themselves for the one with fewer.
    assert!(by_worker.iter().all(|&open| (15..=25).contains(&open)), "{by_worker:?}");
    drop(clients);
    drop(server);
    let server = start::<false>(Settings { spread: false, ..settings() });
    let _clients: Vec<_> = (0..40).map(|_| client(&server)).collect();
    eventually("all open", || server.statistics().open == 40);
    assert_eq!(server.statistics().handed_over, 0);
}

fn a_client_that_does_not_read_is_not_read<const KEEPS: bool>() {
    let server = start::<KEEPS>(settings());
    let mut slow = client(&server);
    slow.write_all(&b"big\n".repeat(1000)).unwrap();
    eventually("a stall", || server.statistics().stalled > 0);
    std::thread::sleep(Duration::from_millis(50));
    assert!(Arc::strong_count(&server.big) <= 6, "{} chunks wait", Arc::strong_count(&server.big));
    // Others are served meanwhile, by both workers.
    for _ in 0..4 {
        let mut other = client(&server);
        assert_answered(&mut other, b"copy\n", b"copy\n");
    }
    for _ in 0..50 {
        assert!(answer(&mut slow, BIG).iter().all(|&byte| byte == b'x'));
    }
    drop(slow);
    eventually("its end", || server.statistics().open == 0);
}

#[test]
fn a_client_that_does_not_read_is_not_read_with_buffers_for_each_connection() {
    a_client_that_does_not_read_is_not_read::<true>();
}

#[test]
fn a_client_that_does_not_read_is_not_read_with_buffers_for_each_worker() {
    a_client_that_does_not_read_is_not_read::<false>();
}

#[test]
fn every_answer_arrives_though_the_client_reads_slowly() {
    let server = start::<false>(settings());
    let mut slow = client(&server);
    let lines: Vec<u8> = (0..60_000).flat_map(|at| format!("line {at}\n").into_bytes()).collect();
    let mut writer = slow.try_clone().unwrap();
    let sent = lines.clone();
    let writing = std::thread::spawn(move || writer.write_all(&sent).unwrap());
    let mut received = Vec::new();
    let mut piece = [0; 3000];
    while received.len() < lines.len() {
        let count = slow.read(&mut piece).unwrap();
        assert_ne!(count, 0, "the server closed");
        received.extend_from_slice(&piece[..count]);
    }
    writing.join().unwrap();
    assert!(received == lines);
}

#[test]
fn a_client_that_reads_as_fast_as_it_is_answered_leaves_others_their_turns() {
    let server = start::<false>(Settings { threads: 1, ..settings() });
    let (mut greedy, mut other) = (client(&server), client(&server));
    greedy.write_all(b"endless\n").unwrap();
    greedy.shutdown(Shutdown::Write).unwrap();
    let reader = std::thread::spawn(move || std::io::copy(&mut greedy, &mut std::io::sink()));
    eventually("it is answered", || server.statistics().written > 100);
    assert_answered(&mut other, b"enough\n", b"enough\n");
    assert!(reader.join().unwrap().unwrap() > 100);
}

#[test]
fn a_connection_on_which_nothing_moves_is_closed() {
    let server = start::<false>(Settings { idle: Some(Duration::from_millis(300)), ..settings() });
    let (mut idle, mut half, mut slow) = (client(&server), client(&server), client(&server));
    half.write_all(b"half a li").unwrap();
    slow.write_all(&b"big\n".repeat(1000)).unwrap();
    assert_eq!(idle.read(&mut [0; 8]).unwrap(), 0);
    assert_eq!(half.read(&mut [0; 8]).unwrap(), 0);
    eventually("all closed", || server.statistics().open == 0);
    eventually("all counted", || server.statistics().timed_out == 3);
}

#[test]
fn connections_beyond_the_limit_are_closed_at_once() {
    let server = start::<false>(Settings { connections: 5, ..settings() });
    let mut clients: Vec<_> = (0..5).map(|_| client(&server)).collect();
    for client in &mut clients {
        assert_answered(client, b"in\n", b"in\n");
    }
    let refused = client(&server).read(&mut [0; 8]);
    assert!(matches!(refused, Ok(0) | Err(_)), "{refused:?}");
    clients.pop();
    eventually("one has left", || server.statistics().open == 4);
    let mut late = client(&server);
    assert_answered(&mut late, b"in\n", b"in\n");
    assert_eq!(server.statistics().refused, 1);
}

#[test]
fn a_handler_may_refuse_a_connection() {
    let server = start_with::<true>(settings(), true);
    let refused = client(&server).read(&mut [0; 8]);
    assert!(matches!(refused, Ok(0) | Err(_)), "{refused:?}");
    eventually("one refusal", || server.statistics().refused == 1);
}

#[test]
fn clients_that_die_at_any_moment_leave_nothing_behind() {
    let server = start::<false>(settings());
    for at in 0..60 {
        let mut client = client(&server);
        let request = [b"big\n", b"half", b"end\n"][at % 3];
        client.write_all(&request.repeat(at)).unwrap();
        if at % 2 == 0 && at % 3 == 0 && at > 0 {
            // The system resets a connection with unread bytes.
            let _ = client.read(&mut [0; 1]);
        }
    }
    eventually("all gone", || server.statistics().open == 0);
}

#[test]
fn a_client_that_ended_its_output_gets_its_answers() {
    let server = start::<false>(settings());
    let mut client = client(&server);
    client.write_all(b"big\nbig\nlast\nhalf").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut all = Vec::new();
    client.read_to_end(&mut all).unwrap();
    assert_eq!((all.len(), &all[2 * BIG..]), (2 * BIG + 5, &b"last\n"[..]));
}

#[test]
fn an_end_follows_the_answers_and_a_lingering_one_survives_unread_input() {
    let server = start::<false>(settings());
    let mut ended = client(&server);
    ended.write_all(b"one\nend\n").unwrap();
    let mut all = Vec::new();
    ended.read_to_end(&mut all).unwrap();
    assert_eq!(all, b"one\n");

    let mut lingering = client(&server);
    lingering.write_all(b"linger\n").unwrap();
    lingering.write_all(&[b'z'; 300_000]).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(answer(&mut lingering, 3), b"no\n");
    assert_eq!(lingering.read(&mut [0; 1]).unwrap(), 0);
    drop(lingering);
    eventually("all gone", || server.statistics().open == 0);
}

#[test]
fn a_client_that_never_ends_does_not_linger_for_ever() {
    let server = start::<true>(settings());
    let mut client = client(&server);
    assert_answered(&mut client, b"linger\n", b"no\n");
    eventually("its end", || {
        std::thread::sleep(Duration::from_millis(50));
        client.write_all(b"z").is_err() || server.statistics().open == 0
    });
}

#[test]
fn a_server_that_stops_ends_what_it_is_at_and_closes_what_is_idle() {
    let server = start::<false>(Settings { grace: Duration::from_secs(60), ..settings() });
    let (mut idle, mut slow) = (client(&server), client(&server));
    slow.write_all(&b"big\n".repeat(10)).unwrap();
    eventually("a stall", || server.statistics().stalled > 0);
    let address = internet(&server);
    let stopping = std::thread::spawn(move || drop(server));
    assert_eq!(idle.read(&mut [0; 1]).unwrap(), 0);
    let mut all = Vec::new();
    slow.read_to_end(&mut all).unwrap();
    assert_eq!(all.len(), 10 * BIG);
    stopping.join().unwrap();
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn a_server_that_stops_waits_no_longer_than_its_grace() {
    let server = start::<false>(Settings { grace: Duration::from_millis(200), ..settings() });
    let mut slow = client(&server);
    slow.write_all(&b"big\n".repeat(100)).unwrap();
    eventually("a stall", || server.statistics().stalled > 0);
}

#[test]
fn connections_that_come_while_a_server_stops_are_closed_wherever_they_are() {
    for _ in 0..50 {
        let server = start::<true>(settings());
        let address = internet(&server);
        let crowd: Vec<_> = (0..4)
            .map(|_| {
                std::thread::spawn(move || {
                    let mut clients = VecDeque::new();
                    while let Ok(client) = TcpStream::connect(address) {
                        clients.push_back(client);
                        if clients.len() > 30 {
                            clients.pop_front();
                        }
                    }
                    for mut client in clients {
                        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
                        // The system may report to a sender alone that it was never accepted.
                        let _ = client.write_all(b"x\n");
                        if let Err(error) = client.read_to_end(&mut Vec::new()) {
                            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
                        }
                    }
                })
            })
            .collect();
        eventually("some have come", || server.statistics().accepted > 10);
        drop(server);
        crowd.into_iter().for_each(|clients| clients.join().unwrap());
    }
}

#[test]
fn an_address_in_use_is_an_error() {
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let server = start::<true>(settings());
    for taken in [other.local_addr().unwrap(), internet(&server)] {
        let settings = Settings { listen: taken.into(), ..settings() };
        let handler = |_, _: &Arc<Shared>| Lines::<true>::new(Arc::from([]), false);
        let error = Server::start(settings, handler).err().unwrap();
        assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    }
}

#[test]
fn acquires_are_timed_if_asked_for() {
    let server = start::<true>(Settings { time_acquires: true, ..settings() });
    for _ in 0..5 {
        let mut client = client(&server);
        assert_answered(&mut client, b"x\nend\n", b"x\n");
    }
    let acquires = server.shared().acquires();
    // One more where the first byte was not there yet.
    assert!((5..=10).contains(&acquires.len()), "{}", acquires.len());
    assert!(acquires.max() > 0);
}

fn at_path(path: &Path) -> Settings {
    Settings { listen: Address::Unix(path.to_owned()), ..settings() }
}

fn refused_at(path: &Path) -> std::io::Error {
    let handler = |_, _: &Arc<Shared>| Lines::<true>::new(Arc::from([]), false);
    Server::start(at_path(path), handler).err().unwrap()
}

#[test]
fn a_server_at_a_path_serves_from_all_workers_and_takes_its_file_along() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let server = start::<false>(Settings { socket_mode: 0o770, ..at_path(&path) });
    assert_eq!(server.address().to_string(), format!("unix:{}", path.display()));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o770);
    let mut clients: Vec<_> = (0..10).map(|_| UnixStream::connect(&path).unwrap()).collect();
    for client in &mut clients {
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        client.write_all(b"hello\n").unwrap();
        let mut answer = [0; 6];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"hello\n");
    }
    let open = server.shared().open_by_worker();
    assert!(open.iter().sum::<u64>() == 10 && !open.contains(&0), "{open:?}");
    drop(clients);
    drop(server);
    assert!(!path.exists(), "the file stays");
}

#[test]
fn a_socket_that_a_dead_server_left_makes_way_and_nothing_else_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "left behind");
    let server = start::<false>(at_path(&path));
    assert_eq!(refused_at(&path).kind(), std::io::ErrorKind::AddrInUse);
    drop(UnixStream::connect(&path).expect("the first still answers"));
    // Another file that has the path by now stays.
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "precious").unwrap();
    drop(server);
    assert_eq!(refused_at(&path).kind(), std::io::ErrorKind::AddrInUse);
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
}

#[test]
fn without_a_time_no_connection_is_closed_because_nothing_moves() {
    let server = start::<false>(Settings { idle: None, ..settings() });
    let mut idle = client(&server);
    // `a_connection_on_which_nothing_moves_is_closed` closes after 300 ms, and a worker looks every 313 ms.
    std::thread::sleep(Duration::from_millis(700));
    assert_answered(&mut idle, b"still\n", b"still\n");
    assert_eq!(server.statistics().timed_out, 0);
}
