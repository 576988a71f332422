//! Medians, and intervals that assume no distribution.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A median with a distribution-free interval of at least 95 % (from six values on).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The median.
    pub median: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// The fewest values with an interval of about 95 %.
pub const MIN_VALUES: usize = 6;

/// `None` of nothing.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// The median of independent `values` with an interval that covers the true median in at least 95 % of all repetitions,
/// whatever the values' distribution.
///
/// The ends are the k-th smallest and the k-th largest value, where k is the largest number for which fewer than k
/// successes in n fair coin tosses have a probability of at most 2.5 %. Below [`MIN_VALUES`] values no pair covers 95 %,
/// and the ends are the smallest and the largest.
///
/// Source: the sign test's interval; H. A. David and H. N. Nagaraja, *Order Statistics*, 7.1.
#[must_use]
pub fn estimate(values: &[f64]) -> Option<Estimate> {
    estimate_among(values, 1)
}

/// The same for one of `count` series: all intervals at once cover their medians in at least 95 % of all repetitions, by
/// Bonferroni's inequality. It takes [`min_values`] values.
#[must_use]
pub fn estimate_among(values: &[f64], count: usize) -> Option<Estimate> {
    let sorted = sorted(values);
    let k = rank(sorted.len(), tail(count));
    Some(Estimate { median: median(&sorted)?, low: sorted[k - 1], high: sorted[sorted.len() - k] })
}

/// The fewest values of each of `count` series with intervals that all cover at once.
#[must_use]
pub fn min_values(count: usize) -> usize {
    // The least and the most of n values miss the median with a probability of 2^-n each.
    (-tail(count).log2()).ceil() as usize
}

/// The probability that one end of an interval may miss.
fn tail(count: usize) -> f64 {
    0.025 / count.max(1) as f64
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn rank(n: usize, tail: f64) -> usize {
    let mut probability = 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX)); // of 0 successes
    let mut cumulated = probability;
    let mut k = 0;
    while cumulated <= tail {
        k += 1;
        probability *= (n - k + 1) as f64 / k as f64;
        cumulated += probability;
    }
    k.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_is_that_of_published_tables() {
        // Order Statistics, table of confidence intervals for the median, 95 %.
        for (n, k) in [(6, 1), (8, 1), (9, 2), (12, 3), (15, 4), (20, 6), (25, 8), (50, 18)] {
            assert_eq!(rank(n, tail(1)), k, "n = {n}");
        }
    }

    #[test]
    fn intervals_of_several_series_take_more_values_and_are_wider() {
        assert_eq!([1, 2, 10, 40].map(min_values), [MIN_VALUES, 7, 9, 11]);
        let values: Vec<f64> = (0..20).map(f64::from).collect();
        let [one, many] = [1, 20].map(|count| estimate_among(&values, count).unwrap());
        assert_eq!((one.low, one.high), (5.0, 14.0));
        assert!(many.low < one.low && many.high > one.high);
    }

    #[test]
    fn too_few_values_give_their_range() {
        let estimate = estimate(&[3.0, 1.0, 2.0]).unwrap();
        assert_eq!((estimate.low, estimate.median, estimate.high), (1.0, 2.0, 3.0));
    }

    #[test]
    fn nothing_has_no_median() {
        assert_eq!(median(&[]), None);
        assert_eq!(super::estimate(&[]), None);
    }

    #[test]
    fn one_outlier_does_not_move_the_interval() {
        let calm: Vec<f64> = (0..15).map(f64::from).collect();
        let mut disturbed = calm.clone();
        disturbed[14] = 1e9;
        assert_eq!(estimate(&calm), estimate(&disturbed));
    }

    #[test]
    fn the_interval_covers_the_median_as_often_as_it_says() {
        let mut random = fastrand::Rng::with_seed(1);
        let repetitions = 4_000;
        let covered = (0..repetitions)
            .filter(|_| {
                // Skewed, with a median of 0.25.
                let values: Vec<f64> = (0..15).map(|_| random.f64().powi(2)).collect();
                let estimate = estimate(&values).unwrap();
                estimate.low <= 0.25 && 0.25 <= estimate.high
            })
            .count();
        let share = covered as f64 / f64::from(repetitions);
        assert!((0.95..0.985).contains(&share), "{share}");
    }
}
