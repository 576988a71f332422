use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, Subcommand};
use tenure_serve::buffers::PoolKind;
use tenure_serve::load::settings::resolve;
use tenure_serve::memcached::{Config, CountKind, LineKind, Passwords};
use tenure_serve::net::{Address, Settings};

use crate::failure::Failure;

#[derive(Debug, Subcommand)]
pub(crate) enum Serve {
    /// Serve a cache that speaks memcached's text protocol
    ///
    /// Answers as memcached 1.6.45 does: the data commands (get, gets, gat, gats, set, add, replace, append,
    /// prepend, cas, incr, decr, delete, touch, flush_all), the meta commands, stats, version, verbosity,
    /// cache_memlimit and quit. Not supported: the binary protocol (the server closes such a connection and says so
    /// on standard error), UDP, TLS, SASL, and commands for slabs and extstore.
    ///
    /// The value of a refused command is discarded, never run as commands. If its length is not certain, the connection
    /// ends.
    ///
    /// `--count` chooses the count of items, which are sent in place, without a copy. All connections from one address
    /// share one object; every request takes a reference to it and reads the fields beside its count. `--line` chooses
    /// whether that count has a cache line of its own.
    #[command(after_help = "Examples:\n  \
                            tenure serve memcached --memory 1g\n  \
                            tenure serve memcached --listen unix:/run/cache.sock --socket-mode 770\n  \
                            tenure serve memcached --count inc-not-zero --line shared --threads 2\n\n\
                            Prints `listening on ADDRESS` when it is ready. On SIGTERM, SIGINT (Ctrl-C), SIGQUIT or SIGHUP \
                            it finishes open requests, prints statistics and exits; a second signal ends it at once. \
                            Under nohup it ignores SIGHUP. With --auth-file SIGHUP only reads that file again.")]
    Memcached(Memcached),
    /// Serve static files, or an answer of a fixed size, over HTTP/1.1
    ///
    /// Answers a folder with its `index.html`, and lists no folders. Serves hidden files, too.
    ///
    /// A connection takes a send and a receive buffer from one pool with the first byte of a request, and returns
    /// them after the last byte of its answer. With many requests in flight, `--pool scan` shows what a walk over
    /// all buffers costs.
    #[command(after_help = "Examples:\n  \
                            tenure serve http ./public\n  \
                            tenure serve http --body 612 --pool scan --threads 2\n\n\
                            Prints `listening on ADDRESS` when it is ready. On SIGTERM, SIGINT (Ctrl-C), SIGQUIT or SIGHUP \
                            it finishes open requests, prints statistics and exits; a second signal ends it at once. \
                            Under nohup it ignores SIGHUP.")]
    Http(Http),
}

#[derive(Debug, Args)]
pub(crate) struct Memcached {
    /// Count of items and shared objects: inc-not-zero, rcuref or ticket
    #[arg(long, value_name = "COUNT", default_value_t)]
    pub(crate) count: CountKind,

    /// Line of the count that connections share: shared with its fields, or isolated
    #[arg(long, value_name = "LINE", default_value_t)]
    pub(crate) line: LineKind,

    /// Bytes of all items with their keys and headers, such as 64m or 1g; beyond that, items are evicted. The
    /// process takes up to 1.3 times as much, because of gaps between items. Values being received, items being
    /// sent, and buffers come on top: when the total reaches twice the limit, values over 16k are refused; at four
    /// times the limit, or 64m above it if that is more, all values are
    #[arg(long, value_name = "BYTES", default_value = "64m", value_parser = memory)]
    pub(crate) memory: usize,

    /// Bytes of the largest item, at most half of --memory [default: 1m, or that half]
    #[arg(long, value_name = "BYTES", value_parser = item)]
    pub(crate) largest_item: Option<usize>,

    /// Most open connections from one address [default: any number]
    #[arg(long, value_name = "N", value_parser = connections)]
    pub(crate) connections_per_peer: Option<usize>,

    /// Evict nothing: when memory is full, refuse values with `SERVER_ERROR out of memory storing object`
    #[arg(long)]
    pub(crate) no_evictions: bool,

    /// Refuse `flush_all`
    #[arg(long)]
    pub(crate) no_flush: bool,

    /// Refuse to list all keys (`lru_crawler metadump`)
    #[arg(long)]
    pub(crate) no_dump: bool,

    /// Refuse `watch`, which shows a client what all others do
    #[arg(long)]
    pub(crate) no_watch: bool,

    /// Let clients end the server with `shutdown`
    #[arg(long)]
    pub(crate) allow_shutdown: bool,

