//! Figures and answers in words: the same in a terminal and in HTML.

use crate::result::{Estimate, Machine, Outcome, Point, Report, Scenario, Verdict};

/// A figure with about three digits that count: `0.412`, `5.31`, `52.3`, `1,240`.
pub(super) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    // Decides by the rounded value, so that 9.996 is not printed as 10.00.
    let decimals = match value.abs() {
        0.0 => 0,
        size if size < 0.0995 => 4,
        size if size < 0.9995 => 3,
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    grouped(&format!("{value:.decimals$}"))
}

/// A figure that is exact, without zeros to spare: `0.5`, `25`, `1,000`.
pub(super) fn short(value: f64) -> String {
    let text = number(value);
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A ratio to two decimals below 10, and as [`number`] above. One that is not 1 is not shown as
/// `1.00` as long as a third decimal tells them apart: which side of 1 an interval ends on is its
/// point.
pub(super) fn ratio(value: f64) -> String {
    match value.abs() {
        size if (0.0995..0.995).contains(&size)
            || (1.005..9.995).contains(&size)
            || size == 1.0 =>
        {
            format!("{value:.2}")
        }
        size if (0.995..1.005).contains(&size) => format!("{value:.3}"),
        _ => number(value),
    }
}

/// A whole number with a comma at each thousand.
pub(super) fn whole(value: usize) -> String {
    grouped(&value.to_string())
}

fn grouped(digits: &str) -> String {
    let (whole, rest) = digits.find('.').map_or((digits, ""), |dot| digits.split_at(dot));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let mut text = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + rest
}

/// `[0.40, 0.42]`, with the digits that `show` gives.
pub(super) fn interval(estimate: &Estimate, show: fn(f64) -> String) -> String {
    format!("[{}, {}]", show(estimate.low), show(estimate.high))
}

/// A ratio's verdict on itself: the ratio, or that it is not resolved.
pub(super) fn ratio_or_words(estimate: &Estimate) -> String {
    if estimate.resolved() {
        format!("{}x", ratio(estimate.median))
    } else {
        "not resolved".to_owned()
    }
}

/// Bytes with a binary unit: `48 KiB`, `1 MiB`, `503 GiB`.
pub(super) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    // A float holds every size to three digits, which is what is printed.
    #[allow(clippy::cast_precision_loss)]
    let mut value = bytes as f64;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", short(value), UNITS[unit])
}

/// `1 thread`, `192 threads`.
pub(super) fn counted(count: usize, one: &str) -> String {
    format!("{} {one}{}", whole(count), if count == 1 { "" } else { "s" })
}

/// The words that open a verdict.
pub(super) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Holds => "holds here",
        Outcome::DoesNotHold => "does not hold here",
        Outcome::NotResolved => "not resolved",
        Outcome::NeedsMoreCpus => "needs more CPUs",
    }
}

/// The order in which verdicts are told.
pub(super) const OUTCOMES: [Outcome; 4] =
    [Outcome::Holds, Outcome::DoesNotHold, Outcome::NotResolved, Outcome::NeedsMoreCpus];

/// The whole run in a sentence.
pub(super) fn answer(report: &Report) -> String {
    let verdicts = &report.verdicts;
    if verdicts.is_empty() {
        return "No claim was tested: the figures stand for themselves.".to_owned();
    }
    let count = |outcome| verdicts.iter().filter(|verdict| verdict.outcome == outcome).count();
    let phrase = |outcome| {
        let count = count(outcome);
        let verb = match (outcome, count) {
            (Outcome::Holds, 1) => "holds here",
            (Outcome::Holds, _) => "hold here",
            (Outcome::DoesNotHold, 1) => "does not hold here",
            (Outcome::DoesNotHold, _) => "do not hold here",
            (Outcome::NotResolved, 1) => "is not resolved",
            (Outcome::NotResolved, _) => "are not resolved",
            (Outcome::NeedsMoreCpus, 1) => "needs more CPUs",
            (Outcome::NeedsMoreCpus, _) => "need more CPUs",
        };
        (count > 0).then(|| format!("{count} {verb}"))
    };
    let phrases: Vec<_> = OUTCOMES.into_iter().filter_map(phrase).collect();
    let of = counted(verdicts.len(), "claim");
    match phrases.as_slice() {
        [only] if verdicts.len() == 1 => format!("1 claim was tested: it {}.", &only[2..]),
        [only] => format!("Of {of}, all {only}."),
        [init @ .., last] => format!("Of {of}, {} and {last}.", init.join(", ")),
        [] => unreachable!("every verdict has an outcome"),
    }
}

/// The machine's processor and CPUs in a line.
pub(super) fn machine(machine: &Machine) -> String {
    let name = if machine.cpu.is_empty() { &machine.arch } else { &machine.cpu };
    let mut parts = vec![name.clone(), counted(machine.cpus, "CPU")];
    if machine.cores > 0 && machine.cores != machine.cpus {
        parts.push(counted(machine.cores, "core"));
    }
    if machine.sockets > 1 {
        parts.push(counted(machine.sockets, "socket"));
    }
    parts.join(", ")
}

