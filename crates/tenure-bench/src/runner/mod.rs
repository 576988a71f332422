//! The measuring method: interleaved slices of all variants, on pinned threads.
//!
//! ```text
//! point = scenario x threads
//!   batch (fresh objects)      15 of them
//!     round                    every variant once, in random order
//!       slice                  one variant on all threads at once, about 0.4 ms
//! ```
//!
//! - Variants are compared within a round: a disturbance of more than a millisecond affects all of them.
//! - A slice in which the scheduler took a thread off its CPU is dropped and counted. With more threads than CPUs none
//!   is dropped. Where hardly any slice is left they count after all, and the row says so.
//! - On a busy machine slices take long. Once a point has taken twice its time, the rest is left out and counted. Every
//!   batch gets its share.
//! - Each batch allocates its objects anew, since their place in memory matters. Its value is the median over its
//!   rounds; estimates and intervals are over the batches.

mod samples;
mod singles;
mod slice;

use crate::result::BenchPoint;
use crate::scenario::{BenchScenario, Looped};
use samples::{BatchSamples, SliceSample};
use singles::Singles;
use slice::{Gate, ThreadSample, TimedSlice};
use std::time::{Duration, Instant};
use tenure_report::affinity;

#[derive(Debug, Clone, Copy)]
pub(crate) struct RunPlan {
    /// Measured seconds for each variant.
    pub(crate) seconds: f64,
    pub(crate) batches: usize,
}

const SLICE: Duration = Duration::from_micros(400);
/// With more threads than CPUs: long enough for the scheduler to mix them.
const OVERSUBSCRIBED_SLICE: Duration = Duration::from_millis(8);
/// Steps of the slices that find how long an operation takes.
const TRIAL_STEPS: u64 = 2_000;
/// Fewest steps of a slice, however long they take.
const MIN_STEPS: u64 = 16;

impl RunPlan {
    /// The most time for the rounds of a scenario at one number of threads: twice the plan. Timing single operations
    /// takes as long again as the slice before it.
    fn bound(&self, scenario: &BenchScenario) -> Duration {
        let singly = scenario.variants.iter().filter(|variant| variant.times_singles).count();
        let slices = scenario.variants.len() + singly;
        Duration::from_secs_f64(2.0 * self.seconds * slices as f64)
    }
}

