//! From the figures of the rounds to a verdict.
//!
//! A round runs before, after, and before again; every other round runs them backwards, so that a machine that gets faster or
//! slower favours neither. Its ratio compares `after` with the geometric mean of both runs of `before`. The control compares
//! the second run of `before` with the first: its median is 1 if the machine treats equal programs equally.

use tenure_model::{Better, ComparedBenchmark, ComparedRound, ComparisonVerdict, Speedup};
use tenure_report::stats::{estimate_among, median, min_values};

/// The largest difference that is called none.
const NEGLIGIBLE: f64 = 0.03;
/// The difference that the number of further rounds is for.
const WORTH_SHOWING: f64 = 0.05;

/// A benchmark at one number of threads, and its rounds so far.
#[derive(Debug, Clone)]
pub struct BenchmarkSeries {
    /// The benchmark's name.
    pub name: String,
    /// The number of threads.
    pub threads: Option<u64>,
    /// The unit of its figures.
    pub unit: String,
    /// Which figure is the better one.
    pub better: Better,
    /// Its rounds. All figures are above 0.
    pub rounds: Vec<ComparedRound>,
}

impl BenchmarkSeries {
    /// Its name in a message.
    pub(crate) fn shown(&self) -> String {
        let name = if self.name.is_empty() { "the benchmark" } else { &self.name };
        self.threads.map_or_else(|| name.to_owned(), |it| format!("{name} with {it} threads"))
    }

    /// What the rounds show, if this is one of `count` series. `None` before the first round.
    #[must_use]
    pub fn judged(&self, count: usize) -> Option<ComparedBenchmark> {
        let before: Vec<f64> = self.rounds.iter().flat_map(|it| [it.before, it.again]).collect();
        let after: Vec<f64> = self.rounds.iter().map(|it| it.after).collect();
        let calm: Vec<_> = self.rounds.iter().filter(|it| !it.disturbed).copied().collect();
        let is_told_apart = calm.len() < self.rounds.len() && calm.len() >= min_values(count);
        let speedup = self.speedup(&self.rounds, count)?;
        let control = ratio(&self.rounds, count, |it| self.better.faster(it.again, it.before))?;
        Some(ComparedBenchmark {
            name: self.name.clone(),
            threads: self.threads,
            unit: self.unit.clone(),
            better: self.better,
            before: median(&before)?,
            after: median(&after)?,
            speedup,
            control,
            undisturbed: is_told_apart.then(|| self.speedup(&calm, count)).flatten(),
            verdict: verdict(speedup, control, self.rounds.len(), min_values(count)),
            rounds: self.rounds.clone(),
        })
    }

    fn speedup(&self, rounds: &[ComparedRound], count: usize) -> Option<Speedup> {
        ratio(rounds, count, |it| it.speedup(self.better))
    }
}

/// How far the interval reaches from its median, as a part of it.
#[must_use]
pub fn half_width(speedup: Speedup) -> f64 {
    let [low, high] = speedup.range;
    (high / speedup.median).max(speedup.median / low) - 1.0
}

/// Whether the width of intervals may end the measuring after so many rounds: at the `min`th, and each time a third more came.
/// To ask after every round would let a lucky streak end it, and intervals would miss more often than they say.
#[must_use]
pub fn may_stop(rounds: usize, min: usize) -> bool {
    let mut at = min;
    while at < rounds {
        at += at.div_ceil(3);
    }
    at == rounds
}

fn ratio(
    rounds: &[ComparedRound],
    count: usize,
    of: impl Fn(&ComparedRound) -> f64,
) -> Option<Speedup> {
    let ratios: Vec<f64> = rounds.iter().map(of).collect();
    let estimate = estimate_among(&ratios, count)?;
    Some(Speedup { median: estimate.median, range: [estimate.low, estimate.high] })
}

fn verdict(
    speedup: Speedup,
    control: Speedup,
    rounds: usize,
    min_rounds: usize,
) -> ComparisonVerdict {
    if rounds < min_rounds {
        return ComparisonVerdict::TooFewRounds { more_rounds: (min_rounds - rounds) as u64 };
    }
    let [low, high] = speedup.range;
    // A control that is not 1 shows how far equal programs are apart here: only more than that is a difference.
    let apart = match control.range {
        [least, _] if least > 1.0 => control.range[1],
        [_, most] if most < 1.0 => 1.0 / control.range[0],
        _ => 1.0,
    };
    let reach = high.max(1.0 / low) - 1.0;
    match () {
        () if low > apart => ComparisonVerdict::Faster,
        () if high < 1.0 / apart => ComparisonVerdict::Slower,
        () if reach <= NEGLIGIBLE => ComparisonVerdict::NoDifference { within: reach },
        () => ComparisonVerdict::NotResolved { more_rounds: more_rounds(speedup, rounds) },
    }
}

