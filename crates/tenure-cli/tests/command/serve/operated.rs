use std::io::{BufRead, BufReader, Read, Write};

use rustix::process::Signal;

use super::server::{PROTOCOLS, Protocol, Server, eventually};
use super::traffic::{drain, start, stop};

#[test]
fn the_number_of_the_process_is_in_its_file_as_long_as_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pid");
    for protocol in PROTOCOLS {
        std::fs::write(&path, "of an earlier one").unwrap();
        let server = start(protocol, &["--pid-file", path.to_str().unwrap()]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", server.pid()));
        stop(server);
        assert!(!path.exists());
    }
}

#[test]
fn a_hangup_has_passwords_read_again_and_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("passwords");
    let (old, new) = (b"set x 0 0 7\r\nann one\r\nquit\r\n", b"set x 0 0 7\r\nann two\r\nquit\r\n");
    std::fs::write(&path, "ann:one\n").unwrap();
    let mut server = Server::start(Protocol::Memcached, &["--auth-file", path.to_str().unwrap()]);
    let wrong = b"CLIENT_ERROR authentication failure\r\n";
    assert_eq!((server.talk(old), server.talk(new)), (b"STORED\r\n".to_vec(), wrong.to_vec()));
    assert_eq!(server.talk(b"get x\r\nquit\r\n"), b"CLIENT_ERROR unauthenticated\r\n");
    let mut connected = server.connect();
    connected.write_all(&old[..22]).unwrap();
    let mut stored = [0; 8];
    connected.read_exact(&mut stored).unwrap();
    assert_eq!(&stored, b"STORED\r\n");
    std::fs::write(&path, "ann:two\n").unwrap();
    server.signal(Signal::HUP);
    eventually("the file is read", || server.talk(new) == b"STORED\r\n");
    assert_eq!(server.talk(old), wrong);
    // A bad file changes nothing.
    std::fs::write(&path, "ann").unwrap();
    server.signal(Signal::HUP);
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(server.talk(new), b"STORED\r\n");
    connected.write_all(b"mn\r\nquit\r\n").unwrap();
    assert_eq!(drain(&mut connected), b"MN\r\n");
    server.signal(Signal::TERM);
    server.ended();
}

#[test]
fn a_connection_gives_way_after_as_many_requests_as_it_may_make_at_once() {
    let server = Server::start(Protocol::Memcached, &["--requests-per-turn", "1"]);
    let sets = b"set k 0 0 1\r\nx\r\n".repeat(6);
    let answers = server.talk(&[&sets[..], b"quit\r\n"].concat());
    assert_eq!(answers, b"STORED\r\n".repeat(6));
    let figures = server.figures();
    assert!(figures["conn_yields"] >= 5, "{figures:?}");
    assert_eq!(figures["stalled_writes"], 0, "it had nothing to write");
    server.stop();
}

#[test]
fn a_watcher_is_told_of_others_while_it_says_nothing() {
    let server = Server::start(Protocol::Memcached, &[]);
    let mut watcher = BufReader::new(server.connect());
    watcher.get_mut().write_all(b"watch mutations\r\n").unwrap();
    let mut lines = watcher.lines().map(Result::unwrap);
    assert_eq!(lines.next().unwrap(), "OK");
    // From both kinds of threads: with the watcher and without.
    for number in 0..8 {
        let set = format!("set k{number} 0 0 1\r\nx\r\ndelete k{number}\r\nquit\r\n");
        assert_eq!(server.talk(set.as_bytes()), b"STORED\r\nDELETED\r\n");
        let line = lines.next().unwrap();
        assert!(line.contains(&format!(" type=item_store key=k{number} status=stored ")), "{line}");
    }
    assert_eq!(server.figures()["log_watchers"], 1);
    drop(lines);
    server.wait_for("the watcher has gone", |figures| figures["log_watchers"] == 0);
    server.stop();
}
