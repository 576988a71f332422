//! What the figures say about the claims.

use super::result::Scenario;
use super::scenario::{self, Against, Claim, Figure};
use tenure_report::stats::Estimate;
use tenure_report::verdict::{Outcome, Verdict};

pub(super) fn judge(scenarios: &[Scenario]) -> Vec<Verdict> {
    let of = |one: &scenario::Scenario| {
        let measured = scenarios.iter().find(|scenario| scenario.id == one.id);
        let verdicts = measured.map(|measured| {
            let verdict = |claim| verdict(claim, one.repaired, measured);
            one.claims.iter().filter_map(verdict).collect::<Vec<_>>()
        });
        verdicts.unwrap_or_default()
    };
    scenario::ALL.iter().flat_map(of).collect()
}

fn verdict((against, figure, text): &Claim, cell: &str, scenario: &Scenario) -> Option<Verdict> {
    let row = scenario.rows.iter().find(|row| row.cell == cell)?;
    let (ratios, other) = match against {
        Against::Baseline => (row.to_baseline?, &scenario.baseline),
        Against::Rival => {
            let rival = scenario.rival.as_ref()?;
            let rival = scenario.rows.iter().find(|row| &row.cell == rival)?;
            (row.to_rival?, &rival.program)
        }
    };
    let (ratio, outcome, what) = match *figure {
        Figure::Rate(least) => {
            (ratios.rate, Outcome::at_least(&ratios.rate, least), "the requests per second of")
        }
        Figure::Cpu => {
            (ratios.cpu, Outcome::at_most(&ratios.cpu, 1.0), "the CPU time per request of")
        }
        Figure::Tail => {
            let tail = ratios.p99?;
            (tail, Outcome::at_most(&tail, 1.0), "the latency that 99 % keep to with")
        }
    };
    let Estimate { median, low, high } = ratio;
    Some(Verdict {
        claim: (*text).to_owned(),
        outcome,
        detail: format!("{cell}: {median:.2}x [{low:.2}, {high:.2}] {what} {other}."),
        scenario: scenario.id.clone(),
    })
}
