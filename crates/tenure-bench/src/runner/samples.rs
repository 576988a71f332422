use super::slice::ThreadSample;
use crate::result::{BenchRow, ToRival};
use crate::scenario::BenchScenario;
use std::time::Duration;
use tenure_report::stats::Estimate;
use tenure_report::stats::{MIN_VALUES, estimate, median};

#[derive(Debug, Clone, Copy)]
pub(super) struct SliceSample {
    pub(super) ns_per_op: f64,
    pub(super) mops: f64,
    pub(super) retries_per_op: f64,
    pub(super) switched: bool,
}

impl SliceSample {
    /// For threads that ran at once: the mean of their times, the sum of their throughputs.
    pub(super) fn side_by_side(threads: &[ThreadSample], steps: u64) -> Self {
        let ns = |sample: &ThreadSample| nanos(sample.elapsed) / steps as f64;
        let ns_per_op = threads.iter().map(ns).sum::<f64>() / threads.len() as f64;
        let mops = threads.iter().map(|sample| 1e3 / ns(sample)).sum();
        Self::new(threads, steps, ns_per_op, mops)
    }

    /// For more threads than CPUs: from the first start to the last end, since the clock of a thread that waits for its
    /// turn may not have started.
    pub(super) fn taking_turns(threads: &[ThreadSample], steps: u64) -> Self {
        let start = threads.iter().map(|sample| sample.start).min();
        let end = threads.iter().map(|sample| sample.start + sample.elapsed).max();
        let window = std::iter::zip(start, end).map(|(start, end)| end - start).sum();
        let ns_per_op = nanos(window) / steps as f64;
        Self::new(threads, steps, ns_per_op, threads.len() as f64 * 1e3 / ns_per_op)
    }

    fn new(threads: &[ThreadSample], steps: u64, ns_per_op: f64, mops: f64) -> Self {
        let retries: u64 = threads.iter().map(|sample| sample.retries).sum();
        Self {
            ns_per_op,
            mops,
            retries_per_op: retries as f64 / steps as f64 / threads.len() as f64,
            switched: threads.iter().any(|sample| sample.switched),
        }
    }
}

fn nanos(time: Duration) -> f64 {
    time.as_nanos().max(1) as f64
}

#[derive(Debug)]
pub(super) struct BatchSamples {
    rounds: Vec<Vec<SliceSample>>,
}

impl BatchSamples {
    /// `samples` of whole rounds in the order of `schedule`, which names each variant once a round and may go on after
    /// them.
    pub(super) fn new(variants: usize, schedule: &[usize], samples: &[SliceSample]) -> Self {
        let mut rounds = Vec::with_capacity(schedule.len() / variants);
        for (order, samples) in std::iter::zip(schedule.chunks(variants), samples.chunks(variants))
        {
            let mut round: Vec<(usize, SliceSample)> =
                std::iter::zip(order.iter().copied(), samples.iter().copied()).collect();
            round.sort_by_key(|&(variant, _)| variant);
            rounds.push(round.into_iter().map(|(_, sample)| sample).collect());
        }
        Self { rounds }
    }

    pub(super) fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// The median of `of` over the kept rounds.
    fn median(
        &self,
        keep: impl Fn(&[SliceSample]) -> bool,
        of: impl Fn(&[SliceSample]) -> f64,
    ) -> Option<f64> {
        let values: Vec<f64> =
            self.rounds.iter().filter(|round| keep(round)).map(|round| of(round)).collect();
        median(&values)
    }
}

/// Slices with involuntary switches are left out, unless `keep_switched`, or unless hardly any slice is without.
pub(super) fn rows(
    scenario: &BenchScenario,
    batches: &[BatchSamples],
    keep_switched: bool,
) -> Vec<BenchRow> {
    let index = |name: &str| scenario.variants.iter().position(|variant| variant.name == name);
    let baseline = index(scenario.baseline);
    let limit = scenario.limit.and_then(index);
    let rivals: Vec<(&str, usize)> =
        scenario.rivals.iter().filter_map(|&name| Some((name, index(name)?))).collect();

    let over_batches = |used: &[usize], of: &dyn Fn(&[SliceSample]) -> f64| -> Summary {
        let values = |keep: &dyn Fn(&[SliceSample]) -> bool| -> Vec<f64> {
            batches.iter().filter_map(|batch| batch.median(keep, of)).collect()
        };
        let undisturbed = values(&|round| used.iter().all(|&variant| !round[variant].switched));
        let kept_all = keep_switched || undisturbed.len() < MIN_VALUES.min(batches.len());
        let values = if kept_all { values(&|_| true) } else { undisturbed };
        Summary {
            estimate: estimate(&values).expect("a point has a batch, and a batch a round"),
            kept_all,
        }
    };

    scenario
        .variants
        .iter()
        .enumerate()
        .map(|(this, variant)| {
            let ratio_to = |other: Option<usize>| {
                let other = other.filter(|&other| other != this)?;
                let ratio = |round: &[SliceSample]| round[this].ns_per_op / round[other].ns_per_op;
                Some(over_batches(&[this, other], &ratio).estimate)
            };
            let of_this =
                |of: fn(&SliceSample) -> f64| over_batches(&[this], &|round| of(&round[this]));
            let ns_per_op = of_this(|sample| sample.ns_per_op);

            let slices = batches.iter().flat_map(|batch| &batch.rounds).map(|round| round[this]);
            let (switched, calm): (Vec<_>, Vec<_>) = slices.partition(|sample| sample.switched);
            let (slices, dropped) = if keep_switched {
                (calm.len() + switched.len(), 0)
            } else if ns_per_op.kept_all {
                (0, calm.len() + switched.len())
            } else {
                (calm.len(), switched.len())
            };
            BenchRow {
                variant: variant.name.to_owned(),
                ns_per_op: ns_per_op.estimate,
                mops: of_this(|sample| sample.mops).estimate.median,
                retries_per_op: variant
                    .counts_retries
                    .then(|| of_this(|sample| sample.retries_per_op).estimate.median),
                to_baseline: ratio_to(baseline),
                to_limit: ratio_to(limit),
                to_rivals: rivals
                    .iter()
                    .filter_map(|&(name, rival)| {
                        Some(ToRival { variant: name.to_owned(), ratio: ratio_to(Some(rival))? })
                    })
                    .collect(),
                slices,
                dropped,
                singles: None,
            }
        })
        .collect()
}

