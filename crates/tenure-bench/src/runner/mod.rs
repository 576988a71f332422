//! The measuring method: interleaved slices of all variants, on pinned threads.
//!
//! ```text
//! point = scenario x threads
//!   batch (fresh objects)      15 of them
//!     round                    every variant once, in random order
//!       slice                  one variant on all threads at once, about 0.4 ms
//! ```
//!
//! - Variants are compared within a round, so that what disturbs the machine for longer than a
//!   millisecond disturbs all of them alike.
//! - A slice in which the scheduler took a thread off its CPU is dropped and counted. With more
//!   threads than CPUs that is the rule, and none is. Where hardly any slice is left they count
//!   after all, and the row says so.
//! - The objects of a batch are allocated anew, for their place in memory matters. The median over
//!   the rounds of a batch is one value; estimates and their intervals are over the batches.

pub mod affinity;
mod samples;
mod singles;
mod slice;

use crate::result::Point;
use crate::scenario::{Looped, Scenario};
use samples::{Batch, Sample};
use singles::Singles;
use slice::{Gate, Slice, ThreadSample};
use std::time::Duration;

/// How much is measured at a point.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Measured seconds for each variant.
    pub seconds: f64,
    /// Fresh sets of objects.
    pub batches: usize,
}

/// The length of a timed slice.
const SLICE: Duration = Duration::from_micros(400);
/// The same with more threads than CPUs: long enough for the scheduler to mix them.
const OVERSUBSCRIBED_SLICE: Duration = Duration::from_millis(8);
/// Operations of the slices that find out how long an operation takes.
const TRIAL_STEPS: u64 = 2_000;
/// Operations of a slice, however long they take.
const FEWEST_STEPS: u64 = 16;

/// Measures `scenario` with `threads` threads on `cpus`; calls `done` after each batch.
pub fn measure(
    scenario: &Scenario,
    threads: usize,
    cpus: &[usize],
    plan: Plan,
    random: &mut fastrand::Rng,
    mut done: impl FnMut(),
) -> Point {
    let team = Team { threads, cpus };
    let variants: Vec<usize> = (0..scenario.variants.len()).collect();
    let slice = if team.oversubscribed() { OVERSUBSCRIBED_SLICE } else { SLICE };
    let rounds = ((plan.seconds / slice.as_secs_f64()) as usize / plan.batches).max(1);

    let none: Vec<Option<Singles>> = variants.iter().map(|_| None).collect();
    let trial = vec![TRIAL_STEPS; variants.len()];
    let trial = team.run(&prepare(scenario, threads), &variants, &trial, &none);
    let steps: Vec<u64> = trial
        .iter()
        .map(|sample| (slice.as_secs_f64() * 1e9 / sample.ns_per_op.max(0.1)) as u64)
        .map(|steps| steps.clamp(FEWEST_STEPS, 100_000_000))
        .collect();

    let singles: Vec<Option<Singles>> = scenario
        .variants
        .iter()
        .map(|variant| variant.times_singles.then(Singles::default))
        .collect();
    let batches: Vec<Batch> = (0..plan.batches)
        .map(|_| {
            let mut schedule = Vec::with_capacity(rounds * variants.len());
            for _ in 0..rounds {
                let mut round = variants.clone();
                random.shuffle(&mut round);
                schedule.extend(round);
            }
            let samples = team.run(&prepare(scenario, threads), &schedule, &steps, &singles);
            done();
            Batch::new(variants.len(), &schedule, &samples)
        })
        .collect();

    let mut rows = samples::rows(scenario, &batches, team.oversubscribed());
    for (row, singles) in std::iter::zip(&mut rows, &singles) {
        row.singles = singles.as_ref().and_then(Singles::distribution);
    }
    Point { threads, oversubscribed: team.oversubscribed(), batches: plan.batches, rows }
}

fn prepare(scenario: &Scenario, threads: usize) -> Vec<Box<dyn Looped>> {
    scenario.variants.iter().map(|variant| (variant.prepare)(threads)).collect()
}

/// Threads that run slices together, each pinned to a CPU.
struct Team<'a> {
    threads: usize,
    cpus: &'a [usize],
}

