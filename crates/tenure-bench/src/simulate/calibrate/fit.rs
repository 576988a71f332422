//! Fits the simulator's figures to measured times, by simulating the measured loops.
//!
//! A ping-pong does not show a latency, as the next exchange waits at the line until it is free; residency and handoff
//! show only in what several CPUs do to one line. So the three are searched together, until the ping-pongs and the
//! fetch_add of the nearest two cores, and the fetch_add on all CPUs, take as long simulated as measured. Farther
//! classes' latencies follow, each from its ping-pong.

use super::measure::{self, Ball};
use super::shape::DistanceClass;
use std::sync::Arc;
use tenure::cache_line::CachePadded;
use tenure::memory::{Atomic, Memory, Ordering};
use tenure_report::stats::median;
use tenure_sim::machine::{AtomicKind, Distance, TimeRange, Topology};
use tenure_sim::{Cpu, Machine, Simulated, SimulationError, SimulationReport};

type FittedWord = <Simulated as Memory>::AtomicU32;

/// Times in nanoseconds.
#[derive(Debug, Clone)]
pub(super) struct ObservedTimes {
    /// The nearest class first.
    pub(super) pairs: Vec<Pair>,
    /// The number of all CPUs, if more than two, and a fetch_add on one word on each.
    pub(super) all: Option<(usize, f64)>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub(super) class: DistanceClass,
    /// One way of a ping-pong by exchange.
    pub(super) exchange: f64,
    /// One way of a ping-pong by load and store.
    pub(super) store: f64,
    /// A fetch_add on one word, on each.
    pub(super) add: f64,
}

impl Pair {
    /// Medians over `pairs`.
    pub(super) fn measured(class: DistanceClass, pairs: &[[usize; 2]]) -> Self {
        let over = |of: fn([usize; 2]) -> f64| {
            let values: Vec<f64> = pairs.iter().map(|&pair| of(pair)).collect();
            median(&values).expect("a class has pairs")
        };
        Self {
            class,
            exchange: over(|pair| measure::ping_pong(Ball::Exchange, pair)),
            store: over(|pair| measure::ping_pong(Ball::Store, pair)),
            add: over(|pair| measure::fetch_add(&pair)),
        }
    }
}

impl ObservedTimes {
    pub(super) fn nearest(&self) -> Option<&Pair> {
        self.pairs.iter().find(|pair| pair.class != DistanceClass::Sibling)
    }
}

/// `machine` with the latencies, the residency and the handoff that fit best.
pub(super) fn fitted(
    machine: Machine,
    observed: &ObservedTimes,
) -> Result<Machine, SimulationError> {
    let Some(nearest) = observed.nearest() else {
        return with_farther(machine, observed, DistanceClass::Cluster);
    };
    let mut best: Option<(f64, Machine)> = None;
    for start in Knobs::starts(&machine, nearest) {
        let (error, knobs) = searched(start, |knobs, most| {
            error(&knobs.set(&machine, nearest.class), observed, nearest, most)
        })?;
        if best.as_ref().is_none_or(|(least, _)| error < *least) {
            best = Some((error, knobs.set(&machine, nearest.class)));
        }
    }
    let (_, best) = best.expect("there are places to start from");
    with_farther(best, observed, nearest.class)
}

#[derive(Debug, Clone, Copy)]
struct Knobs {
    latency: f64,
    residency: f64,
    handoff: f64,
    /// The machine's least residency.
    least: f64,
}

impl Knobs {
    fn starts(machine: &Machine, pair: &Pair) -> [Self; 2] {
        // Below, no store-conditional ever succeeds.
        let reserved = machine.atomic.kind == AtomicKind::Reserved;
        let least = machine.atomic.rmw * if reserved { 0.6 } else { 0.1 };
        let start = |rmws: f64, handoff: f64| Self {
            latency: pair.exchange,
            residency: machine.atomic.rmw * rmws,
            handoff,
            least,
        };
        [start(1.0, 0.5), start(4.0, 0.7)]
    }

    fn set(self, machine: &Machine, class: DistanceClass) -> Machine {
        let mut machine = machine.clone();
        set_latency(&mut machine, class, rounded(self.latency));
        machine.contention.residency = rounded(self.residency);
        machine.contention.handoff = (self.handoff * 1e3).round() / 1e3;
        machine
    }

    /// One figure moved, up or down.
    fn neighbours(self, step: f64) -> [Self; 6] {
        let up = 1.0 + step;
        let residency = |residency: f64| residency.max(self.least);
        let handoff = |handoff: f64| handoff.clamp(0.1, 1.0);
        [
            Self { latency: self.latency * up, ..self },
            Self { latency: self.latency / up, ..self },
            Self { residency: residency(self.residency * up), ..self },
            Self { residency: residency(self.residency / up), ..self },
            Self { handoff: handoff(self.handoff + step / 2.0), ..self },
            Self { handoff: handoff(self.handoff - step / 2.0), ..self },
        ]
    }
}

