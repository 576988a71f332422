//! The languages of sources.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A language in which a repair says what to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// C or C++.
    C,
    /// Rust.
    Rust,
}
