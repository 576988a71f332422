//! Places in the code of a program.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A place in the code.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Code {
    /// The function; empty where it is not known.
    pub function: String,
    /// `file:line`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The line of source itself, without the spaces around it, where the file could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}
