//! One finding: where it is, which words share a line, how that is known, and what would fix it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Measured, Role};
use crate::{Access, Code, Declaration, Language, Remedy, SourceEdit, Target};

/// A contended cache line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Number from 1, among all findings of the input.
    pub rank: u64,
    /// The type to fix; empty where it is not known. For [`Sharing::Statics`] the section, and the variable if that is
    /// an array of bare words.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Where it was declared, as `file:line`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<String>,
    /// How the words come to share a line.
    pub sharing: Sharing,
    /// What is wrong with it.
    pub kind: Kind,
    /// The word that moves the line from CPU to CPU: of several, the worst.
    pub contended: Word,
    /// The others of its line: those that suffer, from types the worst first. Empty if the contended word is alone.
    pub victims: Vec<Word>,
    /// The score, from 0 to 100. From types: what [`signals`](Self::signals) say. Of a run: how many per cent of all
    /// accesses to contended lines go to this one.
    pub score: f64,
    /// Why the score is what it is, namely their product times 100. Only from types.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<Signal>,
    /// Whose the type is. Only from types.
    #[serde(default)]
    pub origin: Origin,
    /// Instances of one generic type that have this finding, of which it is the worst. Only from types.
    #[serde(default = "one")]
    pub instances: u64,
    /// What a run showed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Observed>,
    /// What the lock guards, if the contended word is one. Only from a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<LockHeld>,
    /// Samples of its words. Only from types with a recording of `perf`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
    /// How sure it is.
    pub confidence: Confidence,
    /// Repairs, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<Repair>,
    /// Predicted throughput: unmodified, and with each repair, by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// What threads do to the line, as a pattern file for `tenure sim`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

impl Finding {
    /// The words of the line by offset.
    #[must_use]
    pub fn words(&self) -> Vec<&Word> {
        let mut words: Vec<&Word> = std::iter::once(&self.contended).chain(&self.victims).collect();
        words.sort_by_key(|word| word.offset);
        words
    }
}

fn one() -> u64 {
    1
}

/// Whose a type is.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The program's own, as far as is known.
    #[default]
    Yours,
    /// A dependency's: what a package manager fetched, what is in `vendor/` or `third_party/`, or a system header.
    Dependency,
    /// Part of a standard library.
    Standard,
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Threads use different words of it, and at least one word is written.
    FalseSharing,
    /// The same, and what shares the line with the written word is mostly read.
    BesideReadMostly,
    /// Several threads write the same word.
    HotWord,
    /// Several threads take the same lock.
    Lock,
}

/// How words come to share a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Sharing {
    /// All are in the type itself.
    Within,
    /// One of them is in `inner`, which the type contains as `member` at `offset`.
    Embedding {
        /// The embedded type.
        inner: String,
        /// The member that embeds it: its path.
        member: String,
        /// Where it lies.
        offset: u64,
    },
    /// They are in neighbouring elements of an array of the type.
    Elements {
        /// The variable, the member (`type.member`) or the type that is the array.
        array: String,
        /// Bytes from one element to the next.
        stride: u64,
        /// Elements; 0 if that is not known.
        count: u64,
    },
    /// They are variables next to each other.
    Statics {
        /// The section.
        section: String,
        /// Where the contended word lies.
        address: u64,
    },
    /// They are objects that the allocator put next to each other.
    Objects,
}

/// A word on a contended line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Word {
    /// The path from the type, such as `dst.__refcnt`, or the variable; empty where it is not known.
    pub path: String,
    /// Bytes from the start of the type or object, negative before it; of a variable, from the start of its line.
    pub offset: i64,
    /// Bytes.
    pub size: u64,
    /// Its type's name; empty where it is not known.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The type that has it as a member, if that is not the finding's: the base of a class, or the type of an array's elements. Only in a
    /// run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member_of: Option<MemberOf>,
    /// What it is.
    pub role: Role,
    /// How likely others read it while the contended word is written, from 0 to 1. Only from types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Where the weight comes from, in a few words. Only from types.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Who did what with it, the most frequent first. Only in a run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<Use>,
    /// Its samples, if there are any. Only from types with a recording of `perf`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
}

/// A type of the program's own that declares a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberOf {
    /// Its name.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Where it is declared, as `file:line`. rustc does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<String>,
}

/// What a group of threads did with a word at one place of the code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Use {
    /// The threads' name.
    pub threads: String,
    /// How many of them did it.
    pub count: u64,
    /// The threads' numbers within their process; empty if they are not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<u64>,
    /// What they did.
    pub operation: Access,
    /// How often, per second and thread.
    pub per_second: f64,
    /// Where: the innermost place that is not of a standard library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// Who called that, the innermost first. Wrappers of locks and allocators are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<Code>,
}

/// One reason for a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Signal {
    /// Its name, one of those that the documentation lists.
    pub name: String,
    /// What the score was multiplied by.
    pub factor: f64,
    /// What was seen, in words.
    pub seen: String,
}

