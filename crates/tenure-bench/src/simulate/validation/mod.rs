//! The simulator's accuracy: figures of others and of this project, beside the simulated ones.
//!
//! A machine has one set of parameters for all figures. Latencies come from core-to-core matrices; what is not
//! published (how long an owner keeps a contended line) is fitted once per machine, and its file says to what. Figures
//! that are far off are shown too.
//!
//! `docs/validation.md` is this list; a test writes and compares it.

mod figures;
mod operations;
pub(super) mod page;
mod table;

use super::calibrate::Ball;
use super::parallel;
use super::result::{ValidationCheck, WITHIN};
use super::row::{self, DEFAULT_SEED, SimulationPlan};
use crate::scenario::{BenchOperation, Looped};
use figures::PublishedFigure;
use std::sync::OnceLock;
use tenure::cache_line::CachePadded;
use tenure::memory::{Atomic, Memory};
use tenure_model::Remedy;
use tenure_sim::pattern::{self, Pattern};
use tenure_sim::{Machine, Simulated, SimulationReport};

pub use table::{markdown, summary, terminal};

const MEASURED_NS: f64 = 400e3;
const WARM_UP_NS: f64 = 100e3;

/// All figures, simulated at the first call: about a second, on all of the host's CPUs.
///
/// # Panics
///
/// Never: the machines and operations are compiled in, and a test runs them all.
#[must_use]
pub fn rows() -> Vec<ValidationCheck> {
    static ROWS: OnceLock<Vec<ValidationCheck>> = OnceLock::new();
    ROWS.get_or_init(|| parallel::map(figures::all(), check)).clone()
}

fn check(figure: PublishedFigure) -> ValidationCheck {
    let machine = Machine::preset(&figure.check.machine).expect("a test knows every machine here");
    let simulated = figure.simulated(&ValidationStage { machine, cpus: figure.check.cpus });
    figure.check.with(simulated)
}

impl ValidationCheck {
    pub(super) fn with(self, simulated: f64) -> Self {
        let [low, high] = self.published;
        let residual = simulated / simulated.clamp(low, high);
        let within = (1.0 / WITHIN..=WITHIN).contains(&residual);
        Self { simulated, residual, within, ..self }
    }
}

struct ValidationStage {
    machine: Machine,
    cpus: usize,
}

impl ValidationStage {
    fn run<O: BenchOperation + 'static>(&self) -> SimulationReport {
        self.run_on(Box::new(O::prepare()))
    }

    fn run_on(&self, object: Box<dyn Looped>) -> SimulationReport {
        let plan =
            SimulationPlan { warm_up_ns: WARM_UP_NS, measured_ns: MEASURED_NS, seed: DEFAULT_SEED };
        row::report(object, &self.machine, self.cpus, plan).expect("the operations end")
    }

    fn ns<O: BenchOperation + 'static>(&self) -> f64 {
        self.run::<O>().ns_per_op()
    }

    /// One way of a ball that the first and the last CPU play by compare-exchange.
    fn one_way_ns(&self) -> f64 {
        let word = CachePadded::new(<Simulated as Memory>::AtomicU32::new(0));
        let last = self.cpus - 1;
        let simulation = self.machine.simulation(self.cpus);
        let simulation = simulation.warm_up_ns(WARM_UP_NS).duration_ns(MEASURED_NS);
        let report = simulation.run(move |cpu| {
            let me = match cpu.index() {
                0 => 0,
                index if index == last => 1,
                _ => return,
            };
            while cpu.running() && Ball::Exchange.turn(&*word, me, || cpu.running()) {
                cpu.done();
            }
        });
        let report = report.expect("the players stop when the time is over");
        #[allow(clippy::cast_precision_loss, reason = "a few thousand")]
        let passes = report.operations as f64;
        report.ns / passes
    }

    /// How many times faster linear_regression ends with its threads' sums on lines of their own. Threads have equal
    /// numbers of points, and the slowest ends the job.
    fn padding_gain(&self) -> f64 {
        const POINTS: u64 = 2000;
        let text = include_str!("../../../patterns/linear_regression.toml");
        let packed = Pattern::from_toml(text).expect("a test reads it");
        let repairs = pattern::repairs(&packed);
        let apart =
            repairs.iter().find(|repair| repair.remedy == Remedy::Apart).expect("it is packed");
        let ns = |pattern: &Pattern| {
            pattern.job_ns(self.machine.simulation(self.cpus), POINTS).expect("its threads end")
        };
        ns(&packed) / ns(&apart.pattern)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_fifths_of_the_figures_are_reproduced_and_the_others_are_explained() {
        let rows = rows();
        let reproduced = rows.iter().filter(|row| row.within).count();
        assert!(reproduced * 5 >= rows.len() * 4, "{}", markdown(&rows));
        for row in rows {
            assert!(row.within || !row.note.is_empty(), "{row:?}");
            assert!(row.residual.is_finite() && !row.source.is_empty(), "{row:?}");
        }
    }

    #[test]
    fn the_committed_table_is_what_the_simulator_says() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/validation.md");
        tenure_report::json::check_committed(path.as_ref(), &markdown(&rows()));
    }
}
