//! This machine as a simulated one: measured for a few seconds, and fitted.
//!
//! ```text
//! /sys ──> places ──> topology
//!                       │
//! pairs of CPUs ──> ping-pong ───────────────┐
//! all of them ────> contended fetch_add ─────┴─> fit ──> latencies, residency, handoff
//! one CPU ────────> loads, fetch_add, memory ───────────> hit, rmw, memory
//! membarrier ───────────────────────────────────────────> interrupts
//! futex ────────────────────────────────────────────────> wake-ups
//! ```
//!
//! A figure is known by its effect on a program: the fit runs the measured loops in the simulator until both agree.
//! Figures that cannot be measured, such as those of a second core where the process may use one CPU, are assumed, and
//! the machine's `sources` say so.

mod fit;
#[cfg(target_os = "linux")]
mod kernel;
mod measure;
mod shape;

pub(super) use measure::Ball;

use fit::{ObservedTimes, Pair, rounded};
use shape::DistanceClass;
use tenure_model::Progress;
use tenure_report::machine::{self, CpuPlace};
use tenure_report::numbers::counted;
use tenure_sim::Machine;
use tenure_sim::machine::{
    Arbitration, AtomicCost, AtomicKind, Contention, Kernel, Latency, THIS, TimeRange, Topology,
};

const PAIRS: usize = 4;

/// Measures the machine that the calling thread runs on, as far as the process may use it.
///
/// Takes a few seconds, in which nothing else should run. The calling thread's affinity stays.
///
/// # Errors
///
/// More CPUs than can be simulated, or no memory for the simulation.
pub fn this_machine(progress: &dyn Progress) -> Result<Machine, tenure_sim::SimulationError> {
    calibrate(&machine::places(), progress)
}

fn calibrate(
    places: &[CpuPlace],
    progress: &dyn Progress,
) -> Result<Machine, tenure_sim::SimulationError> {
    let topology = shape::topology(places);
    let pairs = shape::pairs(places, PAIRS);
    let cpus: Vec<usize> = places.iter().map(|place| place.cpu).collect();
    let steps = CalibrationSteps(progress);
    progress.begin("measuring", pairs.len() as u64 + 5);

    let alone = steps.next("one CPU", 1, || AloneTimes::measured(&cpus[..1]));
    let memory = steps.next("memory", 1, || rounded(measure::memory(&cpus[..1])));
    let mut observed = ObservedTimes { pairs: Vec::new(), all: None };
    for (class, pairs) in &pairs {
        observed.pairs.push(steps.next("two CPUs", 2, || Pair::measured(*class, pairs)));
    }
    observed.all = steps.next("all CPUs", cpus.len(), || {
        (cpus.len() > 2).then(|| (cpus.len(), measure::fetch_add(&cpus)))
    });
    #[cfg(target_os = "linux")]
    let kernel = steps.next("membarrier", cpus.len(), || kernel::measured(&cpus));
    #[cfg(not(target_os = "linux"))]
    let kernel = steps.next("defaults of the kernel", cpus.len(), Kernel::default);

    let blank = blank(topology, alone, memory, kernel);
    blank.check()?;
    let machine = steps.next("fit", cpus.len(), || fit::fitted(blank, &observed))?;
    progress.end();
    let machine = Machine { sources: sources(&machine, &observed), ..machine };
    machine.check()?;
    Ok(machine)
}

/// Times of one CPU by itself, in nanoseconds.
#[derive(Clone, Copy)]
struct AloneTimes {
    load: f64,
    fetch_add: f64,
    pause: f64,
}

impl AloneTimes {
    fn measured(cpu: &[usize]) -> Self {
        Self {
            load: rounded(measure::load(cpu)),
            fetch_add: rounded(measure::fetch_add(cpu)),
            pause: rounded(measure::pause(cpu)),
        }
    }
}

/// Steps of about equal length.
struct CalibrationSteps<'a>(&'a dyn Progress);

impl CalibrationSteps<'_> {
    fn next<T>(&self, what: &str, threads: usize, step: impl FnOnce() -> T) -> T {
        self.0.at(what, &counted(threads, "CPU"));
        let result = step();
        self.0.advance(1);
        result
    }
}

/// Before the fit, with guessed latencies in proportion to the memory's.
fn blank(topology: Topology, alone: AloneTimes, memory: f64, kernel: Kernel) -> Machine {
    let guess = |needed: bool, share: f64| needed.then_some(TimeRange::Fixed(memory * share));
    let described = machine::describe();
    let processor = if described.cpu.is_empty() { described.arch } else { described.cpu };
    let under = match described.virtualisation.as_str() {
        "" | "none" => String::new(),
        named => format!(", {named}"),
    };
    Machine {
        name: THIS.to_owned(),
        about: format!("This machine: {processor}{under}, as far as this process may use it"),
        sources: Vec::new(),
        topology,
        latency: Latency {
            hit: alone.load,
            sibling: guess(topology.smt > 1, 0.1),
            cluster: TimeRange::Fixed(memory * 0.5),
            socket: guess(topology.clusters > 1, 1.0),
            remote: guess(topology.sockets > 1, 1.5),
            memory: TimeRange::Fixed(memory),
        },
        atomic: AtomicCost { rmw: alone.fetch_add, kind: kind(), home: None },
        contention: Contention {
            arbitration: Arbitration::Random,
            residency: alone.fetch_add,
            handoff: 0.5,
            directory: 2.0,
            pause: alone.pause,
        },
        kernel,
    }
}

/// How this processor does a read-modify-write whose result is used.
fn kind() -> AtomicKind {
    #[cfg(target_arch = "aarch64")]
    if !std::arch::is_aarch64_feature_detected!("lse") {
        return AtomicKind::Reserved;
    }
    let reserves = cfg!(any(
        target_arch = "powerpc64",
        target_arch = "riscv64",
        target_arch = "loongarch64",
        target_arch = "mips64"
    ));
    if reserves { AtomicKind::Reserved } else { AtomicKind::Near }
}

fn sources(machine: &Machine, observed: &ObservedTimes) -> Vec<String> {
    let mut sources = vec![format!(
        "measured on it: one CPU: load {:.2} ns, fetch_add {:.2}, memory {:.0}; system call {:.0}",
        machine.latency.hit,
        machine.atomic.rmw,
        machine.latency.memory.mean(),
        machine.kernel.system_call
    )];
    for pair in &observed.pairs {
        sources.push(format!(
            "measured on it: two CPUs {}: one way of a ping-pong by compare-exchange {:.1} ns, by \
             load and store {:.1}; fetch_add on one word {:.1} ns on each",
            match pair.class {
                DistanceClass::Sibling => "of a core",
                DistanceClass::Cluster => "of a cluster",
                DistanceClass::Socket => "of two clusters",
                DistanceClass::Remote => "of two sockets",
            },
            pair.exchange,
            pair.store,
            pair.add
        ));
    }
    if let Some((cpus, add)) = observed.all {
        sources.push(format!(
            "measured on it: {cpus} CPUs: fetch_add on one word {add:.1} ns on each"
        ));
    }
    sources.push(if observed.nearest().is_some() {
        "fitted: latencies, residency and handoff, until the simulator's ping-pong and fetch_add are \
         those measured"
            .to_owned()
    } else {
        "assumed, as there is one core: the latency to another, residency and handoff".to_owned()
    });
    sources.push(
        "assumed: arbitration and directory; what of the kernel could not be measured".to_owned(),
    );
    sources
}

#[cfg(test)]
mod tests;
