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

const fn claim(
    scenario: &'static str,
    text: &'static str,
    cell: &'static str,
    against: Against,
    figure: Figure,
) -> Claim {
    Claim { scenario, text, cell, against, figure }
}

const CLAIMS: [Claim; 9] = {
    use Against::{Baseline, Rival};
    use Figure::{Cpu, Rate, Tail};
    /// Both repairs of the memcached server.
    const REPAIRED: &str = "ticket, isolated";
    [
        claim(
            "e2e/memcached",
            "The server answers as many requests as memcached, one at a time",
            REPAIRED,
            Rival,
            Rate { at_least: 1.0 },
        ),
        claim(
            "e2e/memcached",
            "One at a time, the slowest 1 % of requests wait no longer than with memcached",
            REPAIRED,
            Rival,
            Tail,
        ),
        claim(
            "e2e/memcached-pipeline",
            "With 16 requests at a time it answers 2.7 times as many as memcached (1.6.18 sends after every get)",
            REPAIRED,
            Rival,
            Rate { at_least: 2.7 },
        ),
        claim(
            "e2e/memcached-pipeline",
            "With 16 at a time, the slowest 1 % wait no longer than with memcached",
            REPAIRED,
            Rival,
            Tail,
        ),
        claim(
            "e2e/memcached-pipeline",
            "Both repairs take CPU time off each request of a whole server",
            REPAIRED,
            Baseline,
            Cpu,
        ),
        claim(
            "e2e/http-close",
            "Short HTTP connections: as many as nginx",
            "magazines",
            Rival,
            Rate { at_least: 1.0 },
        ),
        claim(
            "e2e/http-held",
            "With 1,000 buffers in use, magazines take CPU time off each connection",
            "magazines",
            Baseline,
            Cpu,
        ),
        claim(
            "e2e/http-held",
            "With 1,000 buffers in use, magazines answer no fewer requests",
            "magazines",
            Baseline,
            Rate { at_least: 1.0 },
        ),
        claim(
            "e2e/memory",
            "Without the kernel's share, both repairs take CPU time off each request",
            REPAIRED,
            Baseline,
            Cpu,
        ),
    ]
};

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
            (Outcome::at_least(&ratios.rate, at_least), told)
        }
        Figure::Cpu => (
            Outcome::at_most(&ratios.cpu, 1.0),
            format!("{} the CPU time per request of {other}", times(&ratios.cpu)),
        ),
        Figure::Tail => {
            let tail = ratios.p99?;
            (
                Outcome::at_most(&tail, 1.0),
                format!("{} the latency that 99 % keep to with {other}", times(&tail)),
            )
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
