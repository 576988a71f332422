//! The list: what was measured, by whom, and what simulates it.

mod host;
mod matrix;
mod published;

use super::Stage;

/// A figure that was measured.
#[derive(Debug, Clone)]
pub(super) struct Figure {
    pub(super) family: &'static str,
    pub(super) what: &'static str,
    pub(super) machine: &'static str,
    pub(super) cpus: usize,
    pub(super) unit: &'static str,
    /// Both ends are the same, or those of a range.
    pub(super) published: [f64; 2],
    pub(super) source: &'static str,
    pub(super) simulate: fn(&Stage) -> f64,
    /// Whether a parameter of the machine was fitted to it, or taken from it.
    pub(super) fitted: bool,
    /// Why it is off, as far as known.
    pub(super) note: &'static str,
}

/// A figure at a number of threads, in nanoseconds per operation and thread.
type At = (usize, f64);

/// What was measured of one operation on one machine.
struct Curve {
    family: &'static str,
    what: &'static str,
    machine: &'static str,
    source: &'static str,
    simulate: fn(&Stage) -> f64,
    points: &'static [At],
    /// The numbers of threads to which a parameter of the machine was fitted.
    fitted: &'static [usize],
}

impl Curve {
    fn figures(&self) -> impl Iterator<Item = Figure> {
        self.points.iter().map(|&(cpus, ns)| Figure {
            family: self.family,
            what: self.what,
            machine: self.machine,
            cpus,
            unit: "ns",
            published: [ns, ns],
            source: self.source,
            simulate: self.simulate,
            fitted: self.fitted.contains(&cpus),
            note: "",
        })
    }
}

/// All figures.
pub(super) fn all() -> Vec<Figure> {
    published::all().chain(matrix::all()).chain(host::all()).collect()
}