/// How many more rounds a difference of 5 % takes: an interval narrows with the square root of their number.
fn more_rounds(speedup: Speedup, rounds: usize) -> u64 {
    let times = (half_width(speedup) / WORTH_SHOWING).powi(2);
    // At least one: this many did not show it.
    (rounds as f64 * (times - 1.0)).ceil().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(better: Better, figures: impl IntoIterator<Item = [f64; 3]>) -> BenchmarkSeries {
        let round = |[before, after, again]: [f64; 3]| ComparedRound {
            before,
            after,
            again,
            others: 0.0,
            disturbed: false,
        };
        let rounds = figures.into_iter().map(round).collect();
        BenchmarkSeries {
            name: String::new(),
            threads: None,
            unit: "ns".to_owned(),
            better,
            rounds,
        }
    }

    /// Figures of `rounds` rounds of programs that take 1 and `ratio`, each run with up to `noise` more.
    fn noisy(seed: u64, rounds: usize, ratio: f64, noise: f64) -> BenchmarkSeries {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut run = |time: f64| time * (1.0 + noise * random.f64());
        series(Better::Lower, (0..rounds).map(|_| [run(1.0), run(ratio), run(1.0)]))
    }

    #[test]
    fn a_time_that_is_shorter_and_a_rate_that_is_higher_are_faster() {
        for (better, after, expected) in [
            (Better::Lower, 0.5, ComparisonVerdict::Faster),
            (Better::Lower, 2.0, ComparisonVerdict::Slower),
            (Better::Higher, 2.0, ComparisonVerdict::Faster),
            (Better::Higher, 0.5, ComparisonVerdict::Slower),
        ] {
            let judged = series(better, [[1.0, after, 1.0]; 6]).judged(1).unwrap();
            assert_eq!(judged.verdict, expected);
            let is_faster = expected == ComparisonVerdict::Faster;
            assert_eq!(judged.speedup.median, if is_faster { 2.0 } else { 0.5 });
            assert_eq!((judged.before, judged.after), (1.0, after));
        }
    }

    #[test]
    fn too_few_rounds_resolve_nothing() {
        let five = series(Better::Lower, [[1.0, 0.1, 1.0]; 5]);
        let more_rounds = |count| match five.judged(count).unwrap().verdict {
            ComparisonVerdict::TooFewRounds { more_rounds } => more_rounds,
            verdict => panic!("{verdict:?}"),
        };
        assert_eq!((more_rounds(1), more_rounds(10)), (1, 4));
        assert!(series(Better::Lower, []).judged(1).is_none());
    }

    #[test]
    fn equal_programs_are_equal_in_a_calm_place_and_not_resolved_in_a_noisy_one() {
        let calm = noisy(1, 12, 1.0, 0.01).judged(1).unwrap();
        assert!(
            matches!(calm.verdict, ComparisonVerdict::NoDifference { within } if within < 0.01),
            "{calm:?}"
        );
        let noisy = noisy(1, 12, 1.0, 0.5).judged(1).unwrap();
        assert!(
            matches!(noisy.verdict, ComparisonVerdict::NotResolved { more_rounds } if more_rounds > 50),
            "{noisy:?}"
        );
    }

    #[test]
    fn what_sets_equal_programs_apart_is_no_speedup() {
        let drifting = series(Better::Lower, [[1.2, 0.98, 1.0]; 8]).judged(1).unwrap();
        assert_eq!(drifting.control.median, 1.2);
        assert!(drifting.speedup.range[0] > 1.0, "{drifting:?}");
        assert!(matches!(drifting.verdict, ComparisonVerdict::NotResolved { .. }), "{drifting:?}");
        let reversed = series(Better::Lower, [[1.0, 1.2, 1.2]; 8]).judged(1).unwrap();
        assert!(matches!(reversed.verdict, ComparisonVerdict::NotResolved { .. }), "{reversed:?}");
        let large = series(Better::Lower, [[1.2, 0.5, 1.0]; 8]).judged(1).unwrap();
        assert_eq!(large.verdict, ComparisonVerdict::Faster);
    }

    #[test]
    fn disturbed_rounds_stay_and_are_left_out_beside() {
        let mut series = series(Better::Lower, [[1.0, 0.5, 1.0]; 13]);
        for round in &mut series.rounds[..6] {
            *round = ComparedRound { after: 2.0, disturbed: true, ..*round };
        }
        let judged = series.judged(1).unwrap();
        assert_eq!(judged.rounds.len(), 13);
        assert_eq!(judged.speedup.range, [0.5, 2.0]);
        assert_eq!(judged.undisturbed.unwrap().range, [2.0, 2.0]);
        series.rounds.truncate(10);
        assert_eq!(series.judged(1).unwrap().undisturbed, None, "too few are left");
    }

    /// What a user relies on: of comparisons that stop at a width, and say that there is a difference, few are wrong.
    #[test]
    fn equal_programs_are_rarely_called_different_though_rounds_stop_at_a_width() {
        const TRIALS: u64 = 1_000;
        let is_wrong = |seed: &u64| {
            let all = noisy(*seed, 40, 1.0, 0.3);
            let judged = (6..=40).filter(|it| may_stop(*it, 6) || *it == 40).find_map(|rounds| {
                let some = BenchmarkSeries { rounds: all.rounds[..rounds].to_vec(), ..all.clone() };
                let judged = some.judged(1)?;
                (rounds == 40 || half_width(judged.speedup) < 0.05).then_some(judged)
            });
            matches!(judged.unwrap().verdict, ComparisonVerdict::Faster | ComparisonVerdict::Slower)
        };
        let wrong = (0..TRIALS).filter(is_wrong).count();
        assert!(wrong < 60, "{wrong} of {TRIALS}");
    }

    #[test]
    fn the_rounds_that_are_asked_for_show_a_difference_of_5_per_cent() {
        let few = noisy(3, 10, 0.95, 0.3).judged(1).unwrap();
        let ComparisonVerdict::NotResolved { more_rounds } = few.verdict else {
            panic!("{few:?}");
        };
        let rounds = 10 + usize::try_from(more_rounds).unwrap();
        assert!((20..400).contains(&rounds), "{rounds}");
        let more = noisy(3, rounds, 0.95, 0.3).judged(1).unwrap();
        assert!(half_width(more.speedup) < 0.06, "{more:?}");
    }
}