    /// Answer only clients that send a name and a password from this file, which has one NAME:PASSWORD per line. A
    /// client sends them, in clear, as the value of a `set` with any key: `set x 0 0 7`, then `ann one`. On SIGHUP the
    /// server reads the file again; open connections stay
    #[arg(long, value_name = "PATH")]
    pub(crate) auth_file: Option<PathBuf>,

    /// Turn to other connections after N requests of one. A retrieval of many keys is one request [default: as many
    /// as arrive in a few buffers]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests_per_turn: Option<u64>,

    /// Count requests by key prefix from the start, for `stats detail`; a prefix ends before CHARACTER. Without
    /// this option clients switch the counting on and off (`stats detail on`), and prefixes end at a colon.
    /// Counting takes one more lock for each request
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    pub(crate) prefix_delimiter: Option<u8>,

    /// Do not search for expired items: free them only when their key is requested or memory is needed. Clients can
    /// still start the search (`lru_crawler enable`)
    #[arg(long)]
    pub(crate) no_crawl: bool,

    #[command(flatten)]
    pub(crate) net: Net,
}

impl Memcached {
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        let mut config = Config::default();
        if let Some(largest) = self.largest_item {
            if largest > self.memory / 2 {
                let line = "--largest-item is at most half of --memory; give more memory";
                return Err(Failure::Input(line.to_owned()));
            }
            config.largest_item = largest;
        }
        config.count = self.count;
        config.line = self.line;
        config.memory = self.memory as u64;
        config.evictions = !self.no_evictions;
        config.flush = !self.no_flush;
        config.shutdown = self.allow_shutdown;
        config.dump = !self.no_dump;
        config.watch = !self.no_watch;
        config.crawl = !self.no_crawl;
        config.prefix_delimiter = self.prefix_delimiter;
        if let Some(connections) = self.connections_per_peer {
            config.connections_per_peer = connections as u64;
        }
        if let Some(requests) = self.requests_per_turn {
            config.requests_per_turn = requests;
        }
        if let Some(path) = &self.auth_file {
            config.passwords = Some(Passwords::open(path).map_err(Failure::Input)?);
        }
        Ok(config)
    }
}

#[derive(Debug, Args)]
pub(crate) struct Http {
    /// Folder to serve
    #[arg(value_name = "ROOT")]
    pub(crate) root: Option<PathBuf>,

    /// Answer `GET /` with this many bytes, such as 612 or 16k (at most 1g), for benchmarks; other paths are files of
    /// ROOT, if given
    #[arg(long, value_name = "BYTES", value_parser = body)]
    pub(crate) body: Option<usize>,

    /// Serve statistics as JSON at this path, such as /stats, in place of any file there [default: nowhere]
    #[arg(long, value_name = "PATH")]
    pub(crate) stats: Option<String>,

    /// Time each acquire of a connection's buffers, and print the distribution at the end
    #[arg(long)]
    pub(crate) time_acquires: bool,

    #[command(flatten)]
    pub(crate) net: Net,
}

#[derive(Debug, Args)]
pub(crate) struct Net {
    /// Address to listen at: HOST:PORT, with port 0 for a free one, or unix:PATH. 0.0.0.0 opens the server to the
    /// network: there is no TLS, and only the cache can require passwords. A socket file left by a dead server is
    /// replaced [default: 127.0.0.1:11211 for memcached, 127.0.0.1:8080 for HTTP]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) listen: Option<Address>,

    /// Permissions of the socket file, in octal; connecting needs write permission
    #[arg(long, value_name = "MODE", default_value = "700", value_parser = mode)]
    pub(crate) socket_mode: u32,

    /// Threads, each with its own connections [default: one per CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) threads: Option<u16>,

    /// Free list of the buffer pool: scan, tagged or magazines
    #[arg(long, value_name = "LIST", default_value_t)]
    pub(crate) pool: PoolKind,

    /// Bytes of each buffer, a power of two such as 16k. For HTTP also the longest request head, of at most 64 fields
    #[arg(long, value_name = "BYTES", default_value = "16k", value_parser = buffer)]
    pub(crate) buffer: usize,

    /// Most open connections, within the limit of open files
    #[arg(long, value_name = "N", default_value = "16384", value_parser = connections)]
    pub(crate) connections: usize,

    /// Close connections that are idle for this long; 0 closes none [default: 0 for memcached, 60 for HTTP]
    #[arg(long, value_name = "SECONDS", value_parser = idle)]
    pub(crate) idle: Option<Duration>,