struct Summary {
    estimate: Estimate,
    kept_all: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Variant;
    use std::time::Instant;

    fn scenario() -> BenchScenario {
        let [a, b] = ["a", "b"].map(|name| Variant::step(name, || (), |()| ()));
        let variants = [a, Variant { counts_retries: true, ..b }];
        BenchScenario::new("test/rows", "rows", "", "b", variants).with_rivals(&["a"])
    }

    fn sample(ns_per_op: f64, switched: bool) -> SliceSample {
        SliceSample { ns_per_op, mops: 1e3 / ns_per_op, retries_per_op: 0.5, switched }
    }

    fn batches(switched: impl Fn(usize) -> bool) -> Vec<BatchSamples> {
        (0..10)
            .map(|batch| {
                let drift = 1.0 + batch as f64;
                let (a, b) = (sample(5.0 * drift, switched(batch)), sample(10.0 * drift, false));
                BatchSamples::new(2, &[0, 1, 1, 0, 0, 1], &[a, b, b, a, a, b])
            })
            .collect()
    }

    #[test]
    fn a_ratio_is_taken_within_a_round_so_drift_cancels() {
        let rows = rows(&scenario(), &batches(|_| false), false);
        let ratio = rows[0].to_baseline.unwrap();
        assert_eq!((ratio.low, ratio.median, ratio.high), (0.5, 0.5, 0.5));
        assert!(rows[0].ns_per_op.high > rows[0].ns_per_op.low);
        assert_eq!(rows[1].to_baseline, None);
        let rival = &rows[1].to_rivals[0];
        assert_eq!((rival.variant.as_str(), rival.ratio.low, rival.ratio.high), ("a", 2.0, 2.0));
        assert_eq!(rows[0].to_rivals, [], "nobody is a rival of itself");
        assert_eq!((rows[0].retries_per_op, rows[1].retries_per_op), (None, Some(0.5)));
        assert_eq!((rows[0].slices, rows[0].dropped), (30, 0));
    }

    #[test]
    fn disturbed_slices_are_dropped_and_counted() {
        let rows = rows(&scenario(), &batches(|batch| batch == 0), false);
        assert_eq!((rows[0].slices, rows[0].dropped), (27, 3));
        assert_eq!((rows[1].slices, rows[1].dropped), (30, 0));
        assert_eq!(rows[0].ns_per_op.median, 30.0, "the median of the batches 1 to 9");
    }

    #[test]
    fn where_nothing_was_undisturbed_all_is_used_and_said() {
        let rows = rows(&scenario(), &batches(|_| true), false);
        assert_eq!((rows[0].slices, rows[0].dropped), (0, 30));
        assert_eq!(rows[0].to_baseline.unwrap().median, 0.5);
    }

    #[test]
    fn with_more_threads_than_cpus_switches_are_the_rule() {
        let rows = rows(&scenario(), &batches(|_| true), true);
        assert_eq!((rows[0].slices, rows[0].dropped), (30, 0));
    }

    fn threads() -> [ThreadSample; 2] {
        let start = Instant::now();
        let thread = |after, micros, retries| ThreadSample {
            start: start + Duration::from_micros(after),
            elapsed: Duration::from_micros(micros),
            retries,
            switched: micros > 10,
        };
        [thread(0, 10, 500), thread(20, 30, 1_500)]
    }

    #[test]
    fn threads_are_averaged_and_throughput_is_summed() {
        let sample = SliceSample::side_by_side(&threads(), 1_000);
        assert!((sample.ns_per_op - 20.0).abs() < 1e-9);
        assert!((sample.mops - (100.0 + 1e3 / 30.0)).abs() < 1e-9);
        assert!((sample.retries_per_op - 1.0).abs() < 1e-9);
        assert!(sample.switched);
    }

    #[test]
    fn threads_that_take_turns_are_timed_from_the_first_to_the_last() {
        let sample = SliceSample::taking_turns(&threads(), 1_000);
        assert!((sample.ns_per_op - 50.0).abs() < 1e-9);
        assert!((sample.mops - 40.0).abs() < 1e-9);
        assert!((sample.retries_per_op - 1.0).abs() < 1e-9);
    }
}
