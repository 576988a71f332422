//! The simulator as predictions use it: a bounded number of accesses for each figure, and an end when the caller says so.

use tenure_model::Point;
use tenure_sim::Machine;
use tenure_sim::pattern::Pattern;

/// The time that a figure is simulated, at most: threads that sleep on a lock take so long to settle.
const NANOSECONDS: f64 = 400_000.0;
/// The accesses that all threads do together for it, at most.
pub(crate) const MAX_ACCESSES: u64 = 100_000;

/// A figure that is known.
struct KnownFigure {
    pattern: Pattern,
    cpus: usize,
    /// Iterations a second; none if it cannot be simulated.
    per_second: Option<f64>,
}

/// Simulates patterns on a machine.
pub(crate) struct Simulator<'a> {
    name: &'a str,
    machine: Machine,
    go_on: &'a dyn Fn() -> bool,
    is_stopped: bool,
    known: Vec<KnownFigure>,
    /// Figures that were simulated, and accesses.
    effort: (u64, u64),
}

impl<'a> Simulator<'a> {
    /// `go_on` is asked before each figure.
    pub(crate) fn new(machine: &'a Machine, go_on: &'a dyn Fn() -> bool) -> Self {
        /// A core works on so many accesses at once that hit, unless one needs what another loads.
        const OVERLAP: f64 = 4.0;
        let name = &machine.name;
        let mut machine = machine.clone();
        machine.latency.hit /= OVERLAP;
        Self { name, machine, go_on, is_stopped: false, known: Vec::new(), effort: (0, 0) }
    }

    pub(crate) fn machine(&self) -> &str {
        self.name
    }

    pub(crate) fn cpus(&self) -> usize {
        self.machine.cpus()
    }

    /// Whether it was stopped: what it gave last is incomplete.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    #[cfg(test)]
    pub(crate) fn effort(&self) -> (u64, u64) {
        self.effort
    }

    /// Throughput by number of CPUs, as far as it could be simulated.
    pub(crate) fn points(&mut self, pattern: &Pattern, cpus: &[usize]) -> Vec<Point> {
        let most = cpus.last().map_or(0, |most| self.machine.cpus().min(*most));
        let smaller = cpus.iter().copied().filter(|cpus| *cpus < most);
        let mut point = |cpus: usize| {
            let per_second = self.per_second(pattern, cpus)?;
            Some(Point { cpus: cpus as u64, per_second })
        };
        smaller.chain([most]).filter_map(&mut point).collect()
    }

    /// Iterations a second on so many CPUs, or on all if there are fewer.
    pub(crate) fn judged(&mut self, pattern: &Pattern, cpus: usize) -> Option<f64> {
        self.per_second(pattern, cpus.min(self.machine.cpus()))
    }

    fn per_second(&mut self, pattern: &Pattern, cpus: usize) -> Option<f64> {
        let is_it = |known: &&KnownFigure| known.cpus == cpus && known.pattern == *pattern;
        if let Some(known) = self.known.iter().find(is_it) {
            return known.per_second;
        }
        self.is_stopped |= !(self.go_on)();
        if self.is_stopped {
            return None;
        }
        let simulation = self.machine.simulation(cpus).warm();
        let simulation = simulation.warm_up_ns(NANOSECONDS / 4.0).duration_ns(NANOSECONDS);
        let simulated = pattern.simulate_until_settled(simulation, MAX_ACCESSES);
        let report = simulated.ok().map(|prediction| prediction.report);
        self.effort.0 += 1;
        self.effort.1 += report.as_ref().map_or(0, |report| report.simulated);
        let per_second = report.map(|report| report.mops() * 1e6);
        self.known.push(KnownFigure { pattern: pattern.clone(), cpus, per_second });
        per_second
    }
}
