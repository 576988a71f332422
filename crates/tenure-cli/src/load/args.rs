use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::values::seconds;

#[derive(Debug, Args)]
pub(crate) struct Load {
    #[command(subcommand)]
    pub(crate) protocol: LoadProtocol,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LoadProtocol {
    /// Get and set keys, in memcached's text protocol
    ///
    /// Sets all keys first, so that every get finds one. A value follows from its key; an answer with
    /// another value fails the run.
    Memcached(LoadMemcached),
    /// Get a page, in HTTP/1.1
    Http(LoadHttp),
}

#[derive(Debug, Args)]
pub(crate) struct LoadMemcached {
    #[command(flatten)]
    pub(crate) common: LoadCommon,

    /// Ratio of sets to gets
    #[arg(long, value_name = "SET:GET", default_value = "1:100", value_parser = ratio)]
    pub(crate) ratio: (u32, u32),

    /// Number of keys
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) keys: u32,

    /// Prefix of all keys; a number follows
    #[arg(long, value_name = "TEXT", default_value = "tenure-")]
    pub(crate) prefix: String,

    /// Bytes of a value: a number, or a range such as `32-1024`
    #[arg(long, value_name = "BYTES", default_value = "100", value_parser = sizes)]
    pub(crate) value: RangeInclusive<usize>,

    /// Ask for key k in proportion to 1 / k^S [default: for all keys alike]
    #[arg(long, value_name = "S")]
    pub(crate) zipf: Option<f64>,

    /// Ask for a single key
    #[arg(long, conflicts_with = "zipf")]
    pub(crate) hot: bool,

    /// Do not set the keys first
    #[arg(long)]
    pub(crate) no_preload: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LoadHttp {
    #[command(flatten)]
    pub(crate) common: LoadCommon,

    /// Path of the page
    #[arg(long, value_name = "PATH", default_value = "/")]
    pub(crate) path: String,

    /// Host name in requests [default: ADDR]
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Option<String>,

    /// Open a connection for each request; its time counts
    #[arg(long)]
    pub(crate) close: bool,
}

/// What every load has.
#[derive(Debug, Args)]
pub(crate) struct LoadCommon {
    /// Address of the server: HOST:PORT
    #[arg(value_name = "ADDR")]
    pub(crate) address: String,

    /// Threads of the generator
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) threads: usize,

    /// Connections of each thread
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) clients: usize,

    /// Requests in flight on each connection
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) pipeline: usize,

    /// Send R requests per second in all, and measure latencies from when each was due: an open loop
    /// [default: a closed loop, where each client sends again when it has its answer]
    #[arg(long, value_name = "R")]
    pub(crate) rate: Option<f64>,

    /// Seconds to measure [default: 10]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) seconds: Option<f64>,

    /// Measure N requests instead
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    pub(crate) requests: Option<u64>,

    /// Seconds of load before measuring
    #[arg(long, value_name = "S", default_value = "1", value_parser = seconds_or_none)]
    pub(crate) warmup: f64,

    /// Close a connection after S seconds without an answer
    #[arg(long, value_name = "S", default_value = "10", value_parser = seconds)]
    pub(crate) timeout: f64,

    /// Report the CPU time of the server with this process ID, its threads and children (repeatable)
    #[arg(long = "pid", value_name = "PID")]
    pub(crate) pids: Vec<u32>,

    /// Use another generator, found on PATH [default: the built-in one]
    #[arg(long = "with", value_name = "NAME", value_parser = ["memtier", "wrk"])]
    pub(crate) generator: Option<String>,

    /// Write the results as JSON to FILE, or to standard output in place of the table with `-`
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

fn ratio(text: &str) -> Result<(u32, u32), String> {
    let parse = |(sets, gets): (&str, &str)| Some((sets.parse().ok()?, gets.parse().ok()?));
    text.split_once(':').and_then(parse).ok_or_else(|| "a ratio looks like `1:100`".to_owned())
}

fn sizes(text: &str) -> Result<RangeInclusive<usize>, String> {
    let (shortest, longest) = text.split_once('-').unwrap_or((text, text));
    match (shortest.parse(), longest.parse()) {
        (Ok(shortest), Ok(longest)) if shortest <= longest => Ok(shortest..=longest),
        _ => Err("sizes look like `100` or `32-1024`".to_owned()),
    }
}

fn seconds_or_none(text: &str) -> Result<f64, String> {
    if text.trim() == "0" { Ok(0.0) } else { seconds(text) }
}
