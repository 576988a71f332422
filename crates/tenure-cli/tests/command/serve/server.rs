use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal};
use tempfile::TempDir;

pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http,
    Memcached,
}

pub(crate) const PROTOCOLS: [Protocol; 2] = [Protocol::Http, Protocol::Memcached];

const STATS: &str = "/stats";

pub(crate) type Figures = BTreeMap<String, u64>;

/// With the folder of its files, if it speaks HTTP.
pub(crate) struct Server {
    child: Child,
    pub(crate) protocol: Protocol,
    pub(crate) address: SocketAddr,
    pub(crate) folder: TempDir,
}

impl Server {
    pub(crate) fn start(protocol: Protocol, more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.arg("serve");
        match protocol {
            Protocol::Http => {
                std::fs::create_dir(folder.path().join("root")).unwrap();
                command.arg("http").arg(folder.path().join("root")).args(["--stats", STATS]);
            }
            Protocol::Memcached => drop(command.arg("memcached")),
        }
        command.args(["--listen", "127.0.0.1:0", "--threads", "2", "--json"]);
        command.arg(folder.path().join("summary.json")).args(more).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
        let address = first.trim().strip_prefix("listening on ").and_then(|text| text.parse().ok());
        let address = address.unwrap_or_else(|| panic!("the server says {first:?}"));
        Self { child, protocol, address, folder }
    }

    pub(crate) fn file(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.folder.path().join("root").join(name), contents).unwrap();
    }

    pub(crate) fn url(&self, name: &str) -> String {
        format!("http://{}/{name}", self.address)
    }

    /// Its reads time out.
    pub(crate) fn connect(&self) -> TcpStream {
        let client = TcpStream::connect(self.address).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client.set_write_timeout(Some(PATIENCE)).unwrap();
        client
    }

    /// Sends the request over a new connection, and returns all until the server closes that.
    pub(crate) fn talk(&self, request: &[u8]) -> Vec<u8> {
        let mut client = self.connect();
        client.write_all(request).unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        answer
    }

    /// Over a new connection, which is among the open ones.
    pub(crate) fn figures(&self) -> Figures {
        match self.protocol {
            Protocol::Http => {
                let answer = self.talk(format!("GET {STATS} HTTP/1.0\r\n\r\n").as_bytes());
                let text = std::str::from_utf8(&answer).unwrap();
                let (_, body) = text.split_once("\r\n\r\n").unwrap();
                figures(body)
            }
            Protocol::Memcached => {
                let answer = String::from_utf8(self.talk(b"stats\r\nquit\r\n")).unwrap();
                let lines = answer.lines().filter_map(|line| line.strip_prefix("STAT "));
                let named = lines.filter_map(|line| line.split_once(' '));
                named
                    .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
                    .collect()
            }
        }
    }

    /// Polls the figures until `is`.
    #[track_caller]
    pub(crate) fn wait_for(&self, what: &str, is: impl Fn(&Figures) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let figures = self.figures();
            if is(&figures) {
                return;
            }
            assert!(Instant::now() < deadline, "still not: {what}: {figures:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// But the one that asks.
    #[track_caller]
    pub(crate) fn wait_for_no_clients(&self) {
        eventually("all connections are accepted", || self.backlog() == 0);
        self.wait_for("all clients have left", |figures| figures["curr_connections"] == 1);
    }

    /// Connections that the system has made and the server has not accepted.
    fn backlog(&self) -> u64 {
        let listening = format!(":{:04X}", self.address.port());
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let waiting = table.lines().filter_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            let (address, state) = (words.next()?, words.nth(1)?);
            // A listening socket: its queue is behind the colon.
            (address.ends_with(&listening) && state == "0A").then_some(())?;
            u64::from_str_radix(words.next()?.split(':').nth(1)?, 16).ok()
        });
        waiting.sum()
    }

    /// In bytes.
    pub(crate) fn resident(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().trim().parse::<u64>().unwrap() << 10
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    pub(crate) fn limit_files(&self, most: usize) {
        let most = Some(most as u64);
        let limit = Rlimit { current: most, maximum: most };
        rustix::process::prlimit(Some(Pid::from_child(&self.child)), Resource::Nofile, limit)
            .unwrap();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        rustix::process::kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    #[track_caller]
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.child.try_wait().unwrap() {
                Some(status) => return status,
                None => assert!(Instant::now() < deadline, "the server does not end"),
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Stops it, expects a good end with nothing left, and returns its figures.
    #[track_caller]
    pub(crate) fn stop(mut self) -> Figures {
        self.signal(Signal::TERM);
        self.ended()
    }

    /// Waits for a good end with nothing left.
    #[track_caller]
    pub(crate) fn ended(&mut self) -> Figures {
        assert_eq!(self.wait().code(), Some(0));
        let json = std::fs::read_to_string(self.folder.path().join("summary.json")).unwrap();
        let figures = figures(&json);
        for name in ["curr_connections", "buffers_in_use"] {
            assert_eq!(figures[name], 0, "{name}: {figures:?}");
        }
        figures
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[track_caller]
pub(crate) fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is() {
        assert!(Instant::now() < deadline, "still not: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn figures(json: &str) -> Figures {
    let all: serde_json::Value = serde_json::from_str(json).unwrap();
    let figures = all["figures"].as_object().unwrap();
    figures.iter().map(|(name, figure)| (name.clone(), figure.as_u64().unwrap())).collect()
}
