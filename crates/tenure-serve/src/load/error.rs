//! Why there was no run, in one line.

use std::fmt::{self, Display};

use rustix::io::Errno;

/// Why there was no run: what failed, on what, and what to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    /// With that line.
    pub(crate) fn new(line: impl Into<String>) -> Self {
        Self(line.into())
    }

    /// The system does not do what every run needs.
    pub(crate) fn system(error: Errno) -> Self {
        let hint = match error {
            Errno::MFILE | Errno::NFILE => "; use fewer clients, or raise the limit (`ulimit -n`)",
            Errno::NOBUFS | Errno::NOMEM => "; use fewer clients",
            _ => "",
        };
        Self(format!("cannot make connections: {}{hint}", std::io::Error::from(error)))
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
