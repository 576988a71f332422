//! The one form of a result, from which tables, JSON and HTML are made.
//!
//! # Schema
//!
//! `--json` writes a [`BenchReport`]. [`SCHEMA`] names its version, which changes when a field changes its meaning or goes
//! away; new fields may appear at any time. `docs/bench.schema.json` is the JSON Schema.
//!
//! Times are nanoseconds of wall time. Ratios are *time of this row / time of the other*: below 1 is faster, whatever
//! the number of threads.

use crate::scenario;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_report::machine::HostMachine;
use tenure_report::stats::Estimate;
use tenure_report::verdict::Verdict;

/// Name and version of the JSON that a run writes.
pub const SCHEMA: &str = "tenure-bench/1";

/// One run of `tenure bench`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchReport {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The version of Tenure that measured.
    pub version: String,
    /// When the run began: RFC 3339, UTC.
    pub started: String,
    /// How long the run took, in seconds.
    pub seconds: f64,
    /// Whether the run was interrupted: what was not measured by then is missing.
    #[serde(default)]
    pub interrupted: bool,
    /// What was asked for.
    pub settings: Settings,
    /// What it ran on.
    pub machine: HostMachine,
    /// What was measured.
    pub groups: Vec<ResultGroup>,
    /// What it says about this project's claims. Nothing if the run was quick.
    pub verdicts: Vec<Verdict>,
}

/// What a run was asked to do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// A run to see that everything works; its figures are too few to quote.
    pub quick: bool,
    /// Measured seconds for each row at each number of threads.
    pub seconds: f64,
    /// The seed of the random order.
    pub seed: u64,
}

/// Scenarios that belong together: `refs`, `dst`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Group")]
pub struct ResultGroup<P = BenchPoint> {
    /// The name on the command line.
    pub name: String,
    /// A heading.
    pub title: String,
    /// A paragraph: what is measured and why.
    pub about: String,
    /// Its scenarios.
    pub scenarios: Vec<ResultScenario<P>>,
}

/// One operation, done by several variants at several points: numbers of threads, or of CPUs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Scenario")]
pub struct ResultScenario<P = BenchPoint> {
    /// Unique in the report: `refs/get-put`.
    pub id: String,
    /// A heading.
    pub title: String,
    /// What one operation is, in a sentence.
    pub about: String,
    /// The variant that the others are compared with.
    pub baseline: String,
    /// The variant that shows what the hardware allows, where there is one.
    pub limit: Option<String>,
    /// One for each number of threads or CPUs, ascending.
    pub points: Vec<P>,
}

impl<P> ResultGroup<P> {
    pub(crate) fn of(group: &scenario::BenchGroup, scenarios: Vec<ResultScenario<P>>) -> Self {
        let [name, title, about] = [group.name, group.title, group.about].map(str::to_owned);
        Self { name, title, about, scenarios }
    }
}

impl<P> ResultScenario<P> {
    pub(crate) fn of(scenario: &scenario::BenchScenario, points: Vec<P>) -> Self {
        let scenario::BenchScenario { id, title, about, baseline, limit, .. } = *scenario;
        let [id, title, about, baseline] = [id, title, about, baseline].map(str::to_owned);
        Self { id, title, about, baseline, limit: limit.map(str::to_owned), points }
    }
}

/// A scenario at one number of threads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchPoint {
    /// Threads that ran at once, each pinned to a CPU of its own while there were enough.
    pub threads: usize,
    /// More threads than CPUs: slices with involuntary switches are the rule and are kept.
    pub oversubscribed: bool,
    /// Fresh sets of objects; an interval is over their medians.
    pub batches: usize,
    /// Rounds that were measured: in a round each variant runs once.
    #[serde(default)]
    pub rounds: usize,
    /// Rounds that were left out, because those before them had taken twice the time that all were meant to take,
    /// or because the run was interrupted.
    #[serde(default)]
    pub left_out: usize,
    /// The variants, in the order of the scenario.
    pub rows: Vec<BenchRow>,
}

/// A variant at one number of threads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchRow {
    /// The variant's name, unique in its scenario.
    pub variant: String,
    /// Time of one operation on one thread, while all the others do the same: the mean over the
    /// threads. Where the point is oversubscribed: from the first thread's start to the last one's
    /// end, by the operations of one thread.
    pub ns_per_op: Estimate,
    /// Operations per second of all threads together, in millions: the median.
    pub mops: f64,
    /// Failed compare-exchanges per operation, for variants that count them.
    pub retries_per_op: Option<f64>,
    /// Time against the scenario's baseline, measured in the same rounds. Absent on the baseline.
    pub to_baseline: Option<Estimate>,
    /// Time against the scenario's limit, measured in the same rounds. Absent on the limit.
    pub to_limit: Option<Estimate>,
    /// Time against further variants, measured in the same rounds, where a claim compares with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to_rivals: Vec<ToRival>,
    /// Slices that count. 0 where hardly any slice was undisturbed: then the dropped ones count
    /// after all.
    pub slices: usize,
    /// Slices that were dropped because a thread was switched out involuntarily.
    pub dropped: usize,
    /// How long single operations of the first thread took, for variants that time them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub singles: Option<Distribution>,
}

/// How long single operations took, each with two looks at the clock in it: some tens of nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Operations that were timed one by one, in slices in which that thread was not switched out
    /// involuntarily, unless there are none.
    pub operations: u64,
    /// Half of them took at most so long.
    pub median_ns: f64,
    /// 90 % of them.
    pub p90_ns: f64,
    /// 99 %.
    pub p99_ns: f64,
    /// 99.9 %.
    pub p999_ns: f64,
    /// The slowest.
    pub max_ns: f64,
}

/// A row's time against a variant that is neither baseline nor limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToRival {
    /// The other variant.
    pub variant: String,
    /// Time of the row / time of the other.
    pub ratio: Estimate,
}
