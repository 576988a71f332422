//! The words of all formats.

use tenure_model::{
    Better, ComparedBenchmark, ComparedSide, Comparison, ComparisonEnd, ComparisonVerdict, Speedup,
};
use tenure_report::numbers::{counted, number, ratio, scaled};

/// Where more rounds than this are missing, no one would run them: what is measured is too noisy.
const MAX_ROUNDS_SHOWN: u64 = 1000;

/// How the interval of a speedup is written.
pub(super) fn interval(speedup: Speedup) -> String {
    let [low, high] = speedup.range.map(ratio);
    format!("[{low}, {high}]")
}

/// What a benchmark shows: a clause.
pub(crate) fn verdict(row: &ComparedBenchmark) -> String {
    let Speedup { median, range: [low, high] } = row.speedup;
    match row.verdict {
        ComparisonVerdict::Faster => {
            format!("{}× faster {}", ratio(median), interval(row.speedup))
        }
        ComparisonVerdict::Slower => {
            let slower = Speedup { median: 1.0 / median, range: [1.0 / high, 1.0 / low] };
            format!("{}× slower {}", ratio(slower.median), interval(slower))
        }
        ComparisonVerdict::NoDifference { within } => {
            format!("no difference larger than {}", percent(within))
        }
        ComparisonVerdict::TooFewRounds { more_rounds } => {
            let more = counted(more_rounds, "more round");
            format!("about {}×, too few rounds to be sure: {more}", ratio(median))
        }
        ComparisonVerdict::NotResolved { more_rounds } => {
            let more = match more_rounds {
                ..=MAX_ROUNDS_SHOWN => format!("about {}", counted(more_rounds, "more round")),
                _ => format!("over {MAX_ROUNDS_SHOWN} more rounds"),
            };
            format!("not resolved {}: {more} would show 5 %", interval(row.speedup))
        }
    }
}

/// A part in per cent, rounded up: it is a bound.
fn percent(part: f64) -> String {
    // Less the error of floating point.
    let percent = (part * 1000.0 - 1e-6).ceil() / 10.0;
    format!("{} %", number(percent.max(0.1)).trim_end_matches('0').trim_end_matches('.'))
}

