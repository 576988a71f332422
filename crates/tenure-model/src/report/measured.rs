//! What `perf` has measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Samples of accesses to memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// All of them.
    pub samples: u64,
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
    /// Loads that found the line modified in another core's cache.
    pub hitm: u64,
    /// Such loads where that core is in another socket.
    pub remote_hitm: u64,
    /// The sum of their weights: mostly cycles of waiting.
    pub weight: u64,
}

impl Measured {
    /// How much of the most telling measure that all samples have: HITM, else weight, else their number.
    #[must_use]
    pub fn telling(&self, all: &Self) -> u64 {
        match all {
            Self { hitm: 1.., .. } => self.hitm,
            Self { weight: 1.., .. } => self.weight,
            _ => self.samples,
        }
    }

    /// Adds others to these.
    pub fn add(&mut self, other: &Self) {
        let Self { samples, loads, stores, hitm, remote_hitm, weight } = self;
        for (mine, other) in [
            (samples, other.samples),
            (loads, other.loads),
            (stores, other.stores),
            (hitm, other.hitm),
            (remote_hitm, other.remote_hitm),
            (weight, other.weight),
        ] {
            *mine = mine.saturating_add(other);
        }
    }
}

/// A recording of `perf` that was joined with the types.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recorded {
    /// Its path.
    pub path: String,
    /// Samples with an address of data: of all programs that were recorded, or that the text of `perf script` has.
    pub samples: u64,
    /// The samples in this program.
    pub program: Measured,
    /// Such samples whose member or variable is known.
    pub attributed: Measured,
    /// Where most of the others are: the path of what is mapped there, and how many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<Elsewhere>,
    /// The members and variables with the most, by HITM, then weight, then samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MeasuredMember>,
}

/// Samples in another file than the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Elsewhere {
    /// The file's path.
    pub path: String,
    /// How many.
    pub samples: u64,
}

/// What was measured of one member or variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredMember {
    /// The type that has the member; empty for a variable.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The member's path, or the variable.
    pub path: String,
    /// Bytes from the start of the type or of the variable.
    pub offset: u64,
    /// Its samples.
    pub measured: Measured,
}
