//! What was found: the types of `--json`, from which its schema is generated.
//!
//! Everything that shows findings (tables, maps, the HTML page) reads a [`Report`] and nothing else.
//! Offsets and sizes are bytes.

mod finding;
mod map;
mod measured;
mod names;
mod origin;

pub use finding::{
    Confidence, Curve, Evidence, Finding, Forecast, Kind, Level, LockHeld, MemberOf, Observed,
    Origin, Point, Repair, Sharing, Signal, Storage, Use, Word,
};
pub use map::{Alternative, Cell, Embedder, Line, Means, Move, Suggestion, TypeMap, Unfixed};
pub use measured::{Elsewhere, Measured, MeasuredMember, Recorded};
pub use names::{short_path, short_place};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Answer, Ended, TimeSplit};

/// The version of this form. Fields may be added to it; a change to what is there makes a new one.
pub const SCHEMA: &str = "tenure-render/1";

/// Everything that one call found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// The version of the command.
    pub tenure: String,
    /// Where the findings come from.
    pub source: Source,
    /// The size of a cache line that was assumed.
    pub line_bytes: u64,
    /// What was asked for and how much of it is here.
    pub scope: Scope,
    /// The answer in short. Only of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// The findings from the worst down: first those that a recording of `perf` has measured, then the program's own
    /// before those of dependencies and standard libraries.
    pub findings: Vec<Finding>,
    /// The maps of the types that findings and suggestions name, and of those asked for.
    pub maps: Vec<TypeMap>,
    /// Better layouts of types, if they were asked for.
    pub suggestions: Vec<Suggestion>,
    /// The types for which a better layout was asked for and none was found.
    pub unfixed: Vec<Unfixed>,
    /// What the checks of a rules file or a budget said, if there was one.
    pub checks: Vec<Check>,
    /// What differs from an older report, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<Change>>,
}

impl Report {
    /// These findings and nothing else.
    #[must_use]
    pub fn new(source: Source, line_bytes: u64, findings: Vec<Finding>) -> Self {
        let count = findings.len() as u64;
        Self {
            schema: SCHEMA.to_owned(),
            tenure: env!("CARGO_PKG_VERSION").to_owned(),
            source,
            line_bytes,
            scope: Scope {
                types: Vec::new(),
                findings: count,
                top: count,
                dependencies: 0,
                standard: 0,
                suppressed: Vec::new(),
            },
            answer: None,
            findings,
            maps: Vec::new(),
            suggestions: Vec::new(),
            unfixed: Vec::new(),
            checks: Vec::new(),
            changes: None,
        }
    }
}

impl Report {
    /// Whether no check failed and, if it was compared with an older report, no finding is new or worse.
    #[must_use]
    pub fn passes(&self) -> bool {
        let is_bad = |one: &Change| matches!(one.change, Difference::New | Difference::Worse);
        self.checks.iter().all(|check| check.passed) && !self.changes.iter().flatten().any(is_bad)
    }

    /// How often a finding's line could have changed hands, per second; `None` of a finding from types.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // Two digits are shown.
    pub fn rate(&self, finding: &Finding) -> Option<f64> {
        let (Source::Run(run), Some(observed)) = (&self.source, &finding.observed) else {
            return None;
        };
        Some(observed.possible_changes as f64 / run.seconds)
    }

    /// Leaves out all but the first `top` findings, and the maps that only the others name.
    pub fn cut(&mut self, top: usize) {
        let cut: Vec<Finding> = self.findings.drain(top.min(self.findings.len())..).collect();
        self.scope.top = top as u64;
        let names = |all: &[Finding], name: &str| all.iter().any(|one| one.type_name == name);
        self.maps.retain(|map| names(&self.findings, &map.name) || !names(&cut, &map.name));
    }
}

/// Where findings come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Source {
    /// Found in a program's types.
    Types(Types),
    /// Found in a run of a program.
    Run(Run),
}

