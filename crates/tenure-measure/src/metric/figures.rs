//! The readings so far, and what makes a figure worth reading.

use std::collections::{HashMap, HashSet};

use tenure_model::Better;

use super::unit::FigureUnit;

/// A figure that a run printed of one of its benchmarks.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The benchmark's name; empty if the output has one figure only. A further figure of `x` is named `x (p50)` or
    /// `x (MB/s)`.
    pub name: String,
    /// The figure, in `unit`: finite, and above 0.
    pub value: f64,
    /// Its unit: `ns`, `ops/s`; empty if unknown.
    pub unit: String,
    /// Which figure is the better one.
    pub better: Better,
}

/// The readings so far.
#[derive(Default)]
pub(super) struct Figures {
    readings: Vec<Reading>,
    /// Names of rates that a tool computed from a time.
    derived: HashSet<String>,
}

impl Figures {
    /// Adds a figure, unless it is no finite number above zero, or of a unit that does not say which figure is better.
    pub(super) fn add(&mut self, name: &str, value: Option<f64>, unit: &str) {
        if let (Some(value), Some(unit)) = (value, FigureUnit::of(unit)) {
            self.push(name, value, unit);
        }
    }

    /// Adds a further figure of a benchmark.
    pub(super) fn add_beside(&mut self, name: &str, what: &str, value: Option<f64>, unit: &str) {
        self.add(&beside(name, what), value, unit);
    }

    /// Adds a rate that a tool computed from the time of a benchmark.
    pub(super) fn add_derived(&mut self, name: &str, what: &str, value: Option<f64>, unit: &str) {
        self.derived.insert(beside(name, what));
        self.add_beside(name, what, value, unit);
    }

    /// Adds a figure of a known unit.
    pub(super) fn push(&mut self, name: &str, value: f64, unit: FigureUnit) {
        let value = value * unit.factor;
        if value.is_finite() && value > 0.0 {
            let name = shown(name);
            self.readings.push(Reading { name, value, unit: unit.name, better: unit.better });
        }
    }

    /// Removes all figures of a benchmark.
    pub(super) fn remove(&mut self, name: &str) {
        let beside = format!("{name} (");
        self.readings.retain(|it| it.name != name && !it.name.starts_with(&beside));
    }

    /// The readings, each with a name of its own; with or without the derived ones.
    pub(super) fn readings(mut self, with_derived: bool) -> Vec<Reading> {
        self.readings.retain(|it| with_derived || !self.derived.contains(&it.name));
        let mut names: HashSet<_> = self.readings.iter().map(|it| it.name.clone()).collect();
        let mut last: HashMap<String, usize> = HashMap::new();
        for reading in &mut self.readings {
            let last = last.entry(reading.name.clone()).or_default();
            *last += 1;
            while *last > 1 && !names.insert(format!("{} #{last}", reading.name)) {
                *last += 1;
            }
            if *last > 1 {
                reading.name = format!("{} #{last}", reading.name);
            }
        }
        self.readings
    }
}

fn beside(name: &str, what: &str) -> String {
    shown(&format!("{} ({what})", name.trim()))
}

fn shown(name: &str) -> String {
    name.trim().replace(char::is_control, " ")
}
