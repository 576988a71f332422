//! What the figures of whole servers say about the claims made for them.

use super::result::Scenario;
use tenure_report::stats::Estimate;
use tenure_report::verdict::{Outcome, Verdict};

/// A claim about a row and one that it is compared with.
struct Claim {
    scenario: &'static str,
    text: &'static str,
    cell: &'static str,
    against: Against,
    figure: Figure,
}

enum Against {
    Baseline,
    Rival,
}

enum Figure {
    /// More requests per second, or as many.
    Rate { at_least: f64 },
    /// Less CPU time for each.
    Cpu,
    /// No longer tail.
    Tail,
}

const CLAIMS: [Claim; 9] = [
    Claim {
        scenario: "e2e/memcached",
        text: "The server answers as many requests as memcached, one at a time",
        cell: "ticket, isolated",
        against: Against::Rival,
        figure: Figure::Rate { at_least: 1.0 },
    },
    Claim {
        scenario: "e2e/memcached",
        text: "One at a time, the slowest 1 % of requests wait no longer than with memcached",
        cell: "ticket, isolated",
        against: Against::Rival,
        figure: Figure::Tail,
    },
    Claim {
        scenario: "e2e/memcached-pipeline",
        text: "With 16 requests at a time it answers 2.7 times as many as memcached (1.6.18 sends after every get)",
        cell: "ticket, isolated",
        against: Against::Rival,
        figure: Figure::Rate { at_least: 2.7 },
    },
    Claim {
        scenario: "e2e/memcached-pipeline",
        text: "With 16 at a time, the slowest 1 % wait no longer than with memcached",
        cell: "ticket, isolated",
        against: Against::Rival,
        figure: Figure::Tail,
    },
    Claim {
        scenario: "e2e/memcached-pipeline",
        text: "Both repairs take CPU time off each request of a whole server",
        cell: "ticket, isolated",
        against: Against::Baseline,
        figure: Figure::Cpu,
    },
    Claim {
        scenario: "e2e/http-close",
        text: "Short HTTP connections: as many as nginx",
        cell: "magazines",
        against: Against::Rival,
        figure: Figure::Rate { at_least: 1.0 },
    },
    Claim {
        scenario: "e2e/http-held",
        text: "With 1,000 buffers in use, magazines take CPU time off each connection",
        cell: "magazines",
        against: Against::Baseline,
        figure: Figure::Cpu,
    },
    Claim {
        scenario: "e2e/http-held",
        text: "With 1,000 buffers in use, magazines answer no fewer requests",
        cell: "magazines",
        against: Against::Baseline,
        figure: Figure::Rate { at_least: 1.0 },
    },
    Claim {
        scenario: "e2e/memory",
        text: "Without the kernel's share, both repairs take CPU time off each request",
        cell: "ticket, isolated",
        against: Against::Baseline,
        figure: Figure::Cpu,
    },
];

/// The verdicts on the claims that were measured.
pub(super) fn judge(scenarios: &[Scenario]) -> Vec<Verdict> {
    CLAIMS.iter().filter_map(|claim| verdict(claim, scenarios)).collect()
}

fn verdict(claim: &Claim, scenarios: &[Scenario]) -> Option<Verdict> {
    let scenario = scenarios.iter().find(|scenario| scenario.id == claim.scenario)?;
    let row = scenario.rows.iter().find(|row| row.cell == claim.cell)?;
    let (ratios, other) = match claim.against {
        Against::Baseline => (row.to_baseline?, scenario.baseline.clone()),
        Against::Rival => {
            let rival = scenario.rival.as_ref()?;
            let rival = scenario.rows.iter().find(|row| &row.cell == rival)?;
            (row.to_rival?, rival.program.clone())
        }
    };
    let (outcome, detail) = match claim.figure {
        Figure::Rate { at_least } => {
            let told = format!("{} the requests per second of {other}", times(&ratios.rate));
            (more(&ratios.rate, at_least), told)
        }
        Figure::Cpu => (
            less(&ratios.cpu),
            format!("{} the CPU time per request of {other}", times(&ratios.cpu)),
        ),
        Figure::Tail => {
            let tail = ratios.p99?;
            (less(&tail), format!("{} the latency that 99 % keep to with {other}", times(&tail)))
        }
    };
    Some(Verdict {
        claim: claim.text.to_owned(),
        outcome,
        detail: format!("{}: {detail}.", claim.cell),
        scenario: scenario.id.clone(),
    })
}

fn times(ratio: &Estimate) -> String {
    format!("{:.2}x [{:.2}, {:.2}]", ratio.median, ratio.low, ratio.high)
}

fn more(ratio: &Estimate, at_least: f64) -> Outcome {
    if ratio.low >= at_least {
        Outcome::Holds
    } else if ratio.high < at_least {
        Outcome::DoesNotHold
    } else {
        Outcome::NotResolved
    }
}

fn less(ratio: &Estimate) -> Outcome {
    if ratio.high <= 1.0 {
        Outcome::Holds
    } else if ratio.low > 1.0 {
        Outcome::DoesNotHold
    } else {
        Outcome::NotResolved
    }
}
