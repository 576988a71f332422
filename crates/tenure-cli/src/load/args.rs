//! What can be typed after `tenure load`.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::values::{ratio, seconds, seconds_or_none, sizes};

#[derive(Debug, Args)]
pub(crate) struct Load {
    #[command(subcommand)]
    pub(crate) protocol: LoadProtocol,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LoadProtocol {
    /// Gets and sets of keys, in memcached's text protocol
    ///
    /// All keys are set first, so that every get finds one. A value follows from its key, and an
    /// answer with another one fails the run.
    Memcached(LoadMemcached),
    /// Gets of a page, in HTTP/1.1
    Http(LoadHttp),
}

#[derive(Debug, Args)]
pub(crate) struct LoadMemcached {
    #[command(flatten)]
    pub(crate) common: LoadCommon,

    /// Sets to gets
    #[arg(long, value_name = "SET:GET", default_value = "1:100", value_parser = ratio)]
    pub(crate) ratio: (u32, u32),

    /// How many keys to ask for
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) keys: u32,

    /// What keys begin with; a number comes after
    #[arg(long, value_name = "TEXT", default_value = "tenure-")]
    pub(crate) prefix: String,

    /// Bytes of a value: a number, or the shortest and the longest, such as `32-1024`
    #[arg(long, value_name = "BYTES", default_value = "100", value_parser = sizes)]
    pub(crate) value: RangeInclusive<usize>,

    /// Ask for some keys more often than for others: key k in proportion to 1 / k^S [default: for all
    /// alike]
    #[arg(long, value_name = "S")]
    pub(crate) zipf: Option<f64>,

    /// Ask for one key alone
    #[arg(long, conflicts_with = "zipf")]
    pub(crate) hot: bool,

    /// Leave the keys as they are on the server
    #[arg(long)]
    pub(crate) no_preload: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LoadHttp {
    #[command(flatten)]
    pub(crate) common: LoadCommon,

    /// What to get
    #[arg(long, value_name = "PATH", default_value = "/")]
    pub(crate) path: String,

    /// The name of the host in requests [default: ADDR]
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Option<String>,

    /// Make a connection for each request; its time counts
    #[arg(long)]
    pub(crate) close: bool,
}

/// What every load has.
#[derive(Debug, Args)]
pub(crate) struct LoadCommon {
    /// The server: HOST:PORT
    #[arg(value_name = "ADDR")]
    pub(crate) address: String,

    /// Threads that make the load
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) threads: usize,

    /// Clients of each thread: connections
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) clients: usize,

    /// Requests under way on each connection
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) pipeline: usize,

    /// Make so many requests a second in all, and count latencies from when each was due (an open
    /// loop) [default: each client asks again when it has its answer]
    #[arg(long, value_name = "R")]
    pub(crate) rate: Option<f64>,

    /// Seconds to measure [default: 10]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) seconds: Option<f64>,

    /// Measure so many requests instead
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    pub(crate) requests: Option<u64>,

    /// Seconds of load before that
    #[arg(long, value_name = "S", default_value = "1", value_parser = seconds_or_none)]
    pub(crate) warmup: f64,

    /// Seconds without any answer after which a client gives its connection up
    #[arg(long, value_name = "S", default_value = "10", value_parser = seconds)]
    pub(crate) timeout: f64,

    /// Tell the CPU time of this process, of its threads and its children: the server (repeatable)
    #[arg(long = "pid", value_name = "PID")]
    pub(crate) pids: Vec<u32>,

    /// Have another generator make the load, which is to be on PATH [default: this one does]
    #[arg(long = "with", value_name = "NAME", value_parser = ["memtier", "wrk"])]
    pub(crate) generator: Option<String>,

    /// Write the results as JSON to a file, or with `-` to standard output in place of the table
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