/// The types that were read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Types {
    /// The path.
    pub path: String,
    /// `dwarf` or `btf`.
    pub format: String,
    /// Translation units; 1 for BTF.
    pub units: u64,
    /// Structs, unions and classes, each counted once.
    pub composites: u64,
    /// Such types that contain a contended word, by embedding too.
    pub contended: u64,
    /// Variables with fixed addresses.
    pub statics: u64,
    /// Units that are malformed and were left out, each with what is wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// What was read of the program's code, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeRead>,
    /// What `perf` has measured, if a recording was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Box<Recorded>>,
}

/// What was read of a program's code.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CodeRead {
    /// Why nothing was: words and neighbours are judged by types and names alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
    /// Functions, each name once.
    pub functions: u64,
    /// Operands in memory, by the language of their unit.
    pub operands: Vec<OperandShare>,
    /// Atomic operands.
    pub locked: u64,
    /// Atomic operands of which it is not known what they are of.
    pub locked_unknown: u64,
    /// The functions with most of those.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_in: Vec<String>,
    /// Units of which not all code could be read.
    pub skipped: u64,
    /// Functions that were compiled without the places of their variables, such as those of Rust's standard library. Their
    /// operands are not counted.
    #[serde(default)]
    pub blind: u64,
}

impl CodeRead {
    /// More unknown atomic operands than this, in per cent, may hide contended words.
    const MAX_UNKNOWN: u64 = 20;

    /// Whether so much is unknown that code which is not seen to use a word says nothing.
    #[must_use]
    pub fn misses_words(&self) -> bool {
        self.locked_unknown.saturating_mul(100) > self.locked.saturating_mul(Self::MAX_UNKNOWN)
    }
}

/// Operands of one language that other threads may share: not those on the stack, of the thread or CPU itself, or in
/// constants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperandShare {
    /// `C`, `C++`, `Rust` or `other`.
    pub language: String,
    /// All of them.
    pub operands: u64,
    /// Those that belong to a member or variable.
    pub attributed: u64,
    /// Those that belong to a number or pointer of which no more is known.
    pub plain: u64,
}

/// The run that was observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The command.
    pub command: String,
    /// How it ended.
    pub ended: Ended,
    /// How long it ran.
    pub seconds: f64,
    /// Processes.
    pub processes: u64,
    /// Threads of all processes.
    pub threads: u64,
    /// CPUs that it may use; `None` if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u64>,
    /// Accesses that were counted.
    pub accesses: u64,
    /// Such accesses that hit contended lines.
    pub contended: u64,
    /// Accesses to contended lines for which there was no room.
    pub dropped: u64,
    /// What was not seen, and why: each a sentence.
    pub missing: Vec<String>,
    /// Lines that could change hands often, but are no findings of this report: `missing` says why.
    #[serde(default)]
    pub left_out: u64,
    /// Why a report without findings would prove nothing: a sentence each. For a watched program see [`Watched::coverage`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// Where the threads' time went. Only of a watched program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeSplit>,
    /// What the accesses of a program that was watched unmodified were estimated from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<Box<Watched>>,
    /// Predicted throughput of the whole program: unmodified, with the first, the first three and all repairs. An upper
    /// bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// Processor seconds that predicting took, if anything was predicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicting: Option<f64>,
    /// What threads do to all lines that have a pattern, as a pattern file for `tenure sim`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

/// What watching a program did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Watched {
    /// Samples of running threads.
    pub samples: u64,
    /// Such samples whose access to memory is known.
    pub attributed: u64,
    /// How often breakpoints were set on a line.
    pub probes: u64,
    /// Breakpoints that were hit.
    pub traps: u64,
    /// The part of the program's processor time that this took: the sum of these, each as often as it was done.
    pub overhead: f64,
    /// Microseconds that a sample takes of a thread, as measured.
    pub sample_us: f64,
    /// Microseconds that setting breakpoints, and taking them away, takes of a thread that runs.
    pub arm_us: f64,
    /// Microseconds that a hit takes of a thread.
    pub trap_us: f64,
    /// Processor seconds that the watcher took for itself, by second.
    pub own: f64,
    /// How much of the program could be seen, and what that excludes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
}