/// A pattern search: moves to a better neighbour, and halves its steps where none is. `error` may give up beyond the
/// given error.
fn searched(
    start: Knobs,
    error: impl Fn(Knobs, f64) -> Result<f64, SimulationError>,
) -> Result<(f64, Knobs), SimulationError> {
    let mut best = (error(start, f64::INFINITY)?, start);
    let mut step = 0.6;
    while step > 0.02 {
        let from = best;
        for knobs in from.1.neighbours(step) {
            let error = error(knobs, best.0)?;
            if error < best.0 {
                best = (error, knobs);
            }
        }
        if best.0 >= from.0 {
            step /= 2.0;
        }
    }
    Ok(best)
}

fn with_farther(
    mut machine: Machine,
    observed: &ObservedTimes,
    fitted: DistanceClass,
) -> Result<Machine, SimulationError> {
    for pair in observed.pairs.iter().filter(|pair| pair.class != fitted) {
        let latency = fitting_latency(&machine, pair)?;
        set_latency(&mut machine, pair.class, latency);
    }
    Ok(machine)
}

fn fitting_latency(machine: &Machine, pair: &Pair) -> Result<f64, SimulationError> {
    let latency = bisected(pair.exchange / 10.0, pair.exchange * 10.0, |latency| {
        let mut machine = machine.clone();
        set_latency(&mut machine, pair.class, latency);
        Ok(ping_pong(&two(&machine, pair.class), Ball::Exchange)? > pair.exchange)
    })?;
    Ok(rounded(latency))
}

fn set_latency(machine: &mut Machine, class: DistanceClass, latency: f64) {
    let span = TimeRange::Fixed(latency);
    let latency = &mut machine.latency;
    match class {
        DistanceClass::Sibling => latency.sibling = Some(span),
        DistanceClass::Cluster => latency.cluster = span,
        DistanceClass::Socket => latency.socket = Some(span),
        DistanceClass::Remote => latency.remote = Some(span),
    }
}

/// Two CPUs a class apart, as a machine of their own.
pub(super) fn two(machine: &Machine, class: DistanceClass) -> Machine {
    let mut two = machine.clone();
    two.topology = Topology { sockets: 1, clusters: 1, cores: 2, smt: 1 };
    let latency = &mut two.latency;
    match class {
        DistanceClass::Sibling => two.topology = Topology { cores: 1, smt: 2, ..two.topology },
        DistanceClass::Cluster => {}
        DistanceClass::Socket => latency.cluster = latency.socket.unwrap_or(latency.cluster),
        DistanceClass::Remote => latency.cluster = latency.remote.unwrap_or(latency.cluster),
    }
    two
}

/// 0 is a perfect fit. Errors above `most` may be cut short.
fn error(
    machine: &Machine,
    observed: &ObservedTimes,
    nearest: &Pair,
    most: f64,
) -> Result<f64, SimulationError> {
    let off = |simulated: f64, measured: f64| (simulated / measured).ln().powi(2);
    let together = two(machine, nearest.class);
    let mut error = off(ping_pong(&together, Ball::Exchange)?, nearest.exchange);
    error += off(ping_pong(&together, Ball::Store)?, nearest.store);
    error += off(add(&together, 2)?, nearest.add);
    if let Some((cpus, measured)) = observed.all
        && error < most
    {
        let machine = with_farther(machine.clone(), observed, nearest.class)?;
        error += off(add(&machine, cpus)?, measured);
    }
    Ok(error)
}

/// Where `is_too_much` begins, on a scale of ratios.
fn bisected(
    mut low: f64,
    mut high: f64,
    is_too_much: impl Fn(f64) -> Result<bool, SimulationError>,
) -> Result<f64, SimulationError> {
    const STEPS: usize = 11;
    for _ in 0..STEPS {
        let middle = (low * high).sqrt();
        if is_too_much(middle)? {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok((low * high).sqrt())
}

/// Rounds to a hundredth of a nanosecond, finer than what is known.
pub(super) fn rounded(ns: f64) -> f64 {
    ((ns * 100.0).round() / 100.0).max(0.01)
}

pub(super) fn ping_pong(machine: &Machine, ball: Ball) -> Result<f64, SimulationError> {
    let report = simulated(machine, 2, move |word, cpu| {
        let me = u32::from(cpu.index() == 1);
        while cpu.running() && ball.turn(word, me, || cpu.running()) {
            cpu.done();
        }
    })?;
    Ok(report.ns_per_op() / 2.0)
}

pub(super) fn add(machine: &Machine, cpus: usize) -> Result<f64, SimulationError> {
    let report = simulated(machine, cpus, |word, cpu| {
        while cpu.running() {
            // Relaxed: as measured.
            word.fetch_add(1, Ordering::Relaxed);
            cpu.done();
        }
    })?;
    Ok(report.ns_per_op())
}

fn simulated(
    machine: &Machine,
    threads: usize,
    thread: impl Fn(&FittedWord, &Cpu) + Send + 'static,
) -> Result<SimulationReport, SimulationError> {
    let word = Arc::new(CachePadded::new(FittedWord::new(0)));
    let longest = Distance::ALL.map(|distance| machine.latency(distance).high());
    let ns = longest.into_iter().fold(50_000.0, |ns: f64, latency| ns.max(latency * 200.0));
    let simulation = machine.simulation(threads).warm_up_ns(ns / 10.0).duration_ns(ns);
    simulation.run(move |cpu| thread(&word, cpu))
}
