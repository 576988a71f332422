//! Drives a server over many connections, and prints how many answers come a second; with --pid PID, of its processor time.
//!
//! load memcached ADDRESS [OPTION...]     keys of ten digits, set first; then sets and gets at random
//! load http ADDRESS [OPTION...]          connection N asks with the cookie `session=N`
//!
//! --connections 50   --seconds 2   --ratio 1:100 (sets and gets)   --keys 10000   --bytes 100   --path /

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::exit;
use std::time::{Duration, Instant};

fn fail(message: &str) -> ! {
    eprintln!("load: {message}");
    exit(1)
}

#[derive(Clone)]
enum Protocol {
    Memcached { sets: u64, gets: u64, keys: u64, value: Vec<u8> },
    Http { path: String },
}

impl Protocol {
    fn set(&self, key: u64, request: &mut Vec<u8>) {
        let Self::Memcached { value, .. } = self else { return };
        write!(request, "set {key:010} 0 0 {}\r\n", value.len()).unwrap();
        request.extend_from_slice(value);
        request.extend_from_slice(b"\r\n");
    }

    /// The next request of a connection.
    fn request(&self, connection: usize, random: u64, request: &mut Vec<u8>) {
        match self {
            Self::Memcached { sets, gets, keys, .. } => match random % (sets + gets) < *sets {
                true => self.set((random >> 32) % keys, request),
                false => write!(request, "get {:010}\r\n", (random >> 32) % keys).unwrap(),
            },
            Self::Http { path } => write!(
                request,
                "GET {path} HTTP/1.1\r\nhost: here\r\ncookie: session={connection}\r\n\r\n"
            )
            .unwrap(),
        }
    }

    /// The length of an answer that is complete.
    fn length(&self, answer: &[u8]) -> Option<usize> {
        let head = match self {
            Self::Memcached { .. } => answer.windows(2).position(|it| it == b"\r\n")? + 2,
            Self::Http { .. } => answer.windows(4).position(|it| it == b"\r\n\r\n")? + 4,
        };
        let text = String::from_utf8_lossy(&answer[..head]).to_ascii_lowercase();
        let number = |text: Option<&str>| text.and_then(|it| it.trim().parse::<usize>().ok());
        let length = match self {
            Self::Memcached { .. } if text == "stored\r\n" || text == "end\r\n" => Some(head),
            Self::Memcached { .. } => text
                .strip_prefix("value ")
                .and_then(|_| number(text.split(' ').nth(3)))
                .map(|bytes| head + bytes + "\r\nEND\r\n".len()),
            Self::Http { .. } => {
                text.split_once(' ').filter(|it| it.1.starts_with("200")).and_then(|_| {
                    let field = text.lines().find_map(|line| line.strip_prefix("content-length:"));
                    number(field).map(|bytes| head + bytes)
                })
            }
        };
        let length = length.unwrap_or_else(|| fail(&format!("the server answers {text:?}")));
        (answer.len() >= length).then_some(length)
    }
}

struct Connection {
    number: usize,
    stream: TcpStream,
    random: u64,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Connection {
    fn open(address: &str, number: usize) -> Self {
        let stream = TcpStream::connect(address);
        let stream = stream.unwrap_or_else(|error| fail(&format!("{address}: {error}")));
        stream.set_nodelay(true).unwrap();
        // A server that says nothing for so long says nothing more.
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
        let random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(number as u64 + 1);
        Self { number, stream, random, request: Vec::new(), answer: Vec::new() }
    }

    fn send(&mut self) {
        self.stream.write_all(&self.request).unwrap_or_else(|error| fail(&error.to_string()));
        self.request.clear();
    }

    fn ask(&mut self, protocol: &Protocol) {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        protocol.request(self.number, self.random, &mut self.request);
        self.send();
    }

    fn receive(&mut self, protocol: &Protocol) {
        let length = loop {
            if let Some(length) = protocol.length(&self.answer) {
                break length;
            }
            let mut piece = [0; 16 << 10];
            match self.stream.read(&mut piece) {
                Ok(0) => fail("the server has closed a connection"),
                Ok(count) => self.answer.extend_from_slice(&piece[..count]),
                Err(error) => fail(&error.to_string()),
            }
        };
        self.answer.drain(..length);
    }
}

/// The processor time of a process, which Linux counts in hundredths of a second.
fn processor_seconds(pid: &str) -> Option<f64> {
    if pid.is_empty() {
        return None;
    }
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    let stat = stat.unwrap_or_else(|error| fail(&format!("process {pid}: {error}")));
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    Some(fields.skip(11).take(2).filter_map(|it| it.parse::<f64>().ok()).sum::<f64>() / 100.0)
}

fn main() {
    let words = Vec::from_iter(std::env::args().skip(1));
    let [kind, address, options @ ..] = &words[..] else { fail("which protocol and address?") };
    let known = ["connections", "seconds", "pid", "ratio", "keys", "bytes", "path"];
    for pair in options.chunks(2) {
        let is_known = pair.len() == 2 && known.iter().any(|name| pair[0] == format!("--{name}"));
        if !is_known {
            fail(&format!("{} is no option, or has no value", pair[0]));
        }
    }
    let option = |name: &str, otherwise: &str| {
        let at = options.iter().position(|word| *word == format!("--{name}"));
        at.map_or(otherwise.to_owned(), |at| options[at + 1].clone())
    };
    let parsed =
        |text: &str| text.parse().unwrap_or_else(|_| fail(&format!("{text} is no number")));
    let number = |name, otherwise| parsed(&option(name, otherwise));
    let protocol = match kind.as_str() {
        "memcached" => {
            let ratio = option("ratio", "1:100");
            let (sets, gets) = ratio.split_once(':').unwrap_or_else(|| fail("--ratio SETS:GETS"));
            let value = vec![b'x'; number("bytes", "100") as usize];
            let (sets, gets) = (parsed(sets), parsed(gets));
            if sets + gets == 0 {
                fail("--ratio 0:0 asks for nothing");
            }
            Protocol::Memcached { sets, gets, keys: number("keys", "10000").max(1), value }
        }
        "http" => Protocol::Http { path: option("path", "/") },
        _ => fail("memcached or http?"),
    };
    if let Protocol::Memcached { keys, .. } = protocol {
        let mut first = Connection::open(address, 0);
        for key in 0..keys {
            protocol.set(key, &mut first.request);
            first.send();
            first.receive(&protocol);
        }
    }
    let connections = 0..number("connections", "50").max(1) as usize;
    let mut all = Vec::from_iter(connections.map(|number| Connection::open(address, number)));
    all.iter_mut().for_each(|connection| connection.ask(&protocol));
    let mut answers_for = |time: Duration| {
        let (began, mut answers) = (Instant::now(), 0);
        while began.elapsed() < time {
            for connection in &mut all {
                connection.receive(&protocol);
                connection.ask(&protocol);
            }
            answers += all.len();
        }
        answers as f64 / began.elapsed().as_secs_f64()
    };
    // The first answers take longer.
    answers_for(Duration::from_millis(300));
    let (pid, seconds) = (option("pid", ""), number("seconds", "2"));
    let before = processor_seconds(&pid);
    let rate = answers_for(Duration::from_secs(seconds));
    let spent = processor_seconds(&pid).zip(before).map(|(after, before)| after - before);
    println!("{:.0}", spent.map_or(rate, |spent| rate * seconds as f64 / spent));
}
