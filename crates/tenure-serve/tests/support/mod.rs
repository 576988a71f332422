//! What the tests of the memcached server share: transcripts, and the real memcached.

#![allow(dead_code, reason = "no test file uses all of it")]

pub(crate) mod requests;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tenure::count::TicketRef;
use tenure_serve::buffers::{Buffers, PoolKind};
use tenure_serve::memcached::{Cache, Config, Memcached, script};

/// A cache with one handler.
pub(crate) struct Server {
    pub(crate) cache: Cache<TicketRef, TicketRef>,
    pub(crate) handler: Memcached<TicketRef, TicketRef>,
    pub(crate) buffers: Buffers,
}

impl Server {
    pub(crate) fn new() -> Self {
        Self::with(&Config::default())
    }

    pub(crate) fn with(config: &Config) -> Self {
        let cache = Cache::new(config);
        let buffers = Buffers::new(PoolKind::Magazines, 16 << 10).unwrap();
        Self { handler: cache.handler(), cache, buffers }
    }

    /// The answers to a connection's requests, which come in pieces of so many bytes.
    pub(crate) fn cut(&mut self, requests: &[u8], piece: usize) -> Vec<u8> {
        self.cut_at(requests, (1..).map(|at| at * piece).take_while(|at| *at < requests.len()))
    }

    /// The answers to a connection's requests, which come in pieces that end there.
    pub(crate) fn cut_at(
        &mut self,
        requests: &[u8],
        ends: impl IntoIterator<Item = usize>,
    ) -> Vec<u8> {
        script::answers(&mut self.handler, &self.buffers, requests, ends).unwrap()
    }

    /// The answers to a connection's requests.
    pub(crate) fn ask(&mut self, requests: impl AsRef<[u8]>) -> String {
        text(&self.cut(requests.as_ref(), 16 << 10))
    }
}

/// The usual settings, with that memory.
pub(crate) fn config(memory: u64) -> Config {
    let mut config = Config::default();
    config.memory = memory;
    config
}

/// What `stats` says under that name.
pub(crate) fn stat(server: &mut Server, name: &str) -> u64 {
    let stats = server.ask("stats\r\n");
    let line = stats.lines().find_map(|line| line.strip_prefix(&format!("STAT {name} ")));
    line.unwrap_or_else(|| panic!("{name} in {stats}")).parse().unwrap()
}

/// What `stats` says of that kind, by name.
pub(crate) fn stats(server: &mut Server, kind: &str) -> BTreeMap<String, String> {
    let answer = server.ask(format!("stats {kind}\r\n"));
    let lines = answer.lines().filter_map(|line| line.strip_prefix("STAT ")?.split_once(' '));
    lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Bytes as people can read them.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The memcached of this machine, on a socket of its own.
pub(crate) struct Real {
    process: Child,
    socket: PathBuf,
}

impl Real {
    /// `None`, and a line that says so, where there is none, or one whose answers are other ones.
    pub(crate) fn start() -> Option<Self> {
        static NUMBER: Mutex<u32> = Mutex::new(0);
        let number = {
            let mut last = NUMBER.lock().unwrap();
            *last += 1;
            *last
        };
        let version = Command::new("memcached").arg("-V").output().ok();
        let version = version.map(|output| text(&output.stdout)).unwrap_or_default();
        if version.trim() != "memcached 1.6.45" {
            eprintln!("skipped: memcached 1.6.45 is not on PATH (found: {:?})", version.trim());
            return None;
        }
        let socket =
            std::env::temp_dir().join(format!("tenure-{}-{number}.sock", std::process::id()));
        let _ = std::fs::remove_file(&socket); // Left by a run that was killed.
        let process = Command::new("memcached")
            .args(["-t", "1", "-m", "64", "-u", "nobody", "-a", "0777", "-s"])
            .arg(&socket)
            .stderr(Stdio::null())
            .spawn()
            .expect("memcached starts");
        let real = Self { process, socket };
        let began = Instant::now();
        while UnixStream::connect(&real.socket).is_err() {
            assert!(began.elapsed() < Duration::from_secs(10), "memcached listens");
            std::thread::sleep(Duration::from_millis(1));
        }
        Some(real)
    }

    /// The answers to a connection's requests.
    pub(crate) fn ask(&self, requests: &[u8]) -> Vec<u8> {
        let mut stream = UnixStream::connect(&self.socket).expect("memcached listens");
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
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// A connection with an empty server.
pub(crate) struct Transcript {
    pub(crate) name: String,
    pub(crate) requests: Vec<u8>,
    pub(crate) answers: Vec<u8>,
    /// Whether memcached answers otherwise.
    pub(crate) is_ours: bool,
}

/// Those of `tests/memcached.transcripts`.
pub(crate) fn transcripts() -> Vec<Transcript> {
    let mut all: Vec<Transcript> = Vec::new();
    for line in include_str!("../memcached.transcripts").lines() {
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

/// The bytes that a line of a transcript stands for.
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
