//! [`Error`]: one line.

use std::fmt;
use std::io;
use std::path::Path;

/// Why a file could not be analysed: what failed, on what, and what to do next. Shows as one line.
#[derive(Debug)]
pub struct Error(String);

impl Error {
    /// `line` starts with a small letter and ends without a full stop.
    pub fn new(line: impl Into<String>) -> Self {
        Self(one_line(line.into()))
    }

    /// The system does not let us read the file.
    #[must_use]
    pub fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self::new(format!("cannot read {}: {error}", path.display()))
    }

    /// The file's contents are wrong.
    #[must_use]
    pub fn malformed(path: &Path, what: &impl fmt::Display) -> Self {
        Self::new(format!("{} is malformed: {what}", path.display()))
    }
}

/// Names from a hostile file may hold line breaks and escape sequences.
pub(crate) fn one_line(text: String) -> String {
    if !text.contains(char::is_control) {
        return text;
    }
    text.replace(char::is_control, "\u{fffd}")
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {}
