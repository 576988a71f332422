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

/// Samples a second meanwhile.
const SAMPLES_A_SECOND: u64 = 2_000;

/// Measures for about a quarter of a second, longer on a busy machine. `backend` makes one for a process and so many samples a
/// second. What cannot be measured is zero.
pub(crate) fn measured<B: Backend>(backend: impl Fn(u32, u64) -> io::Result<B>) -> Cost {
    measure(backend).unwrap_or_default()
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
