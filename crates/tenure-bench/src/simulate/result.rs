//! The JSON of `tenure sim`.
//!
//! Times are simulated nanoseconds. Ratios are *time of this row / time of the other*: below 1 is faster. Nothing
//! depends on the host, its clock or addresses: the same request and seed give the same report, byte for byte, on any
//! machine.

use crate::result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) type SimulatedGroup = result::ResultGroup<SimulatedPoint>;
pub(super) type SimulatedScenario = result::ResultScenario<SimulatedPoint>;

/// Name and version of the JSON that a run writes.
pub const SCHEMA: &str = "tenure-sim/1";

/// One run of `tenure sim`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedReport {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The version of Tenure that simulated.
    pub version: String,
    /// What was asked for.
    pub settings: Settings,
    /// The machine that was simulated.
    pub machine: SimulatedMachine,
    /// What was simulated.
    pub groups: Vec<result::ResultGroup<SimulatedPoint>>,
    /// The repairs of a pattern, each a variant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<SimulatedRepair>,
    /// How far the simulator is from what was measured and published elsewhere.
    pub validation: Vec<ValidationCheck>,
}

/// What a run was asked to do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// Simulated nanoseconds that each row was measured for.
    pub measured_ns: f64,
    /// Simulated nanoseconds before that.
    pub warm_up_ns: f64,
    /// The seed of everything random.
    pub seed: u64,
    /// What the run leaves out of what was asked for, and why, such as more CPUs than the machine has.
    pub notes: Vec<String>,
}

/// The machine that was simulated.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedMachine {
    /// Its name.
    pub name: String,
    /// What it is, in a sentence.
    pub about: String,
    /// Where its figures come from.
    pub sources: Vec<String>,
    /// CPUs: hardware threads.
    pub cpus: usize,
    /// Cores.
    pub cores: usize,
    /// Hardware threads on a core.
    pub smt: usize,
    /// Groups of cores that share a cache.
    pub clusters: usize,
    /// Sockets.
    pub sockets: usize,
    /// All of its figures: a machine file.
    pub toml: String,
}

/// A fix of a pattern.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedRepair {
    /// The variant that has it.
    pub variant: String,
    /// What to do, in a sentence.
    pub about: String,
    /// The memory that it costs: bytes for each object, or each thread.
    pub bytes: usize,
    /// Whether the bytes are for each thread.
    pub per_thread: bool,
    /// The type of this library that does it.
    pub library: Option<String>,
    /// How that is used.
    pub code: Vec<String>,
}

/// A scenario on a number of CPUs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedPoint {
    /// CPUs, each with one thread.
    pub cpus: usize,
    /// The variants, in the order of the scenario.
    pub rows: Vec<SimulatedRow>,
}

/// A variant on a number of CPUs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedRow {
    /// The variant's name, unique in its scenario.
    pub variant: String,
    /// Operations that were measured.
    pub operations: u64,
    /// Time of one operation on one CPU while all the others do the same; absent where none ended.
    pub ns_per_op: Option<f64>,
    /// Operations per second of all CPUs together, in millions.
    pub mops: f64,
    /// Failed compare-exchanges per operation.
    pub retries_per_op: f64,
    /// Lines that went to another holder, per operation.
    pub transfers_per_op: TransfersPerOp,
    /// Read-modify-writes per operation that were done at the line's home.
    pub far_per_op: f64,
    /// Store-conditionals per operation that failed and were repeated.
    pub lost_reservations_per_op: f64,
    /// Jain's index over the CPUs' operations: 1 where all did the same number, 1/N where one of N
    /// did all.
    pub fairness: f64,
    /// Time against the scenario's baseline. Absent on the baseline.
    pub to_baseline: Option<f64>,
    /// Time against the scenario's limit. Absent on the limit.
    pub to_limit: Option<f64>,
    /// Time of an iteration of each role of a pattern.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RoleRow>,
    /// The lines that moved, the hottest first. Where there are many, the last stands for the rest.
    pub lines: Vec<LineRow>,
}

/// What an iteration takes the threads of a role.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleRow {
    /// The role's name.
    pub role: String,
    /// Its threads.
    pub threads: usize,
    /// Iterations of all of them in the measured time.
    pub iterations: u64,
    /// Time of an iteration of one thread; absent where none ended.
    pub ns_per_iteration: Option<f64>,
}

/// Lines that went to another holder, by where they came from.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TransfersPerOp {
    /// Lines that came from a core of the same cluster.
    pub cluster: f64,
    /// Lines that came from another cluster of the socket.
    pub socket: f64,
    /// Lines that came from another socket.
    pub remote: f64,
    /// Lines that came from memory.
    pub memory: f64,
    /// All of them.
    pub all: f64,
}

impl std::ops::AddAssign for TransfersPerOp {
    fn add_assign(&mut self, other: Self) {
        self.cluster += other.cluster;
        self.socket += other.socket;
        self.remote += other.remote;
        self.memory += other.memory;
        self.all += other.all;
    }
}

/// A line that moved.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LineRow {
    /// How often, per operation.
    pub transfers_per_op: TransfersPerOp,
    /// Read-modify-writes per operation that came to it instead.
    pub far_per_op: f64,
    /// What was accessed on it, by place. What the scenario has no name for is one.
    pub members: Vec<MemberFigures>,
}

/// A part of a line that was accessed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemberFigures {
    /// Its name, where the scenario gives it one.
    pub name: Option<String>,
    /// Where it begins on the line.
    pub offset: usize,
    /// Its size.
    pub bytes: usize,
    /// Reads per operation.
    pub loads_per_op: f64,
    /// Writes per operation.
    pub stores_per_op: f64,
    /// Read-modify-writes per operation, failed ones included.
    pub rmws_per_op: f64,
    /// Failed compare-exchanges per operation.
    pub failed_per_op: f64,
    /// Accesses per operation for which the line had to come.
    pub misses_per_op: f64,
    /// How long those waited, per operation.
    pub waited_ns_per_op: f64,
}

/// Figures within this factor of the published one count as reproduced.
pub const WITHIN: f64 = 1.5;

/// A figure that was measured or published elsewhere, beside what the simulator says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValidationCheck {
    /// Which family of figures it belongs to: `retries`, `add-cas`, ...
    pub family: String,
    /// What was measured, in a sentence.
    pub what: String,
    /// The simulated machine.
    pub machine: String,
    /// CPUs at work.
    pub cpus: usize,
    /// Its unit: `ns`, `retries/op`, `x`.
    pub unit: String,
    /// The published value: both ends are the same, or those of a range.
    pub published: [f64; 2],
    /// Whose.
    pub source: String,
    /// What the simulator says.
    pub simulated: f64,
    /// How far off: simulated / published, where below 1 is too low. 1 within a range, and from its
    /// nearer end outside of it.
    pub residual: f64,
    /// Whether it is within a factor of 1.5.
    pub within: bool,
    /// Whether a parameter of the machine was fitted to this very figure, so that it tests little.
    pub fitted: bool,
    /// Why it is off, as far as known; empty if it is not.
    pub note: String,
}

impl From<&tenure_sim::Machine> for SimulatedMachine {
    fn from(machine: &tenure_sim::Machine) -> Self {
        let topology = machine.topology;
        Self {
            name: machine.name.clone(),
            about: machine.about.clone(),
            sources: machine.sources.clone(),
            cpus: machine.cpus(),
            cores: topology.cores_in_all(),
            smt: topology.smt,
            clusters: topology.sockets * topology.clusters,
            sockets: topology.sockets,
            toml: machine.to_toml(),
        }
    }
}