/// A figure with its unit, of which times get one that suits them.
pub(super) fn figure(value: f64, unit: &str) -> String {
    const TIMES: [(&str, f64); 4] = [("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0)];
    match unit {
        "ns" => {
            let (unit, size) =
                TIMES.into_iter().find(|(_, size)| value >= *size).unwrap_or(("ns", 1.0));
            format!("{} {unit}", number(value / size))
        }
        "" => number(value),
        // `1.2 M ops/s`
        rate if rate.contains("/s") => {
            let figure = scaled(value);
            format!("{figure}{}{rate}", if rate.starts_with('/') { "" } else { " " })
        }
        unit => format!("{} {unit}", number(value)),
    }
}

/// The benchmark's name with its number of threads; what is measured if it has none.
pub(super) fn name(row: &ComparedBenchmark, metric: &str) -> String {
    let name = if row.name.is_empty() { metric } else { &row.name };
    row.threads.map_or_else(|| name.to_owned(), |it| format!("{name}, {}", counted(it, "thread")))
}

/// What was run.
pub(super) fn shown(side: &ComparedSide) -> String {
    match &side.revision {
        Some(revision) => format!("{} ({revision})", side.command),
        None => side.command.clone(),
    }
}

/// How it was measured: sentences.
pub(super) fn measured(it: &Comparison) -> String {
    let rounds = counted(it.rounds, "round");
    let end = match it.ended {
        ComparisonEnd::Narrow => ", until every interval was narrow enough",
        ComparisonEnd::Rounds => ", as many as were asked for",
        ComparisonEnd::Time => ", until time was up",
        ComparisonEnd::Interrupted => ", until it was interrupted",
        ComparisonEnd::Failed => ", until a command failed",
    };
    let metric = capital(&it.metric);
    format!(
        "{metric}. {rounds} in {}{end}. Each runs before, after, and before again.",
        duration(it.seconds)
    )
}

pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|it| it.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn duration(seconds: f64) -> String {
    match seconds {
        ..1.0 => "under 1 s".to_owned(),
        ..100.0 => format!("{seconds:.0} s"),
        ..6000.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// What the reader has to know besides: sentences without a period.
pub(super) fn notes(it: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(control(it));
    notes.extend(disturbed(it));
    if it.rows.len() > 1 {
        let all = match it.rows.len() {
            2 => "both".to_owned(),
            count => format!("all {count}"),
        };
        notes.push(format!(
            "The intervals of {all} benchmarks together contain the true ratios with a probability of 95 %"
        ));
    }
    notes.extend(it.notes.iter().map(|note| capital(note)));
    notes
}

/// What `before` against itself shows.
fn control(it: &Comparison) -> Option<String> {
    let distance = |row: &&ComparedBenchmark| {
        row.control.range.map(f64::ln).map(f64::abs).into_iter().fold(0.0, f64::max)
    };
    let is_apart = |row: &&ComparedBenchmark| {
        let [low, high] = row.control.range;
        // Too few rounds give a range that is no interval yet.
        let is_interval = !matches!(row.verdict, ComparisonVerdict::TooFewRounds { .. });
        is_interval && (low > 1.0 || high < 1.0)
    };
    if let Some(row) = it.rows.iter().find(is_apart) {
        let of = if it.rows.len() > 1 {
            format!(" of {}", name(row, &it.metric))
        } else {
            String::new()
        };
        return Some(format!(
            "Control: the second run of before{of} is {} times as fast as the first, {}. Equal programs differ here, so only more than that counts",
            ratio(row.control.median),
            interval(row.control)
        ));
    }
    let widest = it.rows.iter().max_by(|one, other| distance(one).total_cmp(&distance(other)))?;
    let [low, high] = widest.control.range.map(ratio);
    Some(format!("Control: before against itself is {low} to {high}"))
}

/// Which rounds were disturbed, and what is left without them.
fn disturbed(it: &Comparison) -> Option<String> {
    let rounds = it.rows.iter().flat_map(|row| &row.rounds).filter(|round| round.disturbed);
    let most = rounds.map(|round| round.others).fold(0.0, f64::max);
    let count =
        it.rows.iter().map(|row| row.rounds.iter().filter(|it| it.disturbed).count()).max()?;
    if count == 0 {
        return None;
    }
    let without = match &it.rows[..] {
        [ComparedBenchmark { undisturbed: Some(speedup), .. }] => {
            format!(". Without them: {}× {}", ratio(speedup.median), interval(*speedup))
        }
        _ => String::new(),
    };
    Some(format!(
        "Other programs took CPUs in {count} of {}, up to {} of {}{without}",
        counted(it.rounds, "round"),
        number(most),
        counted(it.cpus, "CPU")
    ))
}

/// Which direction is better, for the axis of a chart.
pub(super) fn better(better: Better) -> &'static str {
    match better {
        Better::Lower => "lower is better",
        Better::Higher => "higher is better",
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures;
    use super::*;

    #[test]
    fn a_bound_is_rounded_up() {
        assert_eq!([0.02, 0.0201, 0.0004, 0.1].map(percent), ["2 %", "2.1 %", "0.1 %", "10 %"]);
    }

    #[test]
    fn a_figure_has_a_unit_that_suits_it() {
        for (value, unit, expected) in [
            (812.0, "ns", "812 ns"),
            (0.5, "ns", "0.500 ns"),
            (81_200.0, "ns", "81.2 µs"),
            (1.5e9, "ns", "1.50 s"),
            (1_234_567.0, "ops/s", "1.2 M ops/s"),
            (8_000.0, "/s", "8 k/s"),
            (12.0, "B/op", "12.0 B/op"),
            (3.0, "", "3.00"),
        ] {
            assert_eq!(figure(value, unit), expected);
        }
    }

    #[test]
    fn each_verdict_is_a_clause() {
        let words: Vec<_> = fixtures::many().rows.iter().map(verdict).collect();
        assert_eq!(
            words,
            [
                "1.31× faster [1.24, 1.38]",
                "1.25× slower [1.20, 1.30]",
                "no difference larger than 2.1 %",
                "not resolved [0.93, 1.08]: about 40 more rounds would show 5 %",
                "about 0.60×, too few rounds to be sure: 1 more round",
            ]
        );
    }

    #[test]
    fn what_no_number_of_rounds_shows_has_no_number() {
        let mut row = fixtures::one().rows.remove(0);
        row.verdict = ComparisonVerdict::NotResolved { more_rounds: 13_450 };
        assert!(verdict(&row).ends_with("]: over 1000 more rounds would show 5 %"));
    }

    #[test]
    fn two_benchmarks_are_both() {
        let mut comparison = fixtures::many();
        comparison.rows.truncate(2);
        let said = notes(&comparison);
        assert!(said.iter().any(|note| note.starts_with("The intervals of both benchmarks")));
    }

    #[test]
    fn a_control_that_is_not_1_is_said_to_matter() {
        let mut comparison = fixtures::one();
        assert_eq!(notes(&comparison)[0], "Control: before against itself is 0.99 to 1.01");
        comparison.rows[0].control = Speedup { median: 1.1, range: [1.05, 1.15] };
        assert!(notes(&comparison)[0].ends_with("so only more than that counts"));
        comparison.rows[0].verdict = ComparisonVerdict::TooFewRounds { more_rounds: 4 };
        assert_eq!(notes(&comparison)[0], "Control: before against itself is 1.05 to 1.15");
    }

    #[test]
    fn disturbed_rounds_are_counted_and_what_is_left_is_said() {
        let mut comparison = fixtures::one();
        comparison.rows[0].rounds[2].disturbed = true;
        comparison.rows[0].rounds[2].others = 0.93;
        comparison.rows[0].undisturbed = Some(Speedup { median: 1.3, range: [1.25, 1.35] });
        assert_eq!(
            notes(&comparison)[1],
            "Other programs took CPUs in 1 of 6 rounds, up to 0.930 of 2 CPUs. Without them: 1.30× [1.25, 1.35]"
        );
    }
}
