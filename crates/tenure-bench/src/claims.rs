//! What the figures say about this project's claims, in plain words.

use crate::result::{BenchRow, ResultGroup, ResultScenario};
use crate::simulate;
use tenure_report::numbers::counted;
use tenure_report::stats::Estimate;
use tenure_report::verdict::{Outcome, Verdict};

use Against::{Baseline, Limit, Rival};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    OneThread,
    AllCpus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Against {
    Baseline,
    Limit,
    Rival(&'static str),
    /// The variant on one thread: compared by the time from one operation to the next, whichever thread does them.
    OneThread,
}

/// The variant takes at most `at_most` times as long as the other row.
#[derive(Debug, Clone, Copy)]
struct ClaimCheck {
    variant: &'static str,
    at: At,
    against: Against,
    at_most: f64,
}

struct ClaimRule {
    text: &'static str,
    scenario: &'static str,
    checks: &'static [ClaimCheck],
}

macro_rules! claims {
    ($($scenario:literal: $text:literal, $checks:expr;)*) => {
        &[$(ClaimRule { text: $text, scenario: $scenario, checks: &$checks }),*]
    };
}

/// Ratios are times: "at least 0.95 of the throughput" is "at most 1 / 0.95 of the time".
const CLAIMS: &[ClaimRule] = claims! {
    "refs/get-put": "On one thread a get and put cost what the two bare atomic operations cost",
        [alone("rcuref", Limit, 1.05), alone("ticket", Limit, 1.10)];
    "refs/get-put": "With all CPUs on one object they keep 0.95 of the bare operations' throughput",
        [together("rcuref", Limit, 1.0 / 0.95), together("ticket", Limit, 1.0 / 0.95)];
    "refs/get-put": "With all CPUs on one object, get and put beat the compare-exchange loop by 1.2x",
        [together("rcuref", Baseline, 1.0 / 1.2), together("ticket", Baseline, 1.0 / 1.2)];
    "refs/get": "With all CPUs on one object a get takes at most 0.6 of the compare-exchange loop's time",
        [together("rcuref", Baseline, 0.6), together("ticket", Baseline, 0.6)];
    "refs/upgrade": "Weak::upgrade and drop take at most 0.85 of std's time on one thread",
        [alone("tenure", Baseline, 0.85)];
    "refs/upgrade": "Weak::upgrade and drop take at most 0.95 of std's time with all CPUs on one object",
        [together("tenure", Baseline, 0.95)];
    "refs/clone": "Arc::clone and drop cost what std's cost",
        [alone("tenure", Baseline, 1.03), together("tenure", Baseline, 1.03)];
    "refs/new": "Arc::new and drop cost what std's cost",
        [alone("tenure", Baseline, 1.03)];
    "dst/cells": "With all CPUs on one route, both repairs together beat neither",
        [together("isolated + rcuref", Baseline, 1.0)];
    "dst/packet": "As packets use it, with work in between, both repairs together beat neither",
        [together("isolated + rcuref", Baseline, 1.0)];
    "pool/in-use-10": "Acquire and release take at most half of crossbeam's ArrayQueue's time on one thread",
        [alone("magazines", Baseline, 0.5)];
    "pool/in-use-10": "All CPUs together acquire and release at least 1.8 times as often as one",
        [together("magazines", Against::OneThread, 1.0 / 1.8)];
    "pool/in-use": "Acquire and release take the same with 100,000 slots in use as with 10",
        [alone("100000 in use", Baseline, 1.3), together("100000 in use", Baseline, 1.3)];
    "pool/in-use-200": "With 200 in use they beat the walk as published by 100x, and at its best by 10x",
        [alone("magazines", Baseline, 1.0 / 100.0), together("magazines", Baseline, 1.0 / 100.0),
         alone("magazines", Rival("scan"), 1.0 / 10.0), together("magazines", Rival("scan"), 1.0 / 10.0)];
    "pool/in-use-1000": "With 1,000 in use they beat the walk as published by 500x, and at its best by 50x",
        [alone("magazines", Baseline, 1.0 / 500.0), together("magazines", Baseline, 1.0 / 500.0),
         alone("magazines", Rival("scan"), 1.0 / 50.0), together("magazines", Rival("scan"), 1.0 / 50.0)];
    "pool/one-way": "Where one thread acquires and another releases, a slot takes at most 0.4 of ArrayQueue's time",
        [together("magazines", Baseline, 0.4)];
    "revocable/same": "A local handle that enters what it had takes at most 0.35 of a counted switch's time on one thread",
        [alone("shootdown", Baseline, 0.35)];
    "revocable/same": "All CPUs together enter one object at least 1.9 times as often as one",
        [together("shootdown", Against::OneThread, 1.0 / 1.9)];
    "revocable/same": "With all CPUs on one object, switches that are not counted beat those that are by 20x",
        [together("shootdown", Baseline, 1.0 / 20.0)];
    "revocable/read": "An RcuReader takes at most 0.3 of the time of arc-swap's load",
        [alone("RcuReader", Baseline, 0.3), together("RcuReader", Baseline, 0.3)];
    "revocable/read": "An RcuReader takes at most the time of arc-swap's Cache, which keeps what it read alive",
        [alone("RcuReader", Rival("arc-swap Cache"), 1.0), together("RcuReader", Rival("arc-swap Cache"), 1.0)];
    "revocable/end": "The end of an object waits for no parked handle: 1,024 of them add at most half to its time",
        [together("64 parked", Baseline, 1.1), together("1024 parked", Baseline, 1.5)];
    "registry/hit":
        "To acquire and drop the one key there is takes a locked map's time at most, and half of it with all CPUs",
        [alone("registry", Baseline, 1.0), together("registry", Baseline, 0.5)];
    "registry/spread": "With many keys it takes a locked map's time at most, and a fifth of it with all CPUs",
        [alone("registry", Baseline, 1.0), together("registry", Baseline, 0.2)];
};

const fn alone(variant: &'static str, against: Against, at_most: f64) -> ClaimCheck {
    ClaimCheck { variant, at: At::OneThread, against, at_most }
}

const fn together(variant: &'static str, against: Against, at_most: f64) -> ClaimCheck {
    ClaimCheck { variant, at: At::AllCpus, against, at_most }
}

/// Judges every claim whose scenario was measured where the claim looks.
pub(crate) fn judge(groups: &[ResultGroup], cpus: usize) -> Vec<Verdict> {
    let scenarios: Vec<&ResultScenario> =
        groups.iter().flat_map(|group| &group.scenarios).collect();
    let mut verdicts: Vec<Verdict> = CLAIMS
        .iter()
        .filter_map(|claim| {
            let scenario = scenarios.iter().find(|scenario| scenario.id == claim.scenario)?;
            judge_claim(claim, scenario, cpus)
        })
        .collect();
    verdicts.extend(scenarios.iter().find_map(|scenario| judge_retries(scenario, cpus)));
    verdicts
}

fn judge_claim(claim: &ClaimRule, scenario: &ResultScenario, cpus: usize) -> Option<Verdict> {
    let verdict = |outcome, detail| Verdict {
        claim: claim.text.to_owned(),
        outcome,
        detail,
        scenario: claim.scenario.to_owned(),
    };
    if cpus < 2 && claim.checks.iter().any(|check| check.at == At::AllCpus) {
        let shown = shown_elsewhere(claim.scenario);
        let detail = format!("one CPU has no other to contend with; {shown}");
        return Some(verdict(Outcome::NeedsMoreCpus, detail));
    }
    let mut worst = Outcome::Holds;
    let mut details = Vec::new();
    for check in claim.checks {
        let ratio = find(scenario, check, cpus)?;
        worst = worst.worse(Outcome::at_most(&ratio, check.at_most));
        details.push(describe(check, ratio, cpus));
    }
    Some(verdict(worst, details.join("; ")))
}

fn shown_elsewhere(scenario: &str) -> String {
    match simulate::run::command(scenario) {
        Some(command) => format!("`{command}` shows it on a simulated machine"),
        None => "measure on a machine with more".to_owned(),
    }
}

fn find(scenario: &ResultScenario, check: &ClaimCheck, cpus: usize) -> Option<Estimate> {
    let threads = match check.at {
        At::OneThread => 1,
        At::AllCpus => cpus,
    };
    let found = row(scenario, check.variant, threads)?;
    match check.against {
        Against::Baseline => found.to_baseline,
        Against::Limit => found.to_limit,
        Against::Rival(rival) => {
            found.to_rivals.iter().find(|to| to.variant == rival).map(|to| to.ratio)
        }
        Against::OneThread => {
            let alone = row(scenario, check.variant, 1)?;
            Some(together_against_alone(found.ns_per_op, threads, alone.ns_per_op))
        }
    }
}

fn row<'a>(scenario: &'a ResultScenario, variant: &str, threads: usize) -> Option<&'a BenchRow> {
    let point = scenario.points.iter().find(|point| point.threads == threads)?;
    point.rows.iter().find(|row| row.variant == variant)
}

