//! The languages of sources.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A language in which a repair says what to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cpp,
    /// Rust.
    Rust,
    /// Go.
    Go,
    /// Java, and what else runs on its machine.
    Java,
    /// JavaScript and TypeScript.
    JavaScript,
}

impl Language {
    /// Whether the source alone orders members: C and C++.
    #[must_use]
    pub const fn is_c_family(self) -> bool {
        matches!(self, Self::C | Self::Cpp)
    }
}