    /// On exit, wait this long for open requests
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    pub(crate) grace: Duration,

    /// Write the process ID to this file when ready, and remove the file at the end
    #[arg(long, value_name = "PATH")]
    pub(crate) pid_file: Option<PathBuf>,

    /// At the end, write statistics as JSON to FILE, or to standard output in place of text with `-`
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Log each connection on standard error: its start, its end and why, or why it is refused
    #[arg(short, long, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

impl Net {
    pub(crate) fn settings(&self, port: u16, idle: Option<Duration>) -> Settings {
        let usual = || Address::Internet(SocketAddr::from(([127, 0, 0, 1], port)));
        let listen = self.listen.clone().unwrap_or_else(usual);
        let usual = Settings::at(listen);
        Settings {
            threads: self.threads.map_or(usual.threads, usize::from),
            pool: self.pool,
            buffer: self.buffer,
            connections: self.connections,
            idle: self.idle.map_or(idle, |idle| Some(idle).filter(|idle| !idle.is_zero())),
            socket_mode: self.socket_mode,
            verbose: self.verbose > 0,
            grace: self.grace,
            ..usual
        }
    }
}

fn address(text: &str) -> Result<Address, String> {
    match text.strip_prefix("unix:") {
        Some("") => Err("after `unix:` comes the path of a socket".to_owned()),
        Some(path) => Ok(Address::Unix(path.into())),
        None => resolve(text).map(Address::Internet).map_err(|error| error.to_string()),
    }
}

fn mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text.trim(), 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| "permissions are octal digits, from 0 to 777".to_owned())
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte @ 33..=126] => Ok(*byte),
        _ => Err("a delimiter is a character of ASCII, and no space".to_owned()),
    }
}

fn connections(text: &str) -> Result<usize, String> {
    let count = text.trim().parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| "a server has 1 connection at least".to_owned())
}

/// With `k`, `m` or `g` for the powers of 1,024.
pub(crate) fn size(text: &str) -> Result<usize, String> {
    let text = text.trim().to_ascii_lowercase();
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'k')) => (&text[..at], 10),
        Some((at, 'm')) => (&text[..at], 20),
        Some((at, 'g')) => (&text[..at], 30),
        _ => (&text[..], 0),
    };
    let bytes = digits.parse::<usize>().ok().and_then(|count| count.checked_mul(1 << shift));
    bytes.ok_or_else(|| "bytes look like `612`, `16k`, `64m` or `1g`".to_owned())
}

fn memory(text: &str) -> Result<usize, String> {
    let bytes = size(text)?;
    if bytes < 1 << 20 { Err("a cache has 1m at least".to_owned()) } else { Ok(bytes) }
}

fn body(text: &str) -> Result<usize, String> {
    let bytes = size(text)?;
    if bytes <= 1 << 30 { Ok(bytes) } else { Err("a body has 1g at most".to_owned()) }
}

fn item(text: &str) -> Result<usize, String> {
    let bytes = size(text)?;
    let sensible = (1 << 10..=1 << 30).contains(&bytes);
    if sensible { Ok(bytes) } else { Err("the largest item has 1k to 1g".to_owned()) }
}

fn buffer(text: &str) -> Result<usize, String> {
    match size(text)? {
        bytes if bytes.is_power_of_two() && (4096..=1 << 30).contains(&bytes) => Ok(bytes),
        _ => Err("a buffer has a power of two of bytes, from 4k to 1g".to_owned()),
    }
}

fn idle(text: &str) -> Result<Duration, String> {
    let off = text.trim().parse().is_ok_and(|seconds: f64| seconds == 0.0);
    if off { Ok(Duration::ZERO) } else { seconds(text) }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.trim().parse::<f64>().ok().filter(|seconds| (0.001..=1e6).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "seconds are a number from 0.001 to 1000000".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bytes_or_powers_of_1024() {
        let sizes = [("0", 0), ("612", 612), ("16k", 16 << 10), ("64M", 64 << 20), ("1g", 1 << 30)];
        for (text, bytes) in sizes {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for bad in ["", "k", "-1", "1t", "1.5k", "99999999999999999999", "99999999999g"] {
            assert!(size(bad).is_err(), "{bad}");
        }
        assert!(body("1g").is_ok() && body("100g").is_err());
        assert!(buffer("16k").is_ok() && buffer("5000").is_err() && buffer("1k").is_err());
    }

    #[test]
    fn seconds_may_have_a_fraction_and_are_not_endless() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for bad in ["0", "-1", "inf", "NaN", "soon"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
