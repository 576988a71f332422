//! The answer in short: what holds a program back, and which changes are worth making.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What holds a program back, and which changes are worth making.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The answer: a sentence or two.
    pub headline: String,
    /// Changes that pay, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ProposedChange>,
    /// What all of them give together, if there are several: for each number of CPUs that [`ProposedChange::gains`] has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<Gain>,
    /// Changes that give less than 5 %.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_worth: Vec<ProposedChange>,
    /// What to do about what holds the program back most, where that is no cache line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<Advice>,
}

/// What to do about time that no cache line costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// Where in the source: `pool.rs:77`; empty if that is not known.
    pub place: String,
    /// What to do: an imperative, such as "hold `pool` for less".
    pub what: String,
    /// The CPUs that the program has, a part of one as one.
    pub cpus: u64,
    /// How many times as much it does there, at least, once all of that time is work: by the time alone, so only roughly. `None` if
    /// nothing follows from the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
}

/// A change of the source, and what it gives the whole program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProposedChange {
    /// The rank of the finding that it fixes, which is the change's number too.
    pub finding: u64,
    /// Where in the source: `sessions.rs:41`; empty if that is not known.
    pub place: String,
    /// Whether that is where the line is used most: its declaration is not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_use: bool,
    /// What to change: an imperative, such as "put `refs` on its own cache line".
    pub what: String,
    /// Whether `tenure fix` can make it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_edit: bool,
    /// What it gives: on the CPUs of this machine, and on 16. Empty if that was not predicted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gains: Vec<Gain>,
    /// The rank of the finding that limits the program once this change is made, if that takes the gain away: both changes
    /// are to be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves_to: Option<u64>,
}

/// How many times as much the whole program does, with everything else as it was.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gain {
    /// The number of CPUs that it is for.
    pub cpus: u64,
    /// The least and the most that are to be expected.
    pub range: [f64; 2],
}
