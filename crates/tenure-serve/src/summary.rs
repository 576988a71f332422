//! [`Summary`]: what happened on a server, by eye and for machines.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::net::Shared;

/// The version of the JSON.
pub const SCHEMA: &str = "tenure-serve/1";

/// What happened on a server so far: figures with names.
///
/// As JSON, an object with `schema`, `protocol`, `figures` (names and whole numbers) and, where
/// acquires were timed, `acquire_ns` (`count`, `p50`, `p90`, `p99`, `p999`, `max`).
#[derive(Debug, Clone)]
pub struct Summary {
    protocol: String,
    figures: Vec<(String, u64)>,
    /// How long acquires of buffers took, where that was timed: names and nanoseconds.
    acquires: Vec<(&'static str, u64)>,
}

impl Summary {
    /// What the event loop counted.
    #[must_use]
    pub fn of(protocol: &str, shared: &Shared) -> Self {
        let figures = shared.statistics().named();
        let acquires = shared.acquires();
        let acquires = if acquires.is_empty() {
            Vec::new()
        } else {
            let at = |quantile| acquires.value_at_quantile(quantile);
            vec![
                ("count", acquires.len()),
                ("p50", at(0.5)),
                ("p90", at(0.9)),
                ("p99", at(0.99)),
                ("p999", at(0.999)),
                ("max", acquires.max()),
            ]
        };
        Self {
            protocol: protocol.to_owned(),
            figures: figures.map(|(name, figure)| (name.to_owned(), figure)).to_vec(),
            acquires,
        }
    }

    /// Adds what the protocol counted.
    pub fn add(&mut self, name: &str, figure: u64) {
        self.figures.push((name.to_owned(), figure));
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
        let figures: Map<String, Value> =
            self.figures.iter().map(|(name, figure)| (name.clone(), json!(figure))).collect();
        let mut all = json!({ "schema": SCHEMA, "protocol": self.protocol, "figures": figures });
        if !self.acquires.is_empty() {
            let acquires: Map<String, Value> = self
                .acquires
                .iter()
                .map(|(name, figure)| ((*name).to_owned(), json!(figure)))
                .collect();
            all["acquire_ns"] = Value::Object(acquires);
        }
        format!("{all:#}\n")
    }
}
