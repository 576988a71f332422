//! [`Running`]: a server from start to stop. [`Summary`]: what happened on it.

use std::fmt::{self, Write as _};
use std::io;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::net::{Address, Server, Shared};

type Figures = Vec<(&'static str, u64)>;

/// A server of one of the protocols. Its drop stops it.
pub struct Running {
    /// The event loop.
    pub server: Server,
    protocol: &'static str,
    figures: Box<dyn Fn() -> Figures>,
}

impl Running {
    /// `figures` are what the protocol counts.
    pub(crate) fn new(
        server: Server,
        protocol: &'static str,
        figures: impl Fn() -> Figures + 'static,
    ) -> Self {
        Self { server, protocol, figures: Box::new(figures) }
    }

    /// Stops the server, and returns what happened on it.
    pub fn stop(self) -> (io::Result<()>, Summary) {
        let shared = Arc::clone(self.server.shared());
        let ended = self.server.stop();
        (ended, Summary::of(self.protocol, &shared, (self.figures)()))
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("protocol", &self.protocol).finish_non_exhaustive()
    }
}

pub(crate) fn not_listening(address: &Address, error: &io::Error) -> String {
    let hint = match error.kind() {
        io::ErrorKind::AddrInUse if address.internet().is_none() => {
            "; another server answers there, or the file is no socket: remove it, or choose another path"
        }
        io::ErrorKind::AddrInUse => "; choose another, or port 0 for any that is free",
        io::ErrorKind::AddrNotAvailable => {
            "; listen at an address of this machine, or at all of them: 0.0.0.0 or [::]"
        }
        _ => "",
    };
    format!("cannot listen at {address}: {error}{hint}")
}

/// The version of the JSON.
pub const SCHEMA: &str = "tenure-serve/1";

/// What happened on a server so far.
///
/// As JSON, an object with `schema`, `protocol`, `figures` (names and whole numbers) and, where acquires were timed,
/// `acquire_ns` (`count`, `p50`, `p90`, `p99`, `p999`, `max`).
#[derive(Debug, Clone)]
pub struct Summary {
    protocol: String,
    figures: Figures,
    /// Acquire times, if taken: names and nanoseconds.
    acquires: Figures,
}

impl Summary {
    /// What the event loop counted, and what the protocol did.
    pub(crate) fn of(protocol: &str, shared: &Shared, figures: Figures) -> Self {
        let figures = shared.statistics().named().chain(figures).collect();
        let acquires = shared.acquires();
        let mut acquired = Vec::new();
        if !acquires.is_empty() {
            acquired.push(("count", acquires.len()));
            for (name, quantile) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)] {
                acquired.push((name, acquires.value_at_quantile(quantile)));
            }
            acquired.push(("max", acquires.max()));
        }
        Self { protocol: protocol.to_owned(), figures, acquires: acquired }
    }

    /// A line for each figure.
    #[must_use]
    pub fn text(&self) -> String {
        let width = self.figures.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let mut text = String::new();
        for (name, figure) in &self.figures {
            let _ = writeln!(text, "{name:width$}  {figure:>15}");
        }
        for (name, figure) in &self.acquires {
            let unit = if *name == "count" { "" } else { " ns" };
            let _ = writeln!(text, "{:width$}  {figure:>15}{unit}", format!("acquire {name}"));
        }
        text
    }

    /// All of it as JSON.
    #[must_use]
    pub fn json(&self) -> String {
        let object = |figures: &[(&str, u64)]| -> Map<String, Value> {
            figures.iter().map(|(name, figure)| ((*name).to_owned(), json!(figure))).collect()
        };
        let figures = object(&self.figures);
        let mut all = json!({ "schema": SCHEMA, "protocol": self.protocol, "figures": figures });
        if !self.acquires.is_empty() {
            all["acquire_ns"] = Value::Object(object(&self.acquires));
        }
        format!("{all:#}\n")
    }
}
