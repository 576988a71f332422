//! What a sample, a breakpoint and a hit take of a thread here, measured on a process of our own.

use std::io;
use std::thread;
use std::time::Duration;

use crate::backend::Backend;
use crate::sys::specimen::{Missed, Specimen};
use crate::{Cost, arm};

/// How often each thing is measured.
const ROUNDS: usize = 8;

/// How long nothing is done to it.
const IDLE: Duration = Duration::from_millis(20);

/// Samples a second meanwhile.
const RATE: u64 = 2_000;

/// Measures for about a fifth of a second. `backend` makes one for a process and so many samples a second. What cannot be measured
/// is zero.
pub(crate) fn measured<B: Backend>(backend: impl Fn(u32, u64) -> io::Result<B>) -> Cost {
    measure(backend).unwrap_or_default()
}

/// What was missed, and because of how much.
#[derive(Default)]
struct Sum {
    missed: f64,
    count: f64,
}

impl Sum {
    /// `idle`: what is missed by second without us.
    fn add(&mut self, Missed { missed, ran }: Missed, idle: f64, count: usize) {
        self.missed += missed - idle * ran;
        self.count += count as f64;
    }

    fn each(&self) -> f64 {
        if self.count > 0.0 { (self.missed / self.count).max(0.0) } else { 0.0 }
    }
}

fn measure<B: Backend>(backend: impl Fn(u32, u64) -> io::Result<B>) -> io::Result<Cost> {
    let specimen = Specimen::start()?;
    let pid = specimen.pid;
    let Missed { missed, ran } = specimen.missed(|| thread::sleep(IDLE));
    let idle = if ran > 0.0 { missed / ran } else { 0.0 };

    let mut sampler = backend(pid, RATE)?;
    sampler.attach(&[pid])?;
    let mut sample = Sum::default();
    for _ in 0..ROUNDS / 2 {
        let mut samples = Vec::new();
        let mut collected = Ok(());
        let missed = specimen.missed(|| collected = sampler.collect(&mut samples));
        collected?;
        sample.add(missed, idle, samples.len());
    }
    sampler.release();

    let mut looker = backend(pid, 1)?;
    let words: Vec<u64> = (0..arm::WORDS as u64).map(|at| specimen.line() + 8 * at).collect();
    let (mut arm, mut trap) = (Sum::default(), Sum::default());
    for round in 0..2 * ROUNDS {
        let touches = round % 2 == 1;
        specimen.touch(touches);
        let mut seen = Ok(arm::Seen::default());
        let missed = specimen.missed(|| seen = looker.look(&words, &[pid]));
        let seen = seen?;
        // It may have had no turn, on a busy machine.
        if seen.armed == 0 || missed.ran < arm::LOOK.as_secs_f64() / 2.0 {
            continue;
        }
        if !touches {
            arm.add(missed, idle, 1);
        } else if !seen.hits.is_empty() {
            trap.add(missed, idle, seen.hits.len());
            trap.missed -= arm.each();
        }
    }
    looker.release();
    Ok(Cost { sample: sample.each(), arm: arm.each(), trap: trap.each() })
}
