//! The simulator on code whose cost is known.
//!
//! Latencies are fixed and nothing is random unless a test wants it, so most claims are exact.

mod arbitration;
mod blocking;
mod changes;
mod coherence;
mod determinism;
mod ends;
mod heat;
mod kinds;
mod machines;
mod patterns;
mod properties;
mod repairs;

use std::sync::{Arc, Mutex};
use tenure::memory::{Atomic as _, Memory, Ordering};
use tenure_sim::{Cpu, Machine, Simulated, SimulatedWord, Simulation, SimulationReport};

const RELAXED: Ordering = Ordering::Relaxed;

#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Line<T>(pub(crate) T);

pub(crate) fn word(value: u64) -> Arc<Line<SimulatedWord<u64>>> {
    Arc::new(Line(SimulatedWord::new(value)))
}

/// Two sockets, two clusters, two cores, two hardware threads. The first to come is next, and owners give lines away at
/// once.
pub(crate) fn machine() -> Machine {
    let text = r#"
        name = "exact"
        about = "Everything takes a fixed time"
        sources = ["made up"]
        [topology]
        sockets = 2
        clusters = 2
        cores = 2
        smt = 2
        [latency]
        hit = 1
        sibling = 8
        cluster = 40
        socket = 80
        remote = 120
        memory = 100
        [atomic]
        rmw = 6
        kind = "near"
        [contention]
        arbitration = "fifo"
        residency = 0
        [kernel]
    "#;
    Machine::from_toml(text).unwrap()
}

pub(crate) fn flat(cores: usize) -> Machine {
    let mut machine = machine();
    machine.topology.sockets = 1;
    machine.topology.clusters = 1;
    machine.topology.cores = cores;
    machine.topology.smt = 1;
    machine
}

pub(crate) fn short(machine: &Machine, threads: usize) -> Simulation {
    machine.simulation(threads).warm_up_ns(5_000.0).duration_ns(50_000.0)
}

pub(crate) fn wait_until(cpu: &Cpu, ns: f64) {
    while cpu.now_ns() < ns {
        Simulated::spin_hint();
    }
}

pub(crate) type Notes<T> = Arc<Mutex<Vec<T>>>;

pub(crate) fn notes<T>() -> Notes<T> {
    Arc::default()
}

pub(crate) fn note<T>(notes: &Notes<T>, value: T) {
    notes.lock().unwrap().push(value);
}

pub(crate) fn noted<T: Clone>(notes: &Notes<T>) -> Vec<T> {
    notes.lock().unwrap().clone()
}

pub(crate) fn add_by_cas(word: &SimulatedWord<u64>) {
    let mut seen = word.load(RELAXED);
    while let Err(now) = word.compare_exchange(seen, seen + 1, RELAXED, RELAXED) {
        seen = now;
    }
}

pub(crate) fn adding(simulation: Simulation) -> SimulationReport {
    let counter = word(0);
    let run = simulation.run(move |cpu| {
        while cpu.running() {
            counter.0.fetch_add(1, RELAXED);
            cpu.done();
        }
    });
    run.unwrap()
}

pub(crate) fn adding_by_cas(simulation: Simulation) -> SimulationReport {
    let counter = word(0);
    let run = simulation.run(move |cpu| {
        while cpu.running() {
            add_by_cas(&counter.0);
            cpu.done();
        }
    });
    run.unwrap()
}

/// `share` is of `expected`.
#[track_caller]
pub(crate) fn assert_near(found: f64, expected: f64, share: f64) {
    let off = (found - expected).abs();
    assert!(off <= expected * share, "{found} is not {expected} give or take {share} of it");
}
