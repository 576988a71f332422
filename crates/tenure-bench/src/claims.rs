//! What the figures say about this project's claims, in plain words.

use crate::result::{Group, Row, Scenario};
use crate::simulate;
use tenure_report::stats::Estimate;
use tenure_report::verdict::{Outcome, Verdict};
use tenure_report::words::counted;

/// Where in a scenario a check looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    OneThread,
    AllCpus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Against {
    Baseline,
    Limit,
    /// One of the scenario's rivals.
    Rival(&'static str),
    /// The variant itself on one thread. What is compared is the time from one operation to the next, whoever
    /// does them.
    OneThread,
}

/// The time of `variant` is at most `at_most` times that of the other row.
#[derive(Debug, Clone, Copy)]
struct Check {
    variant: &'static str,
    at: At,
    against: Against,
    at_most: f64,
}

const fn check(variant: &'static str, at: At, against: Against, at_most: f64) -> Check {
    Check { variant, at, against, at_most }
}

struct Claim {
    text: &'static str,
    scenario: &'static str,
    checks: &'static [Check],
}

/// Ratios are times, so "at least 0.95 of the throughput" is "at most 1 / 0.95 of the time".
const CLAIMS: &[Claim] = &[
    Claim {
        text: "On one thread a get and put cost what the two bare atomic operations cost",
        scenario: "refs/get-put",
        checks: &[
            check("rcuref", At::OneThread, Against::Limit, 1.05),
            check("ticket", At::OneThread, Against::Limit, 1.10),
        ],
    },
    Claim {
        text: "With all CPUs on one object they keep 0.95 of the bare operations' throughput",
        scenario: "refs/get-put",
        checks: &[
            check("rcuref", At::AllCpus, Against::Limit, 1.0 / 0.95),
            check("ticket", At::AllCpus, Against::Limit, 1.0 / 0.95),
        ],
    },
    Claim {
        text: "With all CPUs on one object, get and put beat the compare-exchange loop by 1.2x",
        scenario: "refs/get-put",
        checks: &[
            check("rcuref", At::AllCpus, Against::Baseline, 1.0 / 1.2),
            check("ticket", At::AllCpus, Against::Baseline, 1.0 / 1.2),
        ],
    },
    Claim {
        text: "With all CPUs on one object a get takes at most 0.6 of the compare-exchange loop's time",
        scenario: "refs/get",
        checks: &[
            check("rcuref", At::AllCpus, Against::Baseline, 0.6),
            check("ticket", At::AllCpus, Against::Baseline, 0.6),
        ],
    },
    Claim {
        text: "Weak::upgrade and drop take at most 0.85 of std's time on one thread",
        scenario: "refs/upgrade",
        checks: &[check("tenure", At::OneThread, Against::Baseline, 0.85)],
    },
    Claim {
        text: "Weak::upgrade and drop take at most 0.95 of std's time with all CPUs on one object",
        scenario: "refs/upgrade",
        checks: &[check("tenure", At::AllCpus, Against::Baseline, 0.95)],
    },
    Claim {
        text: "Arc::clone and drop cost what std's cost",
        scenario: "refs/clone",
        checks: &[
            check("tenure", At::OneThread, Against::Baseline, 1.03),
            check("tenure", At::AllCpus, Against::Baseline, 1.03),
        ],
    },
    Claim {
        text: "Arc::new and drop cost what std's cost",
        scenario: "refs/new",
        checks: &[check("tenure", At::OneThread, Against::Baseline, 1.03)],
    },
    Claim {
        text: "With all CPUs on one route, both repairs together beat neither",
        scenario: "dst/cells",
        checks: &[check("isolated + rcuref", At::AllCpus, Against::Baseline, 1.0)],
    },
    Claim {
        text: "As packets use it, with work in between, both repairs together beat neither",
        scenario: "dst/packet",
        checks: &[check("isolated + rcuref", At::AllCpus, Against::Baseline, 1.0)],
    },
    Claim {
        text: "Acquire and release take at most half of crossbeam's ArrayQueue's time on one thread",
        scenario: "pool/in-use-10",
        checks: &[check("magazines", At::OneThread, Against::Baseline, 0.5)],
    },
    Claim {
        text: "All CPUs together acquire and release at least 1.8 times as often as one",
        scenario: "pool/in-use-10",
        checks: &[check("magazines", At::AllCpus, Against::OneThread, 1.0 / 1.8)],
    },
    Claim {
        text: "Acquire and release take the same with 100,000 slots in use as with 10",
        scenario: "pool/in-use",
        checks: &[
            check("100000 in use", At::OneThread, Against::Baseline, 1.3),
            check("100000 in use", At::AllCpus, Against::Baseline, 1.3),
        ],
    },
    Claim {
        text: "With 200 in use they beat the walk as published by 100x, and at its best by 10x",
        scenario: "pool/in-use-200",
        checks: &[
            check("magazines", At::OneThread, Against::Baseline, 1.0 / 100.0),
            check("magazines", At::AllCpus, Against::Baseline, 1.0 / 100.0),
            check("magazines", At::OneThread, Against::Rival("scan"), 1.0 / 10.0),
            check("magazines", At::AllCpus, Against::Rival("scan"), 1.0 / 10.0),
        ],
    },
    Claim {
        text: "With 1,000 in use they beat the walk as published by 500x, and at its best by 50x",
        scenario: "pool/in-use-1000",
        checks: &[
            check("magazines", At::OneThread, Against::Baseline, 1.0 / 500.0),
            check("magazines", At::AllCpus, Against::Baseline, 1.0 / 500.0),
            check("magazines", At::OneThread, Against::Rival("scan"), 1.0 / 50.0),
            check("magazines", At::AllCpus, Against::Rival("scan"), 1.0 / 50.0),
        ],
    },
    Claim {
        text: "Where one thread acquires and another releases, a slot takes at most 0.4 of ArrayQueue's time",
        scenario: "pool/one-way",
        checks: &[check("magazines", At::AllCpus, Against::Baseline, 0.4)],
    },
    Claim {
        text: "A local handle that enters what it had takes at most 0.35 of a counted switch's time on one thread",
        scenario: "lazy/same",
        checks: &[check("shootdown", At::OneThread, Against::Baseline, 0.35)],
    },
    Claim {
        text: "All CPUs together enter one object at least 1.9 times as often as one",
        scenario: "lazy/same",
        checks: &[check("shootdown", At::AllCpus, Against::OneThread, 1.0 / 1.9)],
    },
    Claim {
        text: "With all CPUs on one object, switches that are not counted beat those that are by 20x",
        scenario: "lazy/same",
        checks: &[check("shootdown", At::AllCpus, Against::Baseline, 1.0 / 20.0)],
    },
    Claim {
        text: "A Reader takes at most 0.3 of the time of arc-swap's load",
        scenario: "lazy/read",
        checks: &[
            check("Reader", At::OneThread, Against::Baseline, 0.3),
            check("Reader", At::AllCpus, Against::Baseline, 0.3),
        ],
    },
    Claim {
        text: "A Reader takes at most the time of arc-swap's Cache, which keeps what it read alive",
        scenario: "lazy/read",
        checks: &[
            check("Reader", At::OneThread, Against::Rival("arc-swap Cache"), 1.0),
            check("Reader", At::AllCpus, Against::Rival("arc-swap Cache"), 1.0),
        ],
    },
    Claim {
        text: "The end of an object waits for no parked seat: 1,024 of them add at most half to its time",
        scenario: "lazy/end",
        checks: &[
            check("64 parked", At::AllCpus, Against::Baseline, 1.1),
            check("1024 parked", At::AllCpus, Against::Baseline, 1.5),
        ],
    },
    Claim {
        text: "To acquire and drop the one key there is takes a locked map's time at most, and half of it with all CPUs",
        scenario: "registry/hit",
        checks: &[
            check("registry", At::OneThread, Against::Baseline, 1.0),
            check("registry", At::AllCpus, Against::Baseline, 0.5),
        ],
    },
    Claim {
        text: "With many keys it takes a locked map's time at most, and a fifth of it with all CPUs",
        scenario: "registry/spread",
        checks: &[
            check("registry", At::OneThread, Against::Baseline, 1.0),
            check("registry", At::AllCpus, Against::Baseline, 0.2),
        ],
    },
];

/// Judges every claim whose scenario was measured where the claim looks, on a machine of `cpus`.
#[must_use]
pub fn judge(groups: &[Group], cpus: usize) -> Vec<Verdict> {
    let scenarios: Vec<&Scenario> = groups.iter().flat_map(|group| &group.scenarios).collect();
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

fn judge_claim(claim: &Claim, scenario: &Scenario, cpus: usize) -> Option<Verdict> {
    let verdict = |outcome, detail| Verdict {
        claim: claim.text.to_owned(),
        outcome,
        detail,
        scenario: claim.scenario.to_owned(),
    };
    if cpus < 2 && claim.checks.iter().any(|check| check.at == At::AllCpus) {
        let shown = shown_elsewhere(claim.scenario);
        let detail = format!("one CPU has nobody to contend with; {shown}");
        return Some(verdict(Outcome::NeedsMoreCpus, detail));
    }
    let mut worst = Outcome::Holds;
    let mut details = Vec::new();
    for check in claim.checks {
        let ratio = find(scenario, check, cpus)?;
        let outcome = outcome(ratio, check.at_most);
        if severity(outcome) > severity(worst) {
            worst = outcome;
        }
        details.push(describe(check, ratio, cpus));
    }
    Some(verdict(worst, details.join("; ")))
}

/// Where a claim shows that needs more CPUs than there are.
fn shown_elsewhere(scenario: &str) -> String {
    match simulate::run::command(scenario) {
        Some(command) => format!("`{command}` shows it on a simulated machine"),
        None => "measure on a machine with more".to_owned(),
    }
}

fn find(scenario: &Scenario, check: &Check, cpus: usize) -> Option<Estimate> {
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

fn row<'a>(scenario: &'a Scenario, variant: &str, threads: usize) -> Option<&'a Row> {
    let point = scenario.points.iter().find(|point| point.threads == threads)?;
    point.rows.iter().find(|row| row.variant == variant)
}

/// From one operation to the next, on so many threads against one. They were not measured in the same rounds, so the
/// interval has to hold for any two of their values.
fn together_against_alone(together: Estimate, threads: usize, alone: Estimate) -> Estimate {
    let ratio = |together: f64, alone: f64| together / threads as f64 / alone;
    Estimate {
        median: ratio(together.median, alone.median),
        low: ratio(together.low, alone.high),
        high: ratio(together.high, alone.low),
    }
}

fn outcome(ratio: Estimate, at_most: f64) -> Outcome {
    if ratio.high <= at_most {
        Outcome::Holds
    } else if ratio.low > at_most {
        Outcome::DoesNotHold
    } else {
        Outcome::NotResolved
    }
}

fn severity(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Holds => 0,
        Outcome::NotResolved => 1,
        Outcome::DoesNotHold => 2,
        Outcome::NeedsMoreCpus => 3,
    }
}

