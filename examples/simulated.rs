//! Your own lock-free code on CPUs that you do not have: one counter for all threads, against one for each.
//!
//! The code is generic over its memory. `Native` makes it ordinary atomics; `Simulated` charges each access the
//! time that its cache line takes to arrive. `cargo run --release -p tenure-examples --example simulated`

use std::sync::Arc;

use tenure::cache_line::CachePadded;
use tenure::memory::{Atomic, Memory, Native, Ordering};
use tenure_sim::{Cpu, Machine, Simulated, SimulationError};

/// A statistic, in as many parts as there should be.
struct Counter<M: Memory = Native> {
    parts: Vec<CachePadded<M::AtomicU64>>,
}

impl<M: Memory> Counter<M> {
    fn new(parts: usize) -> Self {
        Self { parts: (0..parts).map(|_| CachePadded::new(Atomic::new(0))).collect() }
    }

    fn add(&self, thread: usize) {
        // Relaxed: a statistic.
        self.parts[thread % self.parts.len()].fetch_add(1, Ordering::Relaxed);
    }

    fn sum(&self) -> u64 {
        // Relaxed: as above.
        self.parts.iter().map(|part| part.load(Ordering::Relaxed)).sum()
    }
}

/// Nanoseconds per `add`, with that many CPUs calling it.
fn measure(cpus: usize, parts: usize) -> Result<f64, SimulationError> {
    let counter = Arc::new(Counter::<Simulated>::new(parts));
    let shared = Arc::clone(&counter);
    let simulation = Machine::preset("xeon-2s-112")?.simulation(cpus).duration_ns(20_000.0);
    let report = simulation.run(move |cpu: &Cpu| {
        while cpu.running() {
            shared.add(cpu.index());
            cpu.done();
        }
    })?;
    assert!(counter.sum() > 0);
    Ok(report.ns_per_op())
}

#[cfg_attr(test, test)]
fn main() -> Result<(), SimulationError> {
    // The same code on the real machine.
    let counter: Counter = Counter::new(1);
    counter.add(0);
    assert_eq!(counter.sum(), 1);

    println!("CPUs  one counter  one for each");
    let mut last = (0.0, 0.0);
    for cpus in [1, 4, 16, 64] {
        last = (measure(cpus, 1)?, measure(cpus, cpus)?);
        println!("{cpus:>4}  {:>8.1} ns  {:>9.1} ns", last.0, last.1);
    }
    assert!(
        last.0 > 10.0 * last.1,
        "a line that 64 CPUs want makes each of them wait for the others"
    );
    Ok(())
}
