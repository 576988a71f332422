//! Where ratios lie in a plot: on a logarithmic scale with 1 in its middle.

use tenure_model::ComparedBenchmark;

/// A plot reaches at least so far from 1.
const MIN_REACH: f64 = 1.05;

/// How far from 1 the plot of these reaches.
pub(super) fn reach(rows: &[ComparedBenchmark]) -> f64 {
    let ends = rows.iter().flat_map(|row| row.speedup.range).map(|end| end.max(1.0 / end));
    ends.filter(|end| end.is_finite()).fold(MIN_REACH, f64::max)
}

/// The place of a ratio, from 0 to 1.
pub(super) fn place(ratio: f64, reach: f64) -> f64 {
    f64::midpoint((ratio.ln() / reach.ln()).clamp(-1.0, 1.0), 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_and_its_inverse_are_as_far_from_the_middle() {
        let places = [0.1, 0.5, 1.0, 2.0, 10.0].map(|ratio| place(ratio, 4.0));
        assert_eq!(places, [0.0, 0.25, 0.5, 0.75, 1.0]);
    }
}