/// The threads' time between operations against one's. The rounds differ, so the interval has to hold for any two
/// values.
fn together_against_alone(together: Estimate, threads: usize, alone: Estimate) -> Estimate {
    let ratio = |together: f64, alone: f64| together / threads as f64 / alone;
    Estimate {
        median: ratio(together.median, alone.median),
        low: ratio(together.low, alone.high),
        high: ratio(together.high, alone.low),
    }
}

fn describe(check: &ClaimCheck, ratio: Estimate, cpus: usize) -> String {
    let threads = match check.at {
        At::OneThread => "1 thread".to_owned(),
        At::AllCpus => format!("{cpus} threads"),
    };
    let other = match check.against {
        Against::Baseline => "the baseline",
        Against::Limit => "the limit",
        Against::Rival(rival) => rival,
        Against::OneThread => "one thread",
    };
    format!(
        "{}, {threads}: {}x the time of {other} [{}, {}], at most {}x asked",
        check.variant,
        figure(ratio.median),
        figure(ratio.low),
        figure(ratio.high),
        figure(check.at_most)
    )
}

fn figure(ratio: f64) -> String {
    if ratio < 0.1 { format!("{ratio:.4}") } else { format!("{ratio:.2}") }
}

/// Published: 8 retries per operation on 112 CPUs.
const CPUS_OF_RETRIES: usize = 112;
const PUBLISHED_RETRIES: f64 = 8.0;

