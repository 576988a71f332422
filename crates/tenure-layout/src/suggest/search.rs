//! The search for a better order.
//!
//! Steepest descent: the cheapest of all moves of one unit and all swaps of two, until none helps. Swaps are steps of
//! their own because moving an 8-byte member shifts all between, mostly through an order that grows. The parts take
//! turns. The same type gives the same answer.

use super::plan::LayoutPlan;

/// Placements of members over all orders tried for one type: seconds. A struct of 30 members takes some hundred thousand.
const MAX_PLACEMENTS: usize = 40_000_000;

/// A gain that is no rounding of sums.
const MIN_GAIN: f64 = 1e-9;

#[derive(Debug, Clone, Copy)]
enum SearchStep {
    Swap(usize, usize),
    Take { from: usize, to: usize },
}

/// `work` counts what all searches for one type have done.
pub(super) fn improve(plan: &mut LayoutPlan, work: &mut usize) {
    // What functions use together has to move together, through orders that cost more. So the search also begins with what is
    // best without that.
    if plan.parts.iter().any(|part| part.together.work() > 0) {
        let mut other = plan.clone();
        other.parts.iter_mut().for_each(|part| part.together.forget_functions());
        descend(&mut other, work);
        for (part, with) in other.parts.iter_mut().zip(&plan.parts) {
            part.together.clone_from(&with.together);
        }
        descend(&mut other, work);
        descend(plan, work);
        // What has no cost is no layout.
        let costs = (other.cost(f64::INFINITY), plan.cost(f64::INFINITY));
        if matches!(costs, (Some(others), Some(own)) if others < own) {
            *plan = other;
        }
    } else {
        descend(plan, work);
    }
}

fn descend(plan: &mut LayoutPlan, work: &mut usize) {
    let Some(mut cost) = plan.cost(f64::INFINITY) else { return };
    loop {
        let mut better = false;
        // From the outside in: what is around an embedded type is easier to move than what all have.
        for part in (0..plan.parts.len()).rev() {
            while let Some(lower) = step(plan, part, cost, work) {
                cost = lower;
                better = true;
            }
        }
        if !better || *work >= MAX_PLACEMENTS {
            return;
        }
    }
}

/// Takes one part's best step, if any helps, and returns the plan's new cost.
fn step(plan: &mut LayoutPlan, part: usize, cost: f64, work: &mut usize) -> Option<f64> {
    let before = plan.parts[part].order.clone();
    // If the first part changes, so does the cost of those that embed it; no other part has such an effect.
    let (first, own) = match part {
        0 => (None, 0.0),
        _ => {
            let first = plan.first()?;
            let own = plan.cost_of(part, &first)?;
            (Some(first), own)
        }
    };
    let mut best: Option<(f64, Vec<usize>)> = None;
    let concerned = if part == 0 { plan.parts.as_slice() } else { &plan.parts[part..=part] };
    let units: usize = concerned.iter().map(|part| part.order.len() + part.together.work()).sum();
    for step in steps(plan, part) {
        *work += units;
        if *work >= MAX_PLACEMENTS {
            break;
        }
        apply(&mut plan.parts[part].order, step);
        let lowest = best.as_ref().map_or(cost, |(lowest, _)| *lowest) - MIN_GAIN;
        let now = match &first {
            None => plan.cost(lowest),
            Some(first) => plan.cost_of(part, first).map(|now| cost - own + now),
        };
        if let Some(now) = now
            && now < lowest
        {
            best = Some((now, plan.parts[part].order.clone()));
        }
        plan.parts[part].order.clone_from(&before);
    }
    let (cost, order) = best?;
    plan.parts[part].order = order;
    Some(cost)
}

fn steps(plan: &LayoutPlan, part: usize) -> Vec<SearchStep> {
    let involved = plan.involved(part);
    let part = &plan.parts[part];
    let unit = |place: usize| &part.units.units[part.order[place]];
    let free = |place: usize| !unit(place).fixed && unit(place).size > 0;
    let count = part.order.len();
    let mut steps = Vec::new();
    for from in (0..count).filter(|&place| free(place)) {
        for to in (0..count).filter(|&place| free(place) && place != from) {
            let helps = involved[part.order[from]] || involved[part.order[to]];
            if unit(from).group == unit(to).group && helps {
                steps.push(SearchStep::Take { from, to });
                if from < to {
                    steps.push(SearchStep::Swap(from, to));
                }
            }
        }
    }
    steps
}

fn apply(order: &mut Vec<usize>, step: SearchStep) {
    match step {
        SearchStep::Swap(a, b) => order.swap(a, b),
        SearchStep::Take { from, to } => {
            let unit = order.remove(from);
            order.insert(to, unit);
        }
    }
}
