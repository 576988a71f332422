//! What each change gives the whole program, with everything else as it was.

use tenure_model::Gain;
use tenure_sim::pattern::Pattern;

use super::program::{self, FindingPart};
use super::simulator::Simulator;
use super::steps;
use crate::answer::{ChangeGain, ProgramGains, WORTH};
use crate::naming::threads::Groups;

/// The number of CPUs that gains are judged on, or all of a smaller machine. People come with 16 to 64: what does not scale shows at
/// the least of them.
const CPUS: usize = 16;

/// The work between accesses is known to within this factor, and so is what a change adds: four of five gains of small programs
/// are (`ci/predictions.py`), and half of those of public ones (`proof/README.md`).
const FACTOR: f64 = 1.5;

/// At most so many changes are tried in pairs.
const MAX_PAIRED: usize = 5;

/// Gains on the CPUs that the program has `here`, and on as many as people come with; `None` if it cannot be simulated.
pub(crate) fn gains(
    parts: &[&FindingPart],
    groups: &Groups<'_>,
    here: Option<u64>,
    simulator: &mut Simulator<'_>,
) -> Option<ProgramGains> {
    // One thread does not contend.
    let here = here.and_then(|cpus| usize::try_from(cpus).ok()).filter(|cpus| *cpus > 1);
    let mut cpus: Vec<usize> =
        here.into_iter().chain([CPUS]).map(|cpus| cpus.min(simulator.cpus())).collect();
    cpus.dedup();
    let mut program = SimulatedProgram { parts, groups, unmodified: Vec::new(), simulator };
    for cpus in cpus {
        // Threads that do different things need a CPU each.
        match program.rates(&[], cpus) {
            Some(rates) => program.unmodified.push((cpus, rates)),
            None if program.simulator.is_stopped() => return None,
            None => {}
        }
    }
    if program.unmodified.is_empty() {
        return None;
    }
    let fixable: Vec<usize> = (0..parts.len()).filter(|&at| parts[at].fixed.is_some()).collect();
    let mut changes = Vec::new();
    for &at in &fixable {
        let (gains, expected) = program.gains(&[at])?;
        changes.push(ChangeGain { rank: parts[at].rank, gains, expected, moves_to: None });
    }
    // Who gains nothing alone may be what limits the program once the others are fixed.
    let all = program.rate(&fixable)?;
    for (of, &at) in fixable.iter().enumerate().take(MAX_PAIRED) {
        if changes[of].expected >= WORTH {
            continue;
        }
        let others: Vec<usize> = fixable.iter().copied().filter(|&other| other != at).collect();
        if others.is_empty() || all < WORTH * program.rate(&others)? {
            continue;
        }
        let mut best = (0.0, None);
        for &other in others.iter().take(MAX_PAIRED) {
            let rate = program.rate(&[at, other])?;
            if rate > best.0 {
                best = (rate, Some(parts[other].rank));
            }
        }
        changes[of].moves_to = best.1;
    }
    let paying: Vec<usize> =
        fixable.iter().zip(&changes).filter(|(_, of)| of.pays()).map(|(at, _)| *at).collect();
    let together = match paying.len() {
        0 | 1 => Vec::new(),
        _ => program.gains(&paying)?.0,
    };
    let middle = |of: &ChangeGain| of.gains.last().map_or(0.0, |it| it.range.iter().sum::<f64>());
    changes.sort_by(|one, other| middle(other).total_cmp(&middle(one)));
    Some(ProgramGains { changes, together })
}

/// The program with some of its findings fixed.
struct SimulatedProgram<'a, 'b> {
    parts: &'a [&'a FindingPart],
    groups: &'a Groups<'a>,
    /// Its rates on each number of CPUs that gains are given for. Changes are judged on the last.
    unmodified: Vec<(usize, [f64; 3])>,
    simulator: &'a mut Simulator<'b>,
}

impl SimulatedProgram<'_, '_> {
    fn pattern(&self, fixed: &[usize]) -> Option<Pattern> {
        program::pattern(self.parts, fixed, self.groups)
    }

    /// Iterations a second with these findings fixed.
    fn rate(&mut self, fixed: &[usize]) -> Option<f64> {
        let pattern = self.pattern(fixed)?;
        self.simulator.judged(&pattern, CPUS)
    }

    /// The same on so many CPUs, with as much work as was measured, with less and with more.
    fn rates(&mut self, fixed: &[usize], cpus: usize) -> Option<[f64; 3]> {
        let pattern = self.pattern(fixed)?;
        let mut of = |factor: f64| {
            let mut pattern = pattern.clone();
            let steps = pattern.roles.iter_mut().flat_map(|role| &mut role.steps);
            steps.for_each(|step| steps::scale(step, factor));
            self.simulator.judged(&pattern, cpus)
        };
        Some([of(1.0)?, of(1.0 / FACTOR)?, of(FACTOR)?])
    }

    /// What fixing these findings gives: ranges, and what is expected of the last.
    fn gains(&mut self, fixed: &[usize]) -> Option<(Vec<Gain>, f64)> {
        let (mut gains, mut expected) = (Vec::new(), 1.0);
        for (cpus, before) in self.unmodified.clone() {
            let after = self.rates(fixed, cpus)?;
            let ratios: [f64; 3] = std::array::from_fn(|at| after[at] / before[at]);
            gains.push(Gain { cpus: cpus as u64, range: range(ratios) });
            expected = ratios[0];
        }
        Some((gains, expected))
    }
}

/// The ends of what these ratios say, which differ in how much work there is between accesses.
fn range(ratios: [f64; 3]) -> [f64; 2] {
    let least = ratios.into_iter().fold(f64::INFINITY, f64::min);
    let most = ratios.into_iter().fold(0.0, f64::max);
    // What is lost is as uncertain as what is won.
    let added = |ratio: f64, factor: f64| 1.0 + (ratio - 1.0) * factor;
    let least = if least > 1.0 { added(least, 1.0 / FACTOR) } else { least };
    let most = if most > 1.0 { added(most, FACTOR) } else { most };
    [least, most]
}
