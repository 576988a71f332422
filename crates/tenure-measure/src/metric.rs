//! What a run achieved, from what it printed.

use tenure_model::Better;

/// A figure that a run printed of one of its benchmarks.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The benchmark's name; empty if the output has one figure only.
    pub name: String,
    /// The figure, in `unit`.
    pub value: f64,
    /// Its unit: `ns`, `ops/s`.
    pub unit: String,
    /// Which figure is the better one.
    pub better: Better,
}
