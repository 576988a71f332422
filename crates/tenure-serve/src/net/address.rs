//! [`Address`]: where a server listens.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// At an internet address. Port 0 lets the system choose one.
    Internet(SocketAddr),
    /// At a path of the file system, for clients of this machine.
    Unix(PathBuf),
}

impl Address {
    /// The internet address, if it is one.
    #[must_use]
    pub fn internet(&self) -> Option<SocketAddr> {
        match self {
            Self::Internet(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Internet(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Internet(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}
