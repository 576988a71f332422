//! [`Running`]: a server and what its protocol counts.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::net::{Address, Server};
use crate::summary::Summary;

/// A server of one of the protocols. Its drop stops it.
pub struct Running {
    /// The event loop.
    pub server: Server,
    protocol: &'static str,
    figures: Box<dyn Fn(&mut Summary)>,
}

impl Running {
    /// `figures` adds what the protocol counts.
    pub(crate) fn new(
        server: Server,
        protocol: &'static str,
        figures: impl Fn(&mut Summary) + 'static,
    ) -> Self {
        Self { server, protocol, figures: Box::new(figures) }
    }

    /// Stops the server, and tells what happened on it.
    pub fn stop(self) -> (io::Result<()>, Summary) {
        let shared = Arc::clone(self.server.shared());
        let ended = self.server.stop();
        let mut summary = Summary::of(self.protocol, &shared);
        (self.figures)(&mut summary);
        (ended, summary)
    }
}

/// The line for an address that cannot be listened at.
pub(crate) fn not_listening(address: &Address, error: &io::Error) -> String {
    let hint = match error.kind() {
        io::ErrorKind::AddrInUse if address.internet().is_none() => {
            "; another server answers there, or the file is no socket: remove it, or choose another path"
        }
        io::ErrorKind::AddrInUse => "; choose another, or port 0 for any that is free",
        io::ErrorKind::AddrNotAvailable => {
            "; this machine does not have it; 0.0.0.0 and [::] are all it has"
        }
        _ => "",
    };
    format!("cannot listen at {address}: {error}{hint}")
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("protocol", &self.protocol).finish_non_exhaustive()
    }
}
