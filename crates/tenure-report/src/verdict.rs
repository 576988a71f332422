//! Verdicts on this project's claims.

use crate::numbers::counted;
use crate::stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a run says about a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The claim, in a sentence.
    pub claim: String,
    /// The answer.
    pub outcome: Outcome,
    /// The margin, or the reason, in plain words.
    pub detail: String,
    /// Where the figures are: the scenario's id.
    pub scenario: String,
}

/// The answers that a verdict can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It holds on this machine.
    Holds,
    /// It does not hold on this machine.
    DoesNotHold,
    /// The noise was larger than the effect.
    NotResolved,
    /// This machine has too few CPUs to show it.
    NeedsMoreCpus,
}

impl Outcome {
    /// The verdict on a ratio claimed to be at most so large: it holds only if the whole interval does.
    #[must_use]
    pub fn at_most(ratio: &Estimate, at_most: f64) -> Self {
        match *ratio {
            Estimate { high, .. } if high <= at_most => Self::Holds,
            Estimate { low, .. } if low > at_most => Self::DoesNotHold,
            _ => Self::NotResolved,
        }
    }

    /// The worse of two: what does not hold outweighs what is not resolved.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        let severity = |it| {
            [Self::Holds, Self::NotResolved, Self::DoesNotHold].iter().position(|&one| one == it)
        };
        if severity(other) > severity(self) { other } else { self }
    }

    /// All outcomes in the order of a report.
    pub const ALL: [Self; 4] =
        [Self::Holds, Self::DoesNotHold, Self::NotResolved, Self::NeedsMoreCpus];

    /// A verdict's first words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds here",
            Self::DoesNotHold => "does not hold here",
            Self::NotResolved => "not resolved",
            Self::NeedsMoreCpus => "needs more CPUs",
        }
    }
}

/// A run's verdicts in a sentence; a quick run has none.
#[must_use]
pub fn answer(verdicts: &[Verdict], quick: bool) -> String {
    if quick {
        return "A quick run judges no claim: its figures are too few.".to_owned();
    }
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
    let phrases: Vec<_> = Outcome::ALL.into_iter().filter_map(phrase).collect();
    let of = counted(verdicts.len(), "claim");
    match phrases.as_slice() {
        [only] if verdicts.len() == 1 => format!("1 claim was tested: it {}.", &only[2..]),
        [only] => format!("Of {of}, all {only}."),
        [init @ .., last] => format!("Of {of}, {} and {last}.", init.join(", ")),
        [] => unreachable!("every verdict has an outcome"),
    }
}

/// Verdicts in the order of a report: by outcome, then in their own order.
#[must_use]
pub fn ordered(verdicts: &[Verdict]) -> Vec<&Verdict> {
    Outcome::ALL
        .into_iter()
        .flat_map(|outcome| verdicts.iter().filter(move |verdict| verdict.outcome == outcome))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_holds_only_if_the_whole_interval_does() {
        for (low, high, at_most) in [
            (0.4, 0.6, Outcome::Holds),
            (0.5, 0.61, Outcome::NotResolved),
            (0.6, 0.8, Outcome::NotResolved),
            (0.61, 0.8, Outcome::DoesNotHold),
        ] {
            let ratio = Estimate { median: f64::midpoint(low, high), low, high };
            assert_eq!(Outcome::at_most(&ratio, 0.6), at_most, "{ratio:?}");
        }
        let [holds, not, open] = [Outcome::Holds, Outcome::DoesNotHold, Outcome::NotResolved];
        assert_eq!([holds.worse(open), open.worse(not), not.worse(holds)], [open, not, not]);
    }
}
