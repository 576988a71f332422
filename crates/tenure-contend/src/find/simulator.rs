//! The simulator as predictions use it: a bounded number of accesses for each figure, and an end when the caller says so.

use tenure_find::Point;
use tenure_sim::pattern::Pattern;
use tenure_sim::{Machine, Simulation};

/// How long a figure is simulated, at most: it ends once it has settled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Extent {
    /// The time that is simulated.
    nanoseconds: f64,
    /// The accesses that all threads do together.
    pub(super) accesses: u64,
}

impl Extent {
    /// Threads that sleep on a lock take so long to settle.
    pub(super) const OF_A_FINDING: Self = Self { nanoseconds: 100_000.0, accesses: 200_000 };
    /// What threads that sleep on one of several locks do varies more.
    pub(super) const OF_A_PROGRAM: Self = Self { nanoseconds: 400_000.0, accesses: 400_000 };
}

/// A figure that is known.
struct Known {
    pattern: Pattern,
    cpus: usize,
    extent: Extent,
    /// Iterations a second; none if it cannot be simulated.
    per_second: Option<f64>,
}

/// Simulates patterns on a machine.
pub(super) struct Simulator<'a> {
    name: &'a str,
    machine: Machine,
    go_on: &'a dyn Fn() -> bool,
    is_stopped: bool,
    known: Vec<Known>,
    /// Figures that were simulated, and accesses.
    effort: (u64, u64),
}

impl<'a> Simulator<'a> {
    /// `go_on` is asked before each figure.
    pub(super) fn new(machine: &'a Machine, go_on: &'a dyn Fn() -> bool) -> Self {
        /// A core works on so many accesses at once that hit, unless one needs what another loads.
        const OVERLAP: f64 = 4.0;
        let name = &machine.name;
        let mut machine = machine.clone();
        machine.latency.hit /= OVERLAP;
        Self { name, machine, go_on, is_stopped: false, known: Vec::new(), effort: (0, 0) }
    }

    pub(super) fn machine(&self) -> &str {
        self.name
    }

    /// Whether it was stopped: what it gave last is incomplete.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    #[cfg(test)]
    pub(super) fn effort(&self) -> (u64, u64) {
        self.effort
    }

    /// Throughput by number of CPUs, as far as it could be simulated.
    pub(super) fn points(
        &mut self,
        pattern: &Pattern,
        cpus: &[usize],
        extent: Extent,
    ) -> Vec<Point> {
        let most = cpus.last().map_or(0, |most| self.machine.cpus().min(*most));
        let smaller = cpus.iter().copied().filter(|cpus| *cpus < most);
        let mut point = |cpus: usize| {
            let per_second = self.per_second(pattern, cpus, extent)?;
            Some(Point { cpus: cpus as u64, per_second })
        };
        smaller.chain([most]).filter_map(&mut point).collect()
    }

    /// Iterations a second on so many CPUs, or on all if there are fewer.
    pub(super) fn judged(&mut self, pattern: &Pattern, cpus: usize) -> Option<f64> {
        self.per_second(pattern, cpus.min(self.machine.cpus()), Extent::OF_A_FINDING)
    }

    fn per_second(&mut self, pattern: &Pattern, cpus: usize, extent: Extent) -> Option<f64> {
        let is_it = |known: &&Known| {
            known.cpus == cpus && known.extent == extent && known.pattern == *pattern
        };
        if let Some(known) = self.known.iter().find(is_it) {
            return known.per_second;
        }
        self.is_stopped |= !(self.go_on)();
        if self.is_stopped {
            return None;
        }
        let simulated =
            pattern.simulate_until_settled(self.simulation(cpus, extent), extent.accesses);
        let report = simulated.ok().map(|prediction| prediction.report);
        self.effort.0 += 1;
        self.effort.1 += report.as_ref().map_or(0, |report| report.simulated);
        let per_second = report.map(|report| report.mops() * 1e6);
        self.known.push(Known { pattern: pattern.clone(), cpus, extent, per_second });
        per_second
    }

    fn simulation(&self, cpus: usize, extent: Extent) -> Simulation {
        let Extent { nanoseconds, .. } = extent;
        let simulation = self.machine.simulation(cpus).warm();
        simulation.warm_up_ns(nanoseconds / 4.0).duration_ns(nanoseconds)
    }
}