/// How much of a watched program could be seen, and what that excludes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// Processor time of the program while it was watched, in seconds.
    pub cpu_seconds: f64,
    /// Share of that time in the kernel, where accesses are not seen.
    pub kernel: f64,
    /// Share of the samples that lost the address of their access.
    pub unaddressed: f64,
    /// No line without a finding costs more than this share of the time that could be seen, with 95 % confidence.
    pub excludes: f64,
    /// Names of files that the program can write through memory, and that other processes may have mapped too. What those do
    /// there is not seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<String>,
}

impl Coverage {
    /// More than this of the time was not seen: nothing follows from what was.
    pub const MAX_UNSEEN: f64 = 0.5;

    /// A line that costs this much would be worth a person's time.
    pub const WORTH_FINDING: f64 = 0.1;

    /// If a line may cost more than this and stay unseen, silence means nothing.
    pub const MAX_MISSED: f64 = 0.25;

    /// The share of the program's processor time that could not be seen.
    #[must_use]
    pub fn unseen(&self) -> f64 {
        1.0 - (1.0 - self.kernel) * (1.0 - self.unaddressed)
    }

    /// Whether too little was seen for silence to mean anything.
    #[must_use]
    pub fn is_too_little(&self) -> bool {
        self.unseen() > Self::MAX_UNSEEN || self.excludes > Self::MAX_MISSED
    }
}

/// What was asked for and how much of it is here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scope {
    /// The patterns of type names that were asked for; empty for all types.
    pub types: Vec<String>,
    /// How many findings there are in these types.
    pub findings: u64,
    /// The most that were asked for.
    pub top: u64,
    /// Findings of dependencies that were left out.
    #[serde(default)]
    pub dependencies: u64,
    /// Findings of standard libraries that were left out.
    #[serde(default)]
    pub standard: u64,
    /// Findings that a rules file suppresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suppressed: Vec<Suppression>,
}

/// Findings that a rules file leaves out of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Suppression {
    /// The reason, as the file gives it.
    pub reason: String,
    /// How many there are.
    pub findings: u64,
}

/// What is known of a member or word.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A reference count, taken and given back by all who use the object.
    Count,
    /// A lock: it guards its neighbours, and a thread that writes it is about to use them.
    Lock,
    /// A sequence count: written by few, read before and after its neighbours by all.
    Sequence,
    /// A number that threads only add to, and that decides nothing.
    Statistic,
    /// A number that threads take from if enough is left: permits, quotas.
    Budget,
    /// One of a few values that are stored and loaded, and never changed by what was there.
    Flag,
    /// An end of a queue, a stack or a list: the next place, if there is one.
    QueueEnd,
    /// A number of which each thread takes the next: a ticket, an id, an index.
    Ticket,
    /// One of several states, or a pointer, which threads exchange.
    State,
    /// Another atomic word.
    Atomic,
    /// A plain word that many CPUs write.
    Written,
    /// Read often, written hardly ever.
    ReadMostly,
    /// Used where time does not matter: when an object is made, freed or debugged.
    Cold,
    /// Nothing is known of it.
    Plain,
}

impl Role {
    /// Whether many CPUs write it.
    #[must_use]
    pub fn is_contended(self) -> bool {
        !matches!(self, Self::ReadMostly | Self::Cold | Self::Plain)
    }
}

/// What one check said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// The check in words: `dst_entry.lwtstate must not share a line with dst_entry.__refcnt`.
    pub rule: String,
    /// Whether it holds.
    pub passed: bool,
    /// What was found.
    pub found: String,
}

/// A finding that an older report does not have, or has otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Summary in one word.
    pub change: Difference,
    /// The finding.
    pub finding: String,
    /// Its measure in the older report: a score, or possible changes of ownership per second of a run. Of what moved,
    /// the contended word's offset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<f64>,
    /// The same, in this report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<f64>,
}

/// How a finding differs from that of an older report.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// The older report does not have it.
    New,
    /// It is worse than it was.
    Worse,
    /// It is better than it was.
    Better,
    /// It is as bad as it was, at another offset. Only from types.
    Moved,
    /// This report does not have it.
    Gone,
}
