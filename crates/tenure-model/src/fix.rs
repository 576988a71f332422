//! What became of changes that were made, built, tested and measured: the types of `tenure fix --json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Comparison, Gain, SourceEdit};

/// Changes that were tried, and the patch of those that were kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FixReport {
    /// [`FixReport::SCHEMA`].
    pub schema: String,
    /// Tenure's version.
    pub version: String,
    /// The command that was measured.
    pub command: String,
    /// The processor and its CPUs.
    pub machine: String,
    /// The changes, in the order in which they were tried.
    pub changes: Vec<TriedChange>,
    /// The changes that were kept, as a patch of the program's tree; empty if there are none.
    pub patch: String,
    /// The same of packages outside of that tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<DependencyPatch>,
    /// What else the reader has to know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl FixReport {
    /// The version of the JSON: it changes when a field changes its meaning or goes away.
    pub const SCHEMA: &'static str = "tenure-fix/1";
}

/// The changes of a dependency that were kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DependencyPatch {
    /// A crate with its version, a repository with its revision, or the folder of a path dependency: `dashmap-5.5.3`.
    pub name: String,
    /// Its folder, whose files stay as they are.
    #[serde(default)]
    pub folder: String,
    /// The patch, from that folder.
    pub patch: String,
    /// The table of `[patch]` by which cargo uses another folder in its place: `crates-io`, or an address in quotes. None of a path
    /// dependency, to which the patch can be applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
}

/// A change that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TriedChange {
    /// Its number in the report.
    pub number: u64,
    /// Where: `sessions.rs:41`.
    pub place: String,
    /// What to change.
    pub what: String,
    /// What was predicted for the whole program: on the CPUs of this machine, and on 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predicted: Vec<Gain>,
    /// What became of it.
    pub outcome: FixOutcome,
    /// How often it was faster than the tree without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Comparison>,
    /// Whether the line is still found when the program is recorded again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_silent: Option<bool>,
    /// Its edits, one for each file: bytes of the file without the change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<SourceEdit>,
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FixOutcome {
    /// It pays here: it is in the patch.
    Kept,
    /// It does not pay here, and is in the patch for what was predicted.
    KeptPredicted,
    /// It builds, passes the tests, and does not pay here.
    DoesNotPay,
    /// It was taken back.
    Withdrawn {
        /// Why, in a line.
        why: String,
    },
    /// It is no edit: the report has words and code for it.
    ByHand {
        /// Why, in a line.
        why: String,
    },
}