impl Team<'_> {
    fn oversubscribed(&self) -> bool {
        self.threads > self.cpus.len()
    }

    /// Runs the slices that `schedule` names, one after the other; `steps` and `singles` are per variant.
    fn run(
        &self,
        objects: &[Box<dyn Looped>],
        schedule: &[usize],
        steps: &[u64],
        singles: &[Option<Singles>],
    ) -> Vec<Sample> {
        let gates: Vec<Gate> = schedule.iter().map(|_| Gate::new()).collect();
        let slices: Vec<Slice<'_>> = std::iter::zip(schedule, &gates)
            .map(|(&variant, gate)| Slice {
                object: &*objects[variant],
                gate,
                threads: self.threads as u32,
                steps: steps[variant],
                oversubscribed: self.oversubscribed(),
                singles: singles[variant].as_ref(),
            })
            .collect();
        let by_thread: Vec<Vec<ThreadSample>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads)
                .map(|thread| {
                    let (slices, cpu) = (&slices, self.cpus[thread % self.cpus.len()]);
                    scope.spawn(move || {
                        affinity::pin(cpu);
                        slices.iter().map(|slice| slice.run(thread)).collect()
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("operations do not panic"))
                .collect()
        });
        slices
            .iter()
            .enumerate()
            .map(|(i, slice)| {
                let parts: Vec<ThreadSample> = by_thread.iter().map(|samples| samples[i]).collect();
                if slice.oversubscribed {
                    Sample::taking_turns(&parts, slice.steps)
                } else {
                    Sample::side_by_side(&parts, slice.steps)
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Operation, Variant};
    use std::sync::Mutex;

    struct Nap<const MICROS: u64>;
    impl<const MICROS: u64> Operation for Nap<MICROS> {
        fn prepare() -> Self {
            Self
        }
        fn step(&self, retries: &mut u64) {
            std::thread::sleep(Duration::from_micros(MICROS));
            *retries += 3;
        }
    }

    fn scenario() -> Scenario {
        Scenario {
            id: "test/nap",
            title: "nap",
            about: "",
            shared: true,
            baseline: "short",
            limit: Some("short"),
            rivals: &[],
            variants: vec![
                Variant::of::<Nap<100>>("short"),
                Variant::counting::<Nap<1_000>>("long"),
            ],
        }
    }

    /// [`Team::run`] with few steps, for operations that take long.
    fn samples(threads: usize, cpus: &[usize]) -> Vec<Sample> {
        let team = Team { threads, cpus };
        team.run(&prepare(&scenario(), threads), &[0, 1, 0], &[16, 16], &[None, None])
    }

    #[test]
    fn a_sample_is_the_time_of_one_operation_on_one_thread() {
        let cpus = affinity::cpus();
        for threads in 1..=cpus.len().min(2) {
            let samples = samples(threads, &cpus);
            for (sample, at_least) in std::iter::zip(samples, [100e3, 1e6, 100e3]) {
                assert!(sample.ns_per_op >= at_least, "{sample:?}");
                assert!((sample.retries_per_op - 3.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn singles_are_the_first_threads_and_of_those_variants_that_ask_for_them() {
        let cpus = affinity::cpus();
        let object = || Box::new(Nap::<100>) as Box<dyn Looped>;
        let singles = [None, Some(Singles::default())];
        // More threads than CPUs, so that no slice is dropped.
        let team = Team { threads: cpus.len() + 1, cpus: &cpus };
        team.run(&[object(), object()], &[0, 1, 0, 1], &[16, 16], &singles);
        let distribution = singles[1].as_ref().and_then(Singles::distribution).unwrap();
        assert_eq!(distribution.operations, 2 * 16);
        assert!(distribution.median_ns >= 100e3, "{distribution:?}");
    }

    #[test]
    fn settle_hears_of_every_step_of_all_phases() {
        static STEPS: Mutex<i64> = Mutex::new(0);
        struct Counted;
        impl Operation for Counted {
            fn prepare() -> Self {
                Self
            }
            fn step(&self, _retries: &mut u64) {
                *STEPS.lock().unwrap() += 1;
            }
            fn settle(&self, steps: u64) {
                *STEPS.lock().unwrap() -= steps as i64;
            }
        }
        let object: Box<dyn Looped> = Box::new(Counted);
        let singles = [Some(Singles::default())];
        Team { threads: 3, cpus: &affinity::cpus() }.run(&[object], &[0, 0], &[1_000], &singles);
        assert_eq!(*STEPS.lock().unwrap(), 0);
    }

    #[test]
    fn all_threads_are_in_a_slice_at_once() {
        /// Threads inside of the operation, now and at most.
        static INSIDE: Mutex<(usize, usize)> = Mutex::new((0, 0));
        struct Meet;
        impl Operation for Meet {
            fn prepare() -> Self {
                Self
            }
            fn step(&self, _retries: &mut u64) {
                {
                    let mut inside = INSIDE.lock().unwrap();
                    inside.0 += 1;
                    inside.1 = inside.1.max(inside.0);
                }
                std::thread::sleep(Duration::from_micros(300));
                INSIDE.lock().unwrap().0 -= 1;
            }
        }
        let object: Box<dyn Looped> = Box::new(Meet);
        Team { threads: 2, cpus: &affinity::cpus() }.run(&[object], &[0], &[16], &[None]);
        assert_eq!(*INSIDE.lock().unwrap(), (0, 2));
    }
}