/// Calls `done` after each batch.
///
/// `None` if `cancelled` before the first round.
pub(crate) fn measure(
    scenario: &BenchScenario,
    threads: usize,
    cpus: &[usize],
    plan: RunPlan,
    random: &mut fastrand::Rng,
    cancelled: &(dyn Fn() -> bool + Sync),
    mut done: impl FnMut(),
) -> Option<BenchPoint> {
    let team = Team { threads, cpus };
    let variants: Vec<usize> = (0..scenario.variants.len()).collect();
    let slice = if team.oversubscribed() { OVERSUBSCRIBED_SLICE } else { SLICE };
    let rounds = ((plan.seconds / slice.as_secs_f64()) as usize / plan.batches).max(1);
    let mut left = plan.bound(scenario);

    let none: Vec<Option<Singles>> = variants.iter().map(|_| None).collect();
    let trial = vec![TRIAL_STEPS; variants.len()];
    let trial = team.run(&prepare(scenario, threads), &variants, &trial, &none, &|_| !cancelled());
    if trial.len() < variants.len() {
        return None;
    }
    let steps: Vec<u64> = trial
        .iter()
        .map(|sample| (slice.as_secs_f64() * 1e9 / sample.ns_per_op.max(0.1)) as u64)
        .map(|steps| steps.clamp(MIN_STEPS, 100_000_000))
        .collect();

    let singles: Vec<Option<Singles>> = scenario
        .variants
        .iter()
        .map(|variant| variant.times_singles.then(Singles::default))
        .collect();
    let batches: Vec<BatchSamples> = (0..plan.batches)
        .filter_map(|batch| {
            let mut schedule = Vec::with_capacity(rounds * variants.len());
            for _ in 0..rounds {
                let mut round = variants.clone();
                random.shuffle(&mut round);
                schedule.extend(round);
            }
            let objects = prepare(scenario, threads);
            let began = Instant::now();
            let share = left / (plan.batches - batch) as u32;
            // Whole rounds. The first round of a batch runs while there is time at all, that of the first batch in any
            // case.
            let may_run = |slice: usize| {
                let (round, starts_round) =
                    (slice / variants.len(), slice.is_multiple_of(variants.len()));
                let in_time = match (batch, round) {
                    (0, 0) => true,
                    (_, 0) => !left.is_zero(),
                    _ => began.elapsed() < share,
                };
                !starts_round || (in_time && !cancelled())
            };
            let samples = team.run(&objects, &schedule, &steps, &singles, &may_run);
            left = left.saturating_sub(began.elapsed());
            done();
            (!samples.is_empty()).then(|| BatchSamples::new(variants.len(), &schedule, &samples))
        })
        .collect();
    if batches.is_empty() {
        return None;
    }

    let mut rows = samples::rows(scenario, &batches, team.oversubscribed());
    for (row, singles) in std::iter::zip(&mut rows, &singles) {
        row.singles = singles.as_ref().and_then(Singles::distribution);
    }
    let measured: usize = batches.iter().map(BatchSamples::rounds).sum();
    Some(BenchPoint {
        threads,
        oversubscribed: team.oversubscribed(),
        batches: batches.len(),
        rounds: measured,
        left_out: plan.batches * rounds - measured,
        rows,
    })
}

fn prepare(scenario: &BenchScenario, threads: usize) -> Vec<Box<dyn Looped>> {
    scenario.variants.iter().map(|variant| (variant.prepare)(threads)).collect()
}

/// Threads, each pinned to a CPU, that run slices together.
struct Team<'a> {
    threads: usize,
    cpus: &'a [usize],
}

