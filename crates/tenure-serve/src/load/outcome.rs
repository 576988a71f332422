//! What a run found, whichever generator made the load: the one shape behind table and JSON.
//!
//! `--json` writes an [`Outcome`]. [`SCHEMA`] names the version: it changes when a field changes its meaning or goes;
//! new fields may appear at any time. `docs/load.schema.json` is the JSON Schema. Times are nanoseconds unless a name
//! says otherwise. What another generator does not report is `null`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name and version of the JSON that a run writes.
pub const SCHEMA: &str = "tenure-load/1";

/// One run of `tenure load`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The version of Tenure that ran.
    pub version: String,
    /// When the run began: RFC 3339, UTC.
    pub started: String,
    /// What made the load: `tenure`, `memtier_benchmark` or `wrk`.
    pub generator: String,
    /// What was asked for.
    pub request: Request,
    /// How long was measured, in seconds.
    pub seconds: f64,
    /// Answers of all kinds.
    pub ops: u64,
    /// Of those, a second.
    pub ops_per_second: f64,
    /// Bytes of requests, a second.
    pub sent_per_second: Option<f64>,
    /// Bytes of answers, a second.
    pub received_per_second: Option<f64>,
    /// How long answers took, of all kinds.
    pub latency: Option<Latency>,
    /// Each kind of request.
    pub kinds: Vec<Kind>,
    /// What went wrong, the kinds that did.
    pub errors: Vec<Errors>,
    /// Requests that were sent or due by the end and had no answer: those under way, and in an open loop
    /// those that waited for their turn.
    pub unanswered: Option<u64>,
    /// Each second of the run, those without an answer too; the last may be shorter. Empty if the generator does not
    /// tell.
    pub series: Vec<Second>,
    /// Whole seconds in which no answer came although requests were under way: the server stood still or was gone.
    #[serde(default)]
    pub silent_seconds: u64,
    /// CPU time of the generator.
    pub client_cpu: Option<Cpu>,
    /// CPU time of the server, if its process is known: that of its threads and child processes that lived
    /// from the first to the last moment of the measuring. The measuring of this begins and ends within a few
    /// milliseconds of the run's.
    pub server_cpu: Option<Cpu>,
    /// Whether answers came in every whole second, and none was wrong.
    pub passed: bool,
}

/// What a run was asked to do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// `memcached` or `http`.
    pub protocol: String,
    /// Whom it asked.
    pub address: String,
    /// Threads of the generator.
    pub threads: usize,
    /// Connections of each.
    pub clients: usize,
    /// Requests under way on each connection.
    pub pipeline: usize,
    /// Requests a second that were to be made in all: an open loop. `null`: a closed loop.
    pub rate: Option<f64>,
    /// Whether a connection served one request.
    pub close: bool,
    /// Seconds of load before the measuring.
    pub warmup: f64,
    /// What was asked, in the protocol's own terms.
    pub load: String,
}

/// One kind of request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Kind {
    /// `get`, `set`, `request`.
    pub name: String,
    /// Answers.
    pub ops: u64,
    /// Of those, a second.
    pub ops_per_second: f64,
    /// Answers with what was asked for.
    pub hits: u64,
    /// Answers that there is no such object.
    pub misses: u64,
    /// How long answers took.
    pub latency: Option<Latency>,
}

/// How long answers took, in nanoseconds: from the write of the request, with a connection for each request
/// from the beginning of that, and in an open loop from the time when the request was due.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// On average.
    pub mean_ns: f64,
    /// Half of them.
    pub p50_ns: f64,
    /// Nine of ten.
    pub p90_ns: Option<f64>,
    /// 99 of 100.
    pub p99_ns: f64,
    /// 999 of 1,000.
    pub p999_ns: Option<f64>,
    /// The slowest.
    pub max_ns: Option<f64>,
}

/// Errors of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Errors {
    /// What they have in common.
    pub kind: ErrorKind,
    /// How many.
    pub count: u64,
    /// What the first of a thread said.
    pub first: String,
}

/// What can go wrong with a request or a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// No connection.
    Connect,
    /// No connection, as no local port was left.
    Ports,
    /// A connection that was reset.
    Reset,
    /// A connection that the server ended with an answer outstanding or cut short.
    Closed,
    /// Nothing came for too long.
    Timeout,
    /// An answer that the server cannot or will not: `SERVER_ERROR`, a status from 400 on.
    Refused,
    /// An answer that is not one, or has other contents than were stored. One is enough to fail the run.
    Wrong,
}

impl ErrorKind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Connect,
        Self::Ports,
        Self::Reset,
        Self::Closed,
        Self::Timeout,
        Self::Refused,
        Self::Wrong,
    ];

    /// Its place in [`ALL`](Self::ALL).
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// In words, for `count` of them.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Connect => "not connected",
            Self::Ports => "not connected for want of a local port",
            Self::Reset => "connections reset",
            Self::Closed => "connections ended early",
            Self::Timeout => "timeouts",
            Self::Refused => "requests refused",
            Self::Wrong => "wrong answers",
        }
    }
}

/// One second of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Second {
    /// Answers that came in it.
    pub ops: u64,
    /// The slowest of them, in nanoseconds.
    pub slowest_ns: Option<f64>,
}

/// CPU time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// While it was measured, in seconds.
    pub seconds: f64,
    /// For each answer, in nanoseconds.
    pub ns_per_op: f64,
}

impl Cpu {
    /// Of so much time for so many answers.
    #[must_use]
    pub fn new(ns: u64, ops: u64) -> Self {
        Self { seconds: ns as f64 / 1e9, ns_per_op: ns as f64 / ops.max(1) as f64 }
    }
}

impl Outcome {
    /// How many errors of a kind there were.
    #[must_use]
    pub fn count(&self, kind: ErrorKind) -> u64 {
        self.errors.iter().filter(|errors| errors.kind == kind).map(|errors| errors.count).sum()
    }
}

/// The JSON Schema of an outcome: `docs/load.schema.json`.
#[must_use]
pub fn schema() -> String {
    tenure_report::json::schema::<Outcome>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_schema_is_the_one_that_the_types_have() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/load.schema.json");
        tenure_report::json::check_committed(path.as_ref(), &schema());
    }

    #[test]
    fn every_kind_of_error_has_a_place_of_its_own() {
        for (index, kind) in ErrorKind::ALL.into_iter().enumerate() {
            assert_eq!(kind.index(), index);
        }
    }
}
