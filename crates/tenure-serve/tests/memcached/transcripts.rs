//! Every command by its transcript, however the connection is cut; memcached answers the same.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use tempfile::{Builder, NamedTempFile};
use tenure_serve::memcached::Passwords;

use crate::requests::requests;
use crate::support::{Server, text};

struct Transcript {
    name: String,
    /// Whether memcached answers otherwise.
    is_ours: bool,
    options: Vec<String>,
    parts: Vec<Part>,
}

#[derive(Default)]
struct Part {
    /// Seconds from the start.
    second: Option<u64>,
    requests: Vec<u8>,
    answers: Vec<u8>,
    stats: Vec<String>,
}

fn transcripts() -> Vec<Transcript> {
    let mut all: Vec<Transcript> = Vec::new();
    for line in include_str!("transcripts.txt").lines() {
        let (kind, rest) = line.split_at(line.len().min(2));
        let kind = kind.trim_end();
        if matches!(kind, "" | "#") {
            continue;
        }
        if matches!(kind, "=" | "~") {
            let (is_ours, options) = (kind == "~", Vec::new());
            all.push(Transcript { name: rest.to_owned(), is_ours, options, parts: Vec::new() });
            continue;
        }
        let Transcript { options, parts, .. } = all.last_mut().expect("a name");
        if parts.is_empty() || kind == "@" || kind == ">" && !parts.last().unwrap().stats.is_empty()
        {
            parts.push(Part::default());
        }
        let part = parts.last_mut().unwrap();
        match kind {
            "!" => options.push(rest.to_owned()),
            "@" => part.second = rest.parse().ok(),
            ">" => part.requests.extend(bytes_of(rest)),
            "<" => part.answers.extend(bytes_of(rest)),
            "?" => part.stats.push(rest.to_owned()),
            _ => panic!("not a line of a transcript: {line}"),
        }
    }
    assert!(!all.is_empty());
    all
}

impl Transcript {
    fn check(&self, how: &str, feed: impl Fn(&mut Server, &[u8]) -> Vec<u8>) {
        let mut server = Server::with(|config| {
            for option in &self.options {
                match option.split_once(' ').unwrap_or((option, "")) {
                    ("memory", bytes) => config.memory = bytes.parse().unwrap(),
                    ("no-evictions", _) => config.evictions = false,
                    ("no-flush", _) => config.flush = false,
                    ("no-dump", _) => config.dump = false,
                    ("no-watch", _) => config.watch = false,
                    ("passwords", all) => {
                        let file = NamedTempFile::new().unwrap();
                        std::fs::write(file.path(), all.replace(',', "\n")).unwrap();
                        config.passwords = Some(Passwords::open(file.path()).unwrap());
                    }
                    ("prefix-delimiter", byte) => {
                        config.prefix_delimiter = Some(byte.as_bytes()[0]);
                    }
                    _ => panic!("not an option: {option}"),
                }
            }
        });
        for part in &self.parts {
            part.second.into_iter().for_each(|second| server.tick(second));
            let answers = feed(&mut server, &part.requests);
            assert_eq!(text(&answers), text(&part.answers), "{}, {how}", self.name);
            for stat in &part.stats {
                let kinds = ["", "settings", "items", "slabs"];
                let stats: BTreeMap<_, _> =
                    kinds.into_iter().flat_map(|kind| server.stats(kind)).collect();
                let (names, value) = stat.split_once(' ').expect("a name and a value");
                let said = match names.split_once('+') {
                    None => stats[names].clone(),
                    Some(both) => {
                        let number = |name: &str| stats[name].parse::<u64>().unwrap();
                        (number(both.0) + number(both.1)).to_string()
                    }
                };
                assert_eq!(said, value, "{names}, {}, {how}", self.name);
            }
        }
    }

    /// Bytes of the longest connection. One of a megabyte is cut less often: each byte calls the handler.
    fn len(&self) -> usize {
        self.parts.iter().map(|part| part.requests.len()).max().unwrap_or(0)
    }
}

/// A line's bytes: `\r`, `\n`, `\NN` in hexadecimal, and `{x*n}` for n times `x`.
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
        transcript.check("whole", |server, requests| server.ask(requests).into_bytes());
    }
}

#[test]
fn no_transcript_is_answered_otherwise_when_it_is_cut() {
    for transcript in transcripts() {
        let len = transcript.len();
        let pieces: Vec<usize> =
            if len < 4096 { (1..=len).collect() } else { vec![1001, 2048, 4096] };
        for piece in pieces {
            transcript
                .check(&format!("by {piece}"), |server, requests| server.cut(requests, piece));
        }
    }
}

/// Twice in a row: the second part meets each state of a connection.
#[test]
fn a_transcript_in_two_parts_is_answered_as_in_one() {
    for transcript in transcripts().iter().filter(|transcript| transcript.len() < 4096) {
        for cut in 0..=transcript.len() {
            transcript.check(&format!("cut at {cut}"), |server, requests| {
                server.cut_at(requests, [cut.min(requests.len())])
            });
        }
    }
}

struct Real(NamedTempFile<Child>);

impl Real {
    /// `None`, and a line that says so, without memcached of the right version.
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

    fn ask(&self, requests: &[u8]) -> Vec<u8> {
        let mut stream = UnixStream::connect(self.0.path()).expect("memcached listens");
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        // It may have ended the connection.
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
        let [part] = &transcript.parts[..] else { panic!("{} in parts", transcript.name) };
        let answers = real.ask(&part.requests);
        assert_eq!(text(&answers), text(&part.answers), "{}", transcript.name);
    }
}

/// Values' numbers are compared only where a request chose them.
#[test]
fn the_real_memcached_answers_random_requests_as_this_server_does() {
    if Real::start().is_none() {
        return;
    }
    let config = Config { failure_persistence: None, ..Config::default() };
    let run = TestRunner::new(config).run(&requests(), |requests| {
        let mut last = Ok(());
        // A second may end between two commands: lifetimes and idle times then differ.
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
