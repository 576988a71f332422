//! Why a file could not be used, in one line.

use std::fmt;
use std::path::Path;

/// Why a file could not be used: what failed, on what, and what to do next. Shows as one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError(String);

impl InputError {
    pub(crate) fn new(line: &str) -> Self {
        // Parsers quote what they read, and some use several lines.
        Self(line.lines().collect::<Vec<_>>().join(", ").replace(char::is_control, "\u{fffd}"))
    }

    /// What a file says.
    pub(crate) fn text_of(path: &Path) -> Result<String, Self> {
        std::fs::read_to_string(path)
            .map_err(|error| Self::new(&format!("cannot read {}: {error}", path.display())))
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for InputError {}
