//! What fixes would give: the part of a report that takes time, made when the rest is out.

mod gains;
pub(crate) mod pattern;
mod program;
mod simulator;
mod steps;

use tenure_model::{Finding, Forecast, Repair, Report, Source};
use tenure_sim::Machine;

use crate::answer::{ProgramGains, answer};
use crate::naming::threads::Groups;
use pattern::Predictions;
pub(crate) use program::FindingPart;
use simulator::Simulator;

/// The machine that repairs are predicted on, unless the user names another.
pub const MACHINE: &str = "epyc-2s-256";

/// A report without predictions, and what is left to predict.
#[derive(Debug)]
pub struct Analysis {
    /// The findings, the worst first. Their repairs are those that apply.
    pub report: Report,
    /// What they and others would give.
    pub forecasts: Forecasts,
}

/// What is to be predicted of a report: each finding that has a pattern, then the whole program.
#[derive(Default)]
pub struct Forecasts {
    parts: Vec<FindingPart>,
    /// How many of the parts are predicted.
    predicted: usize,
    /// The threads of the process that the program's forecast is of.
    groups: Option<Groups<'static>>,
    /// Whether findings of other processes are not part of that.
    of_one_process: bool,
    /// CPUs that the program has.
    here: Option<u64>,
}

/// A prediction, to be entered into the report.
#[derive(Debug)]
pub struct Predicted(PredictionOf);

#[derive(Debug)]
enum PredictionOf {
    Finding { rank: u64, repairs: Vec<Repair>, forecast: Option<Forecast> },
    Program { forecast: Option<Forecast>, gains: Option<ProgramGains>, of_one_process: bool },
}

impl Forecasts {
    pub(crate) fn new(
        groups: Option<Groups<'static>>,
        of_one_process: bool,
        here: Option<u64>,
    ) -> Self {
        Self { groups, of_one_process, here, ..Self::default() }
    }

    pub(crate) fn add(&mut self, part: FindingPart) {
        self.parts.push(part);
    }

    /// The pattern of the whole program, as a file.
    pub(crate) fn program(&self) -> Option<String> {
        Some(program::pattern(&self.of_program(), &[], self.groups.as_ref()?)?.to_toml())
    }

    fn of_program(&self) -> Vec<&FindingPart> {
        self.parts.iter().filter(|part| part.is_of_program).collect()
    }

    /// How many predictions there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.parts.len() + usize::from(self.groups.is_some() && !self.parts.is_empty())
    }

    /// The next prediction; `None` after the last, or once `go_on`, which is asked before each figure, says no.
    pub fn next(&mut self, machine: &Machine, go_on: &dyn Fn() -> bool) -> Option<Predicted> {
        if self.predicted >= self.count() {
            return None;
        }
        let mut simulator = Simulator::new(machine, go_on);
        let of = match self.parts.get_mut(self.predicted) {
            Some(part) => {
                let Predictions { repairs, forecast, best } =
                    pattern::fixed(&part.recorded.pattern, &part.target, &mut simulator)?;
                part.fixed = best;
                PredictionOf::Finding { rank: part.rank, repairs, forecast }
            }
            None => {
                let groups = self.groups.as_ref()?;
                let parts = self.of_program();
                let gains = gains::gains(&parts, groups, self.here, &mut simulator);
                let forecast = gains
                    .as_ref()
                    .and_then(|gains| program::forecast(&parts, groups, gains, &mut simulator));
                if simulator.is_stopped() && gains.is_none() {
                    return None;
                }
                PredictionOf::Program { forecast, gains, of_one_process: self.of_one_process }
            }
        };
        self.predicted += 1;
        Some(Predicted(of))
    }
}

impl std::fmt::Debug for Forecasts {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (count, predicted) = (self.count(), self.predicted);
        out.debug_struct("Forecasts")
            .field("count", &count)
            .field("predicted", &predicted)
            .finish_non_exhaustive()
    }
}

impl Predicted {
    /// Enters it into the report that it was made for: of a finding's repairs those stay that pay, the best first.
    pub fn enter(self, report: &mut Report) {
        match self.0 {
            PredictionOf::Finding { rank, repairs, forecast } => {
                let of_rank = |finding: &&mut Finding| finding.rank == rank;
                let Some(finding) = report.findings.iter_mut().find(of_rank) else { return };
                (finding.repairs, finding.forecast) = (repairs, forecast);
            }
            PredictionOf::Program { forecast, gains, of_one_process } => {
                report.answer = Some(answer(report, gains.as_ref()));
                let Source::Run(run) = &mut report.source else { return };
                run.forecast = forecast;
                if of_one_process {
                    let only = "The prediction for the whole program covers only the process with the worst line.";
                    run.missing.push(only.to_owned());
                }
            }
        }
    }
}
