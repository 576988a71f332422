//! A cache that speaks memcached's text protocol: get, set and delete.
//!
//! All connections from one address share a [`Peer`], as packets to one host share a route (`dst_entry`) in the kernel. Each
//! request takes a reference to it, reads its limits, and gives the reference back. FORM says how they are counted:
//!
//! ```text
//!   beside-cas      a compare-exchange loop, on the line of the limits       the kernel's, once
//!   apart-cas       the same, on a line of its own
//!   beside-rcuref   one addition, on the line of the limits
//!   apart-rcuref    the same, on a line of its own                           the kernel's, now
//! ```
//!
//! FORM memory THREADS    THREADS threads have requests answered without sockets, 1 set to 100 gets
//! FORM serve ADDRESS     serves with 2 workers

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tenure::count::RcuRef;
use tenure::count::generic::IncNotZero;
use tenure::cache_line::CachePadded;
use tenure::registry::generic::{Registered, Registry, RegistryCount};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

mod timed;

const SHARDS: usize = 64;
const KEYS: u64 = 10_000;
/// Bytes of answers that wait for those of the next requests.
const MAX_OUTPUT: usize = 64 << 10;

/// What a route is to a packet.
struct Peer {
    limits: Limits,
}

/// Bytes.
struct Limits {
    key: usize,
    value: usize,
    line: usize,
}

impl Peer {
    fn new() -> Self {
        Self { limits: Limits { key: 250, value: 1 << 20, line: 2048 } }
    }
}

struct Item {
    flags: u32,
    value: Vec<u8>,
}

type Shard = Mutex<HashMap<Vec<u8>, Arc<Item>>>;

struct Cache<C: RegistryCount> {
    peers: Registry<IpAddr, Peer, C>,
    shards: Vec<Shard>,
    hasher: RandomState,
}

/// What becomes of a connection's input.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// A request of so many bytes was answered.
    Answered(usize),
    /// It goes on in what comes next.
    Incomplete,
    /// The client leaves, or cannot be followed any more.
    End,
}

impl<C: RegistryCount> Cache<C> {
    fn new() -> Self {
        let shards = (0..SHARDS).map(|_| Shard::default()).collect();
        Self { peers: Registry::default(), shards, hasher: RandomState::new() }
    }

    fn join(&self, address: IpAddr) -> Registered<IpAddr, Peer, C> {
        self.peers.acquire(&address, Peer::new)
    }

    fn shard(&self, key: &[u8]) -> std::sync::MutexGuard<'_, HashMap<Vec<u8>, Arc<Item>>> {
        let shard = &self.shards[self.hasher.hash_one(key) as usize % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers the first request of `input`.
    fn answer(&self, peer: &Registered<IpAddr, Peer, C>, input: &[u8], output: &mut Vec<u8>) -> Step {
        // The reference that this is about.
        let peer = peer.clone();
        let limits = &peer.limits;
        let end = input.iter().take(limits.line).position(|&byte| byte == b'\n');
        let Some(end) = end else {
            if input.len() < limits.line {
                return Step::Incomplete;
            }
            output.extend_from_slice(b"CLIENT_ERROR line too long\r\n");
            return Step::End;
        };
        let line = input[..end].strip_suffix(b"\r").unwrap_or(&input[..end]);
        let mut words = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
        let command = words.next().unwrap_or_default();
        let words = Vec::from_iter(words);
        let is_key = |key: &[u8]| key.len() <= limits.key;
        let size = end + 1;
        match (command, &words[..]) {
            (b"get", keys) if !keys.is_empty() && keys.iter().all(|key| is_key(key)) => {
                keys.iter().for_each(|key| self.get(key, output));
                output.extend_from_slice(b"END\r\n");
            }
            (b"set", [key, flags, _, bytes, reply @ ..]) => {
                let (Some(flags), Some(bytes)) = (number(flags), number::<usize>(bytes)) else {
                    output.extend_from_slice(b"CLIENT_ERROR bad command line format\r\n");
                    return Step::End;
                };
                // Where its data begins is known, but not where the next request does.
                if bytes > limits.value || !is_key(key) {
                    output.extend_from_slice(b"SERVER_ERROR object too large for cache\r\n");
                    return Step::End;
                }
                let Some(data) = input.get(size..size + bytes + 2) else { return Step::Incomplete };
                let Some(value) = data.strip_suffix(b"\r\n") else {
                    output.extend_from_slice(b"CLIENT_ERROR bad data chunk\r\n");
                    return Step::End;
                };
                let item = Arc::new(Item { flags, value: value.to_vec() });
                let before = self.shard(key).insert(key.to_vec(), item);
                drop(before);
                say(reply, b"STORED\r\n", output);
                return Step::Answered(size + bytes + 2);
            }
            (b"delete", [key, reply @ ..]) if is_key(key) => {
                let gone = self.shard(key).remove(*key);
                let text: &[u8] = if gone.is_some() { b"DELETED\r\n" } else { b"NOT_FOUND\r\n" };
                say(reply, text, output);
            }
            (b"version", []) => output.extend_from_slice(b"VERSION tenure-seed\r\n"),
            (b"quit", []) => return Step::End,
            _ => output.extend_from_slice(b"ERROR\r\n"),
        }
        Step::Answered(size)
    }

    fn get(&self, key: &[u8], output: &mut Vec<u8>) {
        let found = self.shard(key).get(key).cloned();
        if let Some(item) = found {
            output.extend_from_slice(b"VALUE ");
            output.extend_from_slice(key);
            let head = format!(" {} {}\r\n", item.flags, item.value.len());
            output.extend_from_slice(head.as_bytes());
            output.extend_from_slice(&item.value);
            output.extend_from_slice(b"\r\n");
        }
    }

    async fn serve(&self, mut stream: TcpStream, address: IpAddr) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let (mut input, mut output) = (Vec::with_capacity(16 << 10), Vec::new());
        let peer = self.join(address);
        while stream.read_buf(&mut input).await? > 0 {
            let mut done = 0;
            let goes_on = loop {
                match self.answer(&peer, &input[done..], &mut output) {
                    Step::Answered(size) if output.len() < MAX_OUTPUT => done += size,
                    Step::Answered(size) => {
                        done += size;
                        stream.write_all(&output).await?;
                        output.clear();
                    }
                    Step::Incomplete => break true,
                    Step::End => break false,
                }
            };
            input.drain(..done);
            stream.write_all(&output).await?;
            output.clear();
            if !goes_on {
                break;
            }
        }
        Ok(())
    }
}

