//! Changes of source files, as an editor makes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A piece of a source file, and what takes its place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SourceEdit {
    /// The file.
    pub file: String,
    /// Where the piece begins and where it ends, in bytes from the file's start. An insertion's are equal.
    pub range: [u64; 2],
    /// What takes its place.
    pub text: String,
}