fn describe(check: &Check, ratio: Estimate, cpus: usize) -> String {
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

/// Two decimals, and more for what has no digit there.
fn figure(ratio: f64) -> String {
    if ratio < 0.1 { format!("{ratio:.4}") } else { format!("{ratio:.2}") }
}

/// Published: 8 retries per operation on 112 CPUs. Fewer CPUs cannot show that.
const CPUS_OF_RETRIES: usize = 112;
const PUBLISHED_RETRIES: f64 = 8.0;

fn judge_retries(scenario: &Scenario, cpus: usize) -> Option<Verdict> {
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
    use crate::result::{Point, ToRival};
    use crate::scenario;

    fn ratio(low: f64, median: f64, high: f64) -> Estimate {
        Estimate { median, low, high }
    }

    #[test]
    fn a_claim_holds_only_if_the_whole_interval_does() {
        assert_eq!(outcome(ratio(0.4, 0.5, 0.6), 0.6), Outcome::Holds);
        assert_eq!(outcome(ratio(0.5, 0.55, 0.61), 0.6), Outcome::NotResolved);
        assert_eq!(outcome(ratio(0.61, 0.7, 0.8), 0.6), Outcome::DoesNotHold);
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

    /// Two variants on one thread and on two, of which the second takes ten times as long as the first.
    fn measured() -> Scenario {
        let row = |variant: &str, ns: f64| Row {
            variant: variant.into(),
            ns_per_op: ratio(ns * 0.9, ns, ns * 1.1),
            mops: 0.0,
            retries_per_op: None,
            to_baseline: None,
            to_limit: None,
            to_rivals: vec![ToRival { variant: "rival".into(), ratio: ratio(0.08, 0.1, 0.12) }],
            slices: 1,
            dropped: 0,
            singles: None,
        };
        let point = |threads: usize| Point {
            threads,
            oversubscribed: false,
            batches: 1,
            rounds: 1,
            left_out: 0,
            rows: vec![row("flat", 10.0), row("queue", 10.0 * threads as f64)],
        };
        Scenario {
            id: "test/two".into(),
            title: String::new(),
            about: String::new(),
            baseline: "queue".into(),
            limit: None,
            points: vec![point(1), point(2)],
        }
    }

    #[test]
    fn throughput_is_compared_as_the_time_between_operations() {
        let scenario = measured();
        let all = |variant| check(variant, At::AllCpus, Against::OneThread, 1.0 / 1.8);
        let flat = find(&scenario, &all("flat"), 2).unwrap();
        assert!((flat.median - 0.5).abs() < 1e-9 && flat.low < 0.5 && flat.high > 0.5);
        let queue = find(&scenario, &all("queue"), 2).unwrap();
        assert_eq!(outcome(queue, 1.0 / 1.8), Outcome::DoesNotHold);
        assert_eq!(find(&scenario, &all("flat"), 4), None, "nothing was measured on four threads");
    }

    #[test]
    fn a_rival_is_found_by_its_name_and_told_by_it() {
        let scenario = measured();
        let against = |rival| check("flat", At::OneThread, Against::Rival(rival), 0.05);
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
        let scenario = Scenario {
            id: "refs/get".into(),
            title: String::new(),
            about: String::new(),
            baseline: "inc_not_zero".into(),
            limit: None,
            points: vec![],
        };
        let group = Group {
            name: "refs".into(),
            title: String::new(),
            about: String::new(),
            scenarios: vec![scenario],
        };
        let verdicts = judge(std::slice::from_ref(&group), 1);
        assert_eq!(verdicts.len(), 1);
        assert_eq!(verdicts[0].outcome, Outcome::NeedsMoreCpus);
        assert_eq!(
            verdicts[0].detail,
            "one CPU has nobody to contend with; `tenure sim refs/get --cpus 1..112` shows it on a \
             simulated machine"
        );
        assert_eq!(judge(&[group], 2), [], "nothing was measured on two threads");
    }
}
