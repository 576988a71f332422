//! Measures what a sample, a breakpoint and a hit cost a thread on this machine, on a process of our own.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use crate::backend::Backend;
use crate::sys::specimen::{Missed, Specimen};
use crate::{Cost, breakpoints};

/// How often each thing is measured.
const ROUNDS: usize = 9;

/// How often that is tried, and for how long: where hundreds of threads run, a round takes seconds.
const MAX_ROUNDS: usize = 27;
const MAX_TIME: Duration = Duration::from_secs(1);

/// Seconds of the program's processor time that probes may take before it has had any.
const FIRST_ALLOWANCE_S: f64 = 0.05;

/// Where the machine was too busy to measure, probes are limited as on a slow virtual machine. In seconds.
const UNMEASURED_ARM_S: f64 = 300e-6;
const UNMEASURED_TRAP_S: f64 = 30e-6;

/// Samples a second meanwhile.
const SAMPLES_A_SECOND: u64 = 2_000;

/// Measures for about a quarter of a second, longer on a busy machine. `backend` makes one for a process and so many samples a
/// second. What cannot be measured is zero.
pub(crate) fn measured<B: Backend>(backend: impl Fn(u32, u64) -> io::Result<B>) -> Cost {
    measure(backend).unwrap_or_default()
}

/// What probes took so far, of the program's processor time and of ours, and the share that they may take of either.
#[derive(Debug)]
pub(crate) struct Allowance {
    pub(crate) cost: Cost,
    share: f64,
    /// Seconds of the program's processor time.
    taken_s: f64,
    /// Seconds of our own processor time.
    own_s: f64,
}

impl Allowance {
    pub(crate) fn new(cost: Cost, share: f64) -> Self {
        Self { cost, share, taken_s: 0.0, own_s: 0.0 }
    }

    /// Notes a probe that put breakpoints into so many threads, which were hit so often, and took this processor time of ours.
    pub(crate) fn take(&mut self, armed: usize, hits: usize, own: Duration) {
        let or = |measured: f64, unmeasured| if measured > 0.0 { measured } else { unmeasured };
        self.taken_s += armed as f64 * or(self.cost.arm_s, UNMEASURED_ARM_S)
            + hits as f64 * or(self.cost.trap_s, UNMEASURED_TRAP_S);
        self.own_s += own.as_secs_f64();
    }

    /// Whether the next probe has to wait until the program has run for longer than these nanoseconds, or its CPUs had more time
    /// than these seconds: where all are busy, our time is taken from it too.
    pub(crate) fn is_spent(&self, ran_ns: u64, cpu_s: f64) -> bool {
        let may = |of: f64| FIRST_ALLOWANCE_S + self.share * of;
        self.taken_s > may(ran_ns as f64 / 1e9) || self.own_s > may(cpu_s)
    }
}

/// What was missed in rounds of the same kind, and because of how much.
#[derive(Default)]
struct Rounds {
    missed: Vec<f64>,
    counts: Vec<f64>,
}

impl Rounds {
    /// It may have had no turn, on a busy machine.
    fn add(&mut self, missed: Missed, count: usize) {
        if count > 0 && missed.ran >= breakpoints::PROBE_TIME / 2 {
            self.missed.push(missed.missed.as_secs_f64());
            self.counts.push(count as f64);
        }
    }

    fn is_enough(&self) -> bool {
        self.missed.len() >= ROUNDS
    }

    /// What each took, where `without` was missed anyway. On a busy machine some rounds are far off.
    fn each(&mut self, without: f64) -> f64 {
        let (missed, count) = (median(&mut self.missed), median(&mut self.counts));
        if count > 0.0 { ((missed - without) / count).max(0.0) } else { 0.0 }
    }
}

fn median(all: &mut [f64]) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}

