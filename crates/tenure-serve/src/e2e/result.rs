//! What a run of whole servers found. As JSON, `docs/e2e.schema.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use tenure_report::machine::Machine;
use tenure_report::stats::Estimate;
use tenure_report::verdict::Verdict;

/// The version of the JSON.
pub const SCHEMA: &str = "tenure-e2e/1";

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The version of Tenure.
    pub version: String,
    /// When it began, in RFC 3339.
    pub started: String,
    /// Seconds that it took.
    pub seconds: f64,
    /// What was asked for.
    pub settings: Settings,
    /// Where it ran.
    pub machine: Machine,
    /// What was measured.
    pub scenarios: Vec<Scenario>,
    /// What was not measured, and why, in a sentence each.
    pub missing: Vec<String>,
    /// What the figures say about the claims.
    pub verdicts: Vec<Verdict>,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// Too few figures to quote.
    pub quick: bool,
    /// Seconds of each round of each server.
    pub seconds: f64,
    /// Rounds.
    pub rounds: usize,
    /// Threads of each server, and of the load generator.
    pub threads: usize,
    /// The seed of the order.
    pub seed: u64,
    /// What made the load: `tenure`, `memtier` or `wrk`.
    pub generator: String,
}

/// Servers under one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scenario {
    /// Unique: `e2e/memcached`.
    pub id: String,
    /// A heading.
    pub title: String,
    /// What is done, in a sentence.
    pub about: String,
    /// Whether the requests came through sockets. If not, there is no kernel in the figures.
    pub sockets: bool,
    /// The row that the others are compared with.
    pub baseline: String,
    /// The row of a program that others wrote, where there is one.
    pub rival: Option<String>,
    /// The servers.
    pub rows: Vec<Row>,
}

/// A server under a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Unique in the scenario: `ticket, isolated`.
    pub cell: String,
    /// The program and its version.
    pub program: String,
    /// Requests that were answered in a second.
    pub ops_per_second: Estimate,
    /// CPU time of the server for each, in nanoseconds.
    pub cpu_ns_per_op: Estimate,
    /// Latencies, as the clients saw them; none without sockets.
    pub latency: Option<Latency>,
    /// Against the baseline. Absent on it.
    pub to_baseline: Option<Ratios>,
    /// Against the rival. Absent on it, and where there is none.
    pub to_rival: Option<Ratios>,
    /// How long acquires of a connection's buffers took, where that was timed.
    pub acquires: Option<Acquires>,
    /// Requests that failed, in all rounds.
    pub errors: u64,
}

/// Latencies in nanoseconds: the medians over the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Half of the requests took at most so long.
    pub p50_ns: f64,
    /// 99 % of them.
    pub p99_ns: f64,
    /// 99.9 % of them.
    pub p999_ns: Option<f64>,
}

/// Figures of a row by those of another, in the same rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratios {
    /// Of requests per second: more is better.
    pub rate: Estimate,
    /// Of CPU time for each: less is better.
    pub cpu: Estimate,
    /// Of the latency that 99 % keep to: less is better.
    pub p99: Option<Estimate>,
}

/// How long acquires took, in nanoseconds, two looks at the clock included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Acquires {
    /// How many there were.
    pub count: u64,
    /// Half of them took at most so long.
    pub p50: u64,
    /// 90 %.
    pub p90: u64,
    /// 99 %.
    pub p99: u64,
    /// 99.9 %.
    pub p999: u64,
    /// The slowest.
    pub max: u64,
}
