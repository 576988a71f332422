//! The simulator's speed on this host: simulated accesses per second and core.
//!
//! `cargo run --release -p tenure-sim --example speed`

use std::sync::Arc;
use std::time::Instant;
use tenure::cache_line::CachePadded;
use tenure::count::generic::IncNotZero;
use tenure_sim::{Machine, Simulated, SimulationError};

const RUNS: u64 = 5;

fn main() -> Result<(), SimulationError> {
    let machine = Machine::preset("xeon-2s-112")?;
    println!("gets and puts of one inc_not_zero on {}", machine.name);
    for threads in [1, 2, 16, 56, 112] {
        let mut speeds = Vec::new();
        for seed in 0..RUNS {
            let count = Arc::new(CachePadded::new(IncNotZero::<Simulated>::new_in()));
            let start = Instant::now();
            let report =
                machine.simulation(threads).seed(seed).duration_ns(2e6).run(move |cpu| {
                    while cpu.running() {
                        let held = count.get().is_acquired() && !count.put().is_last();
                        assert!(held, "the count's first reference is never put");
                        cpu.done();
                    }
                })?;
            speeds.push(report.simulated as f64 / start.elapsed().as_secs_f64() / 1e6);
        }
        speeds.sort_by(f64::total_cmp);
        println!("{threads:>4} CPUs: {:5.1} million accesses a second", speeds[speeds.len() / 2]);
    }
    Ok(())
}