fn measure<B: Backend>(backend: impl Fn(u32, u64) -> io::Result<B>) -> io::Result<Cost> {
    let specimen = Specimen::start()?;
    let end = Instant::now() + MAX_TIME;
    let pid = specimen.pid;
    let mut sampler = backend(pid, SAMPLES_A_SECOND)?;
    sampler.attach(&[pid])?;
    let mut sample = Rounds::default();
    for _ in 0..MAX_ROUNDS {
        if sample.is_enough() || Instant::now() >= end {
            break;
        }
        let mut samples = Vec::new();
        let mut collected = Ok(());
        // ptrace takes one sample in each call.
        let missed = specimen.missed(|| {
            let start = Instant::now();
            while collected.is_ok() && start.elapsed() < breakpoints::PROBE_TIME {
                collected = sampler.collect(breakpoints::PROBE_TIME, &mut samples);
            }
        });
        collected?;
        sample.add(missed, samples.iter().filter(|sample| sample.pid == pid).count());
    }
    drop(sampler);

    let mut looker = backend(pid, 1)?;
    let words: Vec<u64> =
        (0..breakpoints::WORDS as u64).map(|at| specimen.line() + 8 * at).collect();
    let (mut nothing, mut arm, mut trap) =
        (Rounds::default(), Rounds::default(), Rounds::default());
    for _ in 0..MAX_ROUNDS {
        let is_enough = nothing.is_enough() && arm.is_enough() && trap.is_enough();
        if is_enough || Instant::now() >= end {
            break;
        }
        nothing.add(specimen.missed(|| thread::sleep(breakpoints::PROBE_TIME)), 1);
        for (touches, rounds) in [(false, &mut arm), (true, &mut trap)] {
            specimen.touch(touches);
            let mut seen = Ok(breakpoints::ProbeResult::default());
            let missed = specimen.missed(|| seen = looker.probe(&words, &[pid]));
            let seen = seen?;
            rounds.add(missed, if touches { seen.hits.len() } else { seen.armed });
        }
        specimen.touch(false);
    }
    looker.release();
    let nothing = nothing.each(0.0);
    let arm = arm.each(nothing);
    Ok(Cost { sample_s: sample.each(nothing), arm_s: arm, trap_s: trap.each(nothing + arm) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn probes_wait_once_they_have_taken_their_share() {
        let cost = Cost { arm_s: 0.01, trap_s: 0.001, ..Cost::default() };
        let mut allowance = Allowance::new(cost, 0.1);
        let nothing = Duration::ZERO;
        assert!(!allowance.is_spent(0, 0.0));
        allowance.take(4, 9, nothing);
        assert!(!allowance.is_spent(0, 0.0));
        allowance.take(0, 2, nothing);
        assert!(allowance.is_spent(0, 9.0));
        // It has 0.05 s and a tenth of what the program ran.
        assert!(!allowance.is_spent(SECOND, 0.0));
        allowance.take(10, 0, nothing);
        assert!(allowance.is_spent(SECOND, 9.0) && !allowance.is_spent(2 * SECOND, 0.0));
    }

    #[test]
    fn probes_wait_once_they_have_taken_their_share_of_the_cpus() {
        let cost = Cost { arm_s: 1e-9, trap_s: 1e-9, ..Cost::default() };
        let mut allowance = Allowance::new(cost, 0.1);
        for _ in 0..3 {
            allowance.take(1, 0, Duration::from_millis(30));
        }
        assert!(allowance.is_spent(9 * SECOND, 0.3) && !allowance.is_spent(9 * SECOND, 0.5));
    }

    #[test]
    fn probes_of_unknown_cost_are_taken_for_dear_ones() {
        let mut allowance = Allowance::new(Cost::default(), 0.0);
        allowance.take(166, 0, Duration::ZERO);
        assert!(!allowance.is_spent(u64::MAX, 0.0));
        allowance.take(0, 7, Duration::ZERO);
        assert!(allowance.is_spent(u64::MAX, 0.0));
    }
}