/// What a run showed of a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observed {
    /// What the line is a part of.
    pub storage: Storage,
    /// The bytes of the object, if it has a size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Where the line begins, from the start of the object.
    pub line_offset: i64,
    /// Accesses to it that were counted.
    pub accesses: u64,
    /// How often its owner could have changed if every thread had had a CPU of its own: at worst.
    pub possible_changes: u64,
    /// What the line costs at most, as a share of the time that could be seen. Only of a watched program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// What `cost` rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

/// What a run showed of a lock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LockHeld {
    /// The words that it guards, as far as they are contended: all their users hold it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<String>,
    /// For how many nanoseconds it is held, on average, without what waiting for lines takes; `None` if that was not timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_ns: Option<f64>,
    /// The share of its holders that only read, from 0 to 1; `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readers: Option<f64>,
}

/// The samples and probes that a finding of a watched program rests on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Samples of threads that had just touched the line.
    pub samples: u64,
    /// Probes of the line: each sets breakpoints on some of its words, in some threads, for a few milliseconds.
    pub probes: u64,
    /// Probes that met another thread on the line, on another CPU unless there is only one.
    pub met: u64,
    /// The ends of the 95 % interval of the share that [`Observed::cost`] estimates.
    pub share: [f64; 2],
}

/// What a line is a part of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Storage {
    /// A variable with a fixed address.
    Static {
        /// Its name; empty where it is not known.
        name: String,
    },
    /// Objects that one call allocated.
    Heap {
        /// How many of them there were.
        objects: u64,
        /// Where they were allocated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        allocated: Option<Code>,
    },
    /// The stack of a thread.
    Stack {
        /// The thread's name.
        thread: String,
    },
    /// Memory that was mapped, or shared with other processes.
    Mapped,
}

/// How sure a finding is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Confidence {
    /// Summary in one word.
    pub level: Level,
    /// The share of the addresses that the type's alignment allows at which the words share a line: 1 for an
    /// alignment of a line or more, and for a line that was observed.
    pub placements: f64,
    /// The reason, in words.
    pub why: String,
}

/// How sure.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// It holds at fewer than half of the placements. Of a watched program: the share is not even known to within a factor
    /// of ten, or rests on one sample or one meeting.
    Low,
    /// It holds at most placements. Of a watched program: the share is known to within a factor of ten.
    Medium,
    /// It holds wherever it lies. Of a watched program: the share is known to within a factor of two. Of a run: every access was counted.
    High,
}

/// A change of the source that would fix a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Repair {
    /// A word for it: `apart`; of several that only help together, `cells + read_unlocked`.
    pub name: String,
    /// What it does, in the order in which it is to be made.
    #[serde(default)]
    pub remedies: Vec<Remedy>,
    /// The place in the source that it changes.
    #[serde(default)]
    pub target: Target,
    /// What to change, in the program's own words: an imperative, such as "put `refs` on its own cache line".
    #[serde(default)]
    pub brief: String,
    /// What to do: a sentence for each.
    pub text: String,
    /// What to write: a line or two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code: Vec<String>,
    /// It as edits of the source, where no compiler has to be asked what else has to change. Files are named from the top of the git
    /// checkout that the command was called in. Only in JSON.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<SourceEdit>,
    /// What it costs, in bytes: of an object, of a thread, or of an array or variables in all. The text says which.
    pub bytes: u64,
    /// Whether the bytes are for each thread.
    #[serde(default)]
    pub per_thread: bool,
}

impl Repair {
    /// Whether `tenure fix` can make it: its first remedy is an edit at a declaration or a use, in a language that it can edit.
    #[must_use]
    pub fn is_edit(&self) -> bool {
        let is_editable =
            matches!(self.target.language, Some(Language::Rust | Language::C | Language::Cpp));
        is_editable
            && match self.remedies.first() {
                Some(Remedy::Apart | Remedy::ReadMostlyApart) => matches!(
                    self.target.declaration,
                    Some(
                        Declaration::Member { .. }
                            | Declaration::Elements { .. }
                            | Declaration::Variables { .. }
                    )
                ),
                Some(Remedy::Cells | Remedy::TestBeforeStore | Remedy::Borrow) => true,
                _ => false,
            }
    }
}

/// Throughput on simulated machines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Forecast {
    /// The machine's name.
    pub machine: String,
    /// The unmodified program.
    pub unmodified: Vec<Point>,
    /// Curves with repairs.
    pub repaired: Vec<Curve>,
}

/// Throughput with a repair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Curve {
    /// The repair, or which of them.
    pub name: String,
    /// Points by number of CPUs, ascending.
    pub points: Vec<Point>,
}

/// Throughput on a number of CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Simulated CPUs.
    pub cpus: u64,
    /// Iterations per second of all threads together.
    pub per_second: f64,
}
