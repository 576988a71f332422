//! Every command of the memcached server by its transcript, however the connection is cut; and the same requests to the
//! real memcached, whose answers are the same bytes.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use tempfile::{Builder, NamedTempFile};

use crate::requests::requests;
use crate::support::{Server, text};

/// A connection with an empty server.
struct Transcript {
    name: String,
    requests: Vec<u8>,
    answers: Vec<u8>,
    /// Whether memcached answers otherwise.
    is_ours: bool,
}

/// Those of `transcripts.txt`.
fn transcripts() -> Vec<Transcript> {
    let mut all: Vec<Transcript> = Vec::new();
    for line in include_str!("transcripts.txt").lines() {
        let (kind, rest) = line.split_at(line.len().min(2));
        match (kind.trim_end(), all.last_mut()) {
            ("", _) | ("#", _) => {}
            ("=" | "~", _) => all.push(Transcript {
                name: rest.to_owned(),
                requests: Vec::new(),
                answers: Vec::new(),
                is_ours: kind.starts_with('~'),
            }),
            (">", Some(last)) => last.requests.extend(bytes_of(rest)),
            ("<", Some(last)) => last.answers.extend(bytes_of(rest)),
            _ => panic!("not a line of a transcript: {line}"),
        }
    }
    assert!(!all.is_empty());
    all
}

/// The bytes that a line of a transcript stands for: `\r`, `\n`, `\NN` in hexadecimal, and `{x*n}` for n times `x`.
fn bytes_of(line: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '\\' if rest.starts_with("\\r") => {
                bytes.push(b'\r');
                2
            }
            '\\' if rest.starts_with("\\n") => {
                bytes.push(b'\n');
                2
            }
            '\\' => {
                bytes.push(u8::from_str_radix(&rest[2..4], 16).expect("\\xNN"));
                4
            }
            '{' => {
                let end = rest.find('}').expect("{x*n}");
                let times = rest[3..end].parse().expect("{x*n}");
                bytes.extend(rest.as_bytes()[1..2].repeat(times));
                end + 1
            }
            _ => {
                bytes.push(rest.as_bytes()[0]);
                1
            }
        };
        rest = &rest[len..];
    }
    bytes.extend(b"\r\n");
    bytes
}

#[test]
fn every_transcript_is_answered_as_written() {
    for transcript in transcripts() {
        let answers = Server::new().ask(&transcript.requests);
        assert_eq!(answers, text(&transcript.answers), "{}", transcript.name);
    }
}

/// Byte by byte, and in pieces that end everywhere.
#[test]
fn no_transcript_is_answered_otherwise_when_it_is_cut() {
    for transcript in transcripts() {
        let len = transcript.requests.len();
        // Those with a megabyte of data in fewer pieces: a byte is a call of the handler.
        let pieces: Vec<usize> =
            if len < 4096 { (1..=len).collect() } else { vec![1001, 2048, 4096] };
        for piece in pieces {
            let answers = text(&Server::new().cut(&transcript.requests, piece));
            assert_eq!(answers, text(&transcript.answers), "{} by {piece}", transcript.name);
        }
    }
}

/// Twice in a row, so that the second part meets each state that a connection can be in.
#[test]
fn a_transcript_in_two_parts_is_answered_as_in_one() {
    for transcript in transcripts().iter().filter(|transcript| transcript.requests.len() < 4096) {
        for cut in 0..=transcript.requests.len() {
            let answers = text(&Server::new().cut_at(&transcript.requests, [cut]));
            assert_eq!(answers, text(&transcript.answers), "{} at {cut}", transcript.name);
        }
    }
}

/// The memcached of this machine, on a socket of its own.
struct Real(NamedTempFile<Child>);

impl Real {
    /// `None`, and a line that says so, where there is no memcached of the right version.
    fn start() -> Option<Self> {
        let version = Command::new("memcached").arg("-V").output().ok();
        let version = version.map(|output| text(&output.stdout)).unwrap_or_default();
        if version.trim() != "memcached 1.6.45" {
            eprintln!("skipped: memcached 1.6.45 is not on PATH (found: {:?})", version.trim());
            return None;
        }
        let start = |socket: &Path| {
            Command::new("memcached")
                .args(["-t", "1", "-m", "64", "-u", "nobody", "-a", "0777", "-s"])
                .arg(socket)
                .stderr(Stdio::null())
                .spawn()
        };
        let real = Self(Builder::new().suffix(".sock").make(start).expect("memcached starts"));
        let began = Instant::now();
        while UnixStream::connect(real.0.path()).is_err() {
            assert!(began.elapsed() < Duration::from_secs(10), "memcached listens");
            std::thread::sleep(Duration::from_millis(1));
        }
        Some(real)
    }

    /// The answers to a connection's requests.
    fn ask(&self, requests: &[u8]) -> Vec<u8> {
        let mut stream = UnixStream::connect(self.0.path()).expect("memcached listens");
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        // It may have ended the connection already.
        let _ = stream.write_all(requests);
        let _ = stream.shutdown(Shutdown::Write);
        let mut answers = Vec::new();
        let _ = stream.read_to_end(&mut answers);
        answers
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        let _ = self.0.as_file_mut().kill();
        let _ = self.0.as_file_mut().wait();
    }
}

#[test]
fn the_real_memcached_answers_every_transcript_as_written() {
    for transcript in transcripts().iter().filter(|transcript| !transcript.is_ours) {
        let Some(real) = Real::start() else {
            return;
        };
        let answers = real.ask(&transcript.requests);
        assert_eq!(text(&answers), text(&transcript.answers), "{}", transcript.name);
    }
}

/// The numbers of values are compared only where a request has chosen them.
#[test]
fn the_real_memcached_answers_random_requests_as_this_server_does() {
    if Real::start().is_none() {
        return;
    }
    let config = Config { failure_persistence: None, ..Config::default() };
    let run = TestRunner::new(config).run(&requests(), |requests| {
        let mut last = Ok(());
        // A second may end between two commands: lifetimes and idle times then differ, once.
        for _ in 0..3 {
            let real = Real::start().expect("it was there");
            let (ours, theirs) = (Server::new().cut(&requests, 16 << 10), real.ask(&requests));
            if ours == theirs {
                return Ok(());
            }
            let [requests, ours, theirs] = [&requests, &ours, &theirs].map(|bytes| text(bytes));
            last = Err(TestCaseError::fail(format!(
                "{requests:?}\n  here {ours:?}\n  real {theirs:?}"
            )));
        }
        last
    });
    if let Err(TestError::Fail(reason, _)) = run {
        panic!("a connection is answered otherwise: {reason}");
    }
}