/// The verdicts in the order they are told: by outcome, and as they came within one.
pub(super) fn ordered(verdicts: &[Verdict]) -> Vec<&Verdict> {
    OUTCOMES
        .into_iter()
        .flat_map(|outcome| verdicts.iter().filter(move |verdict| verdict.outcome == outcome))
        .collect()
}

/// The point that stands for a scenario: the most threads that had a CPU each, or else the first.
pub(super) fn headline(scenario: &Scenario) -> Option<&Point> {
    scenario
        .points
        .iter()
        .filter(|point| !point.oversubscribed)
        .max_by_key(|point| point.threads)
        .or_else(|| scenario.points.first())
}

/// What is to be said of a scenario's disturbed slices: how many were dropped, and where so few
/// were undisturbed that the others count.
pub(super) fn disturbed(scenario: &Scenario) -> Vec<String> {
    let rows =
        || scenario.points.iter().flat_map(|point| point.rows.iter().map(move |row| (point, row)));
    let mut notes = Vec::new();
    let dropped: usize = rows().filter(|(_, row)| row.slices > 0).map(|(_, row)| row.dropped).sum();
    if dropped > 0 {
        let all: usize = rows().map(|(_, row)| row.slices + row.dropped).sum();
        notes.push(format!(
            "{} of {} slices were dropped because a thread was switched out",
            whole(dropped),
            whole(all)
        ));
    }
    let mut kept: Vec<usize> =
        rows().filter(|(_, row)| row.slices == 0).map(|(point, _)| point.threads).collect();
    kept.dedup();
    if let Some((last, rest)) = kept.split_last() {
        let rest: Vec<_> = rest.iter().map(|&threads| format!("{} and ", whole(threads))).collect();
        notes.push(format!(
            "hardly any slice was undisturbed at {}{}: rows of 0 slices are made of disturbed ones",
            rest.concat(),
            counted(*last, "thread")
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixtures;

    #[test]
    fn figures_have_about_three_digits_that_count() {
        let shown: Vec<_> =
            [0.0, 0.01234, 0.4119, 5.312, 9.996, 52.34, 99.97, 1240.4, 1_234_567.0, -1240.0]
                .into_iter()
                .map(number)
                .collect();
        assert_eq!(
            shown,
            ["0", "0.0123", "0.412", "5.31", "10.0", "52.3", "100", "1,240", "1,234,567", "-1,240"]
        );
        assert_eq!(number(f64::NAN), "–");
        assert_eq!(number(f64::INFINITY), "–");
    }

    #[test]
    fn exact_figures_have_no_zeros_to_spare() {
        let shown: Vec<_> = [0.0, 0.25, 0.5, 2.5, 10.0, 1000.0].into_iter().map(short).collect();
        assert_eq!(shown, ["0", "0.25", "0.5", "2.5", "10", "1,000"]);
    }

    #[test]
    fn a_ratio_that_is_not_1_does_not_read_as_1() {
        let shown: Vec<_> = [0.41, 0.996, 1.0, 1.004, 1.2, 12.34].into_iter().map(ratio).collect();
        assert_eq!(shown, ["0.41", "0.996", "1.00", "1.004", "1.20", "12.3"]);
    }

    #[test]
    fn slices_that_count_although_disturbed_are_not_called_dropped() {
        let mut report = fixtures::one_cpu();
        let scenario = &mut report.groups[0].scenarios[0];
        assert!(disturbed(scenario).is_empty());
        let row = &mut scenario.points[0].rows[0];
        (row.slices, row.dropped) = (0, 40);
        let notes = disturbed(scenario);
        assert_eq!(notes.len(), 1);
        assert!(notes[0].starts_with("hardly any slice was undisturbed at 1 thread"), "{notes:?}");
    }

    #[test]
    fn sizes_have_the_largest_unit_that_fits() {
        assert_eq!(bytes(48 << 10), "48 KiB");
        assert_eq!(bytes(1 << 20), "1 MiB");
        assert_eq!(bytes(540_659_138_560), "504 GiB");
        assert_eq!(bytes(100 << 20), "100 MiB");
        assert_eq!(bytes(7 << 39), "3.5 TiB");
    }

    #[test]
    fn the_answer_counts_each_outcome_once() {
        assert_eq!(
            answer(&fixtures::xeon()),
            "Of 4 claims, 2 hold here, 1 does not hold here and 1 is not resolved."
        );
        let mut report = fixtures::xeon();
        report.verdicts.truncate(1);
        assert_eq!(answer(&report), "1 claim was tested: it holds here.");
        report.verdicts.clear();
        assert!(answer(&report).starts_with("No claim"));
    }

    #[test]
    fn the_headline_has_a_cpu_for_each_thread() {
        let report = fixtures::xeon();
        let point = headline(&report.groups[0].scenarios[0]).unwrap();
        assert_eq!((point.threads, point.oversubscribed), (192, false));
    }
}