fn judge_retries(scenario: &ResultScenario, cpus: usize) -> Option<Verdict> {
    if scenario.id != "refs/get-put" {
        return None;
    }
    let point = scenario.points.iter().find(|point| point.threads == cpus)?;
    let retries = point.rows.iter().find_map(|row| row.retries_per_op)?;
    let outcome = if cpus < CPUS_OF_RETRIES {
        Outcome::NeedsMoreCpus
    } else if retries >= PUBLISHED_RETRIES {
        Outcome::Holds
    } else {
        Outcome::DoesNotHold
    };
    let mut detail = format!("{retries:.2} retries per operation on {}", counted(cpus, "CPU"));
    if outcome == Outcome::NeedsMoreCpus {
        detail += &format!("; {}", shown_elsewhere(&scenario.id));
    }
    Some(Verdict {
        claim: "The compare-exchange loop retries 8 times per operation on 112 CPUs".to_owned(),
        outcome,
        detail,
        scenario: scenario.id.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{BenchPoint, ToRival};
    use crate::scenario;

    fn ratio(low: f64, median: f64, high: f64) -> Estimate {
        Estimate { median, low, high }
    }

    #[test]
    fn every_claim_names_a_scenario_a_variant_and_a_row_to_compare_with() {
        let scenarios: Vec<_> =
            scenario::native().into_iter().flat_map(|group| group.scenarios).collect();
        for claim in CLAIMS {
            let scenario = scenarios.iter().find(|s| s.id == claim.scenario).expect(claim.scenario);
            for check in claim.checks {
                assert!(scenario.variants.iter().any(|variant| variant.name == check.variant));
                assert_ne!(check.variant, scenario.baseline);
                let is_there = match check.against {
                    Against::Baseline => true,
                    Against::Limit => scenario.limit.is_some(),
                    Against::Rival(rival) => scenario.rivals.contains(&rival),
                    Against::OneThread => check.at == At::AllCpus,
                };
                assert!(is_there, "{}: {check:?}", scenario.id);
            }
        }
    }

    fn measured() -> ResultScenario {
        let row = |variant: &str, ns: f64| BenchRow {
            variant: variant.into(),
            ns_per_op: ratio(ns * 0.9, ns, ns * 1.1),
            to_rivals: vec![ToRival { variant: "rival".into(), ratio: ratio(0.08, 0.1, 0.12) }],
            ..BenchRow::default()
        };
        let point = |threads: usize| BenchPoint {
            threads,
            rows: vec![row("flat", 10.0), row("queue", 10.0 * threads as f64)],
            ..BenchPoint::default()
        };
        ResultScenario {
            id: "test/two".into(),
            baseline: "queue".into(),
            points: vec![point(1), point(2)],
            ..ResultScenario::default()
        }
    }

    #[test]
    fn throughput_is_compared_as_the_time_between_operations() {
        let scenario = measured();
        let all = |variant| together(variant, Against::OneThread, 1.0 / 1.8);
        let flat = find(&scenario, &all("flat"), 2).unwrap();
        assert!((flat.median - 0.5).abs() < 1e-9 && flat.low < 0.5 && flat.high > 0.5);
        let queue = find(&scenario, &all("queue"), 2).unwrap();
        assert_eq!(Outcome::at_most(&queue, 1.0 / 1.8), Outcome::DoesNotHold);
        assert_eq!(find(&scenario, &all("flat"), 4), None, "nothing was measured on four threads");
    }

    #[test]
    fn a_rival_is_found_by_its_name_and_told_by_it() {
        let scenario = measured();
        let against = |rival| alone("flat", Against::Rival(rival), 0.05);
        let found = find(&scenario, &against("rival"), 2).unwrap();
        assert_eq!(
            describe(&against("rival"), found, 2),
            "flat, 1 thread: 0.10x the time of rival [0.0800, 0.12], at most 0.0500x asked"
        );
        assert_eq!(find(&scenario, &against("nobody"), 2), None);
    }

    #[test]
    fn what_cannot_be_simulated_is_to_be_measured() {
        assert_eq!(shown_elsewhere("refs/upgrade"), "measure on a machine with more");
    }

    #[test]
    fn one_cpu_cannot_show_contention() {
        let scenario = ResultScenario { id: "refs/get".into(), ..ResultScenario::default() };
        let group = ResultGroup { scenarios: vec![scenario], ..ResultGroup::default() };
        let verdicts = judge(std::slice::from_ref(&group), 1);
        assert_eq!(verdicts.len(), 1);
        assert_eq!(verdicts[0].outcome, Outcome::NeedsMoreCpus);
        assert_eq!(
            verdicts[0].detail,
            "one CPU has no other to contend with; `tenure sim refs/get --cpus 1..112` shows it on a \
             simulated machine"
        );
        assert_eq!(judge(&[group], 2), [], "nothing was measured on two threads");
    }
}