impl Team<'_> {
    fn oversubscribed(&self) -> bool {
        self.threads > self.cpus.len()
    }

    /// Runs the slices of `schedule` up to the first that `may_run` refuses; `steps` and `singles` are per variant.
    /// Returns the samples.
    fn run(
        &self,
        objects: &[Box<dyn Looped>],
        schedule: &[usize],
        steps: &[u64],
        singles: &[Option<Singles>],
        may_run: &(dyn Fn(usize) -> bool + Sync),
    ) -> Vec<SliceSample> {
        let gates: Vec<Gate> = schedule.iter().map(|_| Gate::new()).collect();
        let slices: Vec<TimedSlice<'_>> = std::iter::zip(schedule, &gates)
            .map(|(&variant, gate)| TimedSlice {
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
                        std::iter::zip(0.., slices)
                            .take_while(|(at, slice)| slice.gate.runs(|| may_run(*at)))
                            .map(|(_, slice)| slice.run(thread))
                            .collect()
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("operations do not panic"))
                .collect()
        });
        let ran = by_thread.first().map_or(0, Vec::len);
        std::iter::zip(0..ran, &slices)
            .map(|(i, slice)| {
                let parts: Vec<ThreadSample> = by_thread.iter().map(|samples| samples[i]).collect();
                if slice.oversubscribed {
                    SliceSample::taking_turns(&parts, slice.steps)
                } else {
                    SliceSample::side_by_side(&parts, slice.steps)
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{BenchOperation, Variant};
    use std::sync::Mutex;

    struct Nap<const MICROS: u64>;
    impl<const MICROS: u64> BenchOperation for Nap<MICROS> {
        fn prepare() -> Self {
            Self
        }
        fn step(&self, retries: &mut u64) {
            std::thread::sleep(Duration::from_micros(MICROS));
            *retries += 3;
        }
    }

    fn scenario() -> BenchScenario {
        let long = Variant::counting::<Nap<1_000>>("long");
        BenchScenario::new("test/nap", "nap", "", "short", [Variant::of::<Nap<100>>("short"), long])
    }

    fn samples(threads: usize, cpus: &[usize]) -> Vec<SliceSample> {
        let team = Team { threads, cpus };
        team.run(&prepare(&scenario(), threads), &[0, 1, 0], &[16, 16], &[None, None], &|_| true)
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
        // More threads than CPUs: no slice is dropped.
        let team = Team { threads: cpus.len() + 1, cpus: &cpus };
        team.run(&[object(), object()], &[0, 1, 0, 1], &[16, 16], &singles, &|_| true);
        let distribution = singles[1].as_ref().and_then(Singles::distribution).unwrap();
        assert_eq!(distribution.operations, 2 * 16);
        assert!(distribution.median_ns >= 100e3, "{distribution:?}");
    }

    #[test]
    fn settle_hears_of_every_step_of_all_phases() {
        static STEPS: Mutex<i64> = Mutex::new(0);
        struct Counted;
        impl BenchOperation for Counted {
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
        let team = Team { threads: 3, cpus: &affinity::cpus() };
        team.run(&[object], &[0, 0], &[1_000], &singles, &|_| true);
        assert_eq!(*STEPS.lock().unwrap(), 0);
    }

    /// A slice has at least 16 naps, so a round takes more than 4 ms instead of 0.8.
    fn naps(
        seconds: f64,
        batches: usize,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Option<BenchPoint> {
        let variants = vec![Variant::of::<Nap<1>>("short"), Variant::of::<Nap<200>>("long")];
        let scenario = BenchScenario { variants, ..scenario() };
        let (plan, mut random) = (RunPlan { seconds, batches }, fastrand::Rng::with_seed(1));
        measure(&scenario, 1, &affinity::cpus(), plan, &mut random, cancelled, || ())
    }

    #[test]
    fn rounds_that_take_longer_than_they_are_meant_to_are_left_out_at_twice_the_time() {
        let point = naps(0.01, 1, &|| false).unwrap();
        assert_eq!(point.rounds + point.left_out, 25);
        assert!((1..=10).contains(&point.rounds), "{point:?}");
        assert!(point.rows.iter().all(|row| row.ns_per_op.median > 0.0));
    }

    #[test]
    fn every_batch_has_a_share_of_the_time() {
        // Long enough for a busy machine to stall for a while.
        let point = naps(1.0, 3, &|| false).unwrap();
        assert_eq!(point.batches, 3, "{point:?}");
        assert!(point.left_out > 0, "{point:?}");
    }

    #[test]
    fn a_run_that_is_cancelled_keeps_the_rounds_it_has() {
        assert!(naps(0.01, 1, &|| true).is_none(), "cancelled before it began");
        let asked = Mutex::new(0);
        let cancelled = || {
            let mut asked = asked.lock().unwrap();
            *asked += 1;
            // Two slices of the trial, then one question a round.
            *asked > 2 + 3
        };
        let point = naps(100.0, 2, &cancelled).unwrap();
        assert_eq!((point.batches, point.rounds), (1, 3), "{point:?}");
    }

    #[test]
    fn all_threads_are_in_a_slice_at_once() {
        static INSIDE: Mutex<(usize, usize)> = Mutex::new((0, 0));
        let meet = |(): &()| {
            {
                let mut inside = INSIDE.lock().unwrap();
                inside.0 += 1;
                inside.1 = inside.1.max(inside.0);
            }
            std::thread::sleep(Duration::from_micros(300));
            INSIDE.lock().unwrap().0 -= 1;
        };
        let object = (Variant::step("meet", || (), meet).prepare)(2);
        let team = Team { threads: 2, cpus: &affinity::cpus() };
        team.run(&[object], &[0], &[16], &[None], &|_| true);
        assert_eq!(*INSIDE.lock().unwrap(), (0, 2));
    }
}
