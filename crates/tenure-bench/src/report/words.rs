//! Figures and answers in words: the same in a terminal and in HTML.

pub(super) use tenure_report::words::{bytes, counted, number, ratio, short, whole};

use crate::result::{Point, Report, Scenario};
use tenure_report::stats::Estimate;
use tenure_report::verdict;

/// A ratio's verdict on itself: the ratio, or that it is not resolved.
pub(crate) fn ratio_or_words(estimate: &Estimate) -> String {
    if estimate.resolved() {
        format!("{}x", ratio(estimate.median))
    } else {
        "not resolved".to_owned()
    }
}

/// The whole run in a sentence.
pub(super) fn conclusion(report: &Report) -> String {
    if report.interrupted {
        return "The run was interrupted: no claim is judged.".to_owned();
    }
    verdict::answer(&report.verdicts, report.settings.quick)
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

/// What is to be said of rounds that were left out and of disturbed slices: how many were dropped, and where so few were
/// undisturbed that the others count.
pub(super) fn disturbed(scenario: &Scenario) -> Vec<String> {
    let rows =
        || scenario.points.iter().flat_map(|point| point.rows.iter().map(move |row| (point, row)));
    let mut notes = Vec::new();
    let sum = |of: fn(&Point) -> usize| scenario.points.iter().map(of).sum::<usize>();
    let (measured, left_out) = (sum(|point| point.rounds), sum(|point| point.left_out));
    if left_out > 0 {
        notes.push(format!(
            "{} of {} rounds were dropped: the machine was busy, and the time for them was up",
            whole(left_out),
            whole(measured + left_out)
        ));
    }
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
    fn rounds_that_were_left_out_are_counted() {
        let mut report = fixtures::xeon();
        let scenario = &mut report.groups[0].scenarios[0];
        (scenario.points[0].rounds, scenario.points[0].left_out) = (300, 900);
        let first = disturbed(scenario).remove(0);
        assert!(
            first.starts_with("900 of 1,200 rounds were dropped: the machine was busy"),
            "{first}"
        );
    }

    #[test]
    fn a_quick_run_and_one_that_was_interrupted_say_that_they_judge_nothing() {
        let mut report = fixtures::xeon();
        report.settings.quick = true;
        assert!(conclusion(&report).starts_with("A quick run judges no claim"));
        report.interrupted = true;
        assert!(conclusion(&report).starts_with("The run was interrupted"));
    }

    #[test]
    fn the_answer_counts_each_outcome_once() {
        assert_eq!(
            conclusion(&fixtures::xeon()),
            "Of 4 claims, 2 hold here, 1 does not hold here and 1 is not resolved."
        );
        let mut report = fixtures::xeon();
        report.verdicts.truncate(1);
        assert_eq!(conclusion(&report), "1 claim was tested: it holds here.");
        report.verdicts.clear();
        assert!(conclusion(&report).starts_with("No claim"));
    }

    #[test]
    fn the_headline_has_a_cpu_for_each_thread() {
        let report = fixtures::xeon();
        let point = headline(&report.groups[0].scenarios[0]).unwrap();
        assert_eq!((point.threads, point.oversubscribed), (192, false));
    }
}