fn number<N: std::str::FromStr>(word: &[u8]) -> Option<N> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

fn say(reply: &[&[u8]], text: &[u8], output: &mut Vec<u8>) {
    if reply != [b"noreply"] {
        output.extend_from_slice(text);
    }
}

/// Two workers, until the program is ended.
fn serve<C: RegistryCount>(address: &str) {
    let workers = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    workers.block_on(async {
        let cache = Arc::new(Cache::<C>::new());
        let listener = TcpListener::bind(address).await.expect(address);
        loop {
            let Ok((stream, from)) = listener.accept().await else {
                // No descriptor is to be had for a while.
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            let cache = cache.clone();
            // A client that breaks off is no fault of the server.
            tokio::spawn(async move { _ = cache.serve(stream, from.ip()).await });
        }
    });
}

fn set(key: u64) -> Vec<u8> {
    format!("set {key:010} 0 0 100\r\n{}\r\n", "x".repeat(100)).into_bytes()
}

/// Requests that are answered without sockets, for one peer.
fn memory<C: RegistryCount>(threads: usize) {
    let cache = Cache::<C>::new();
    let answered = |request: &[u8], output: &mut Vec<u8>, peer: &Registered<IpAddr, Peer, C>| {
        output.clear();
        assert_eq!(cache.answer(peer, request, output), Step::Answered(request.len()));
    };
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let peer = cache.join(address);
    (0..KEYS).for_each(|key| answered(&set(key), &mut Vec::new(), &peer));
    timed::rate(threads, |thread| {
        let (peer, answered) = (cache.join(address), &answered);
        let key = move |turn: u64| (turn * 7919 + thread as u64 * 1009) % KEYS;
        let request = |turn: u64| match turn % 101 {
            0 => set(key(turn)),
            _ => format!("get {:010}\r\n", key(turn)).into_bytes(),
        };
        let requests = Vec::from_iter((0..101 * 64).map(request));
        let mut turns = (0..requests.len()).cycle();
        let mut output = Vec::new();
        move || answered(&requests[turns.next().unwrap()], &mut output, &peer)
    });
}

fn run<C: RegistryCount>(what: &str, of: &str) {
    match what {
        "memory" => memory::<C>(of.parse().expect("how many threads")),
        "serve" => serve::<C>(of),
        _ => panic!("memory or serve"),
    }
}

fn main() {
    let words = Vec::from_iter(std::env::args().skip(1));
    let [form, what, of] = &words[..] else { panic!("FORM memory|serve THREADS|ADDRESS") };
    match form.as_str() {
        "beside-cas" => run::<IncNotZero>(what, of),
        "apart-cas" => run::<CachePadded<IncNotZero>>(what, of),
        "beside-rcuref" => run::<RcuRef>(what, of),
        "apart-rcuref" => run::<CachePadded<RcuRef>>(what, of),
        _ => panic!("beside-cas, apart-cas, beside-rcuref or apart-rcuref"),
    }
}
