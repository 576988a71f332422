//! Why something could not be read, in one line.

use std::fmt;
use std::io;
use std::path::Path;

/// Why a file could not be analysed: what failed, on what, and what to do next. Shows as one line.
#[derive(Debug)]
pub struct Error(String);

impl Error {
    /// With the line to show. It starts with a small letter and ends without a full stop.
    pub fn new(line: impl Into<String>) -> Self {
        Self(one_line(line.into()))
    }

    /// A file that the system does not let us read.
    #[must_use]
    pub fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self::new(format!("cannot read {}: {error}", path.display()))
    }

    /// A file whose contents are not what they should be.
    #[must_use]
    pub fn malformed(path: &Path, what: &impl fmt::Display) -> Self {
        Self::new(format!("{} is malformed: {what}", path.display()))
    }
}

/// Names from a hostile file may hold anything, line breaks and escape sequences included.
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
