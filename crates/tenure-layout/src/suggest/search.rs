//! Looking for a better order.
//!
//! Steepest descent: of all ways to take one unit out and put it in elsewhere, and of all ways to swap
//! two, the one that costs least, until none costs less. Swaps are steps of their own because a single
//! move of an 8-byte member shifts all that lie between, and mostly leads through an order that grows.
//! The parts take turns. No chance is involved: the same type gives the same answer.

use super::plan::Plan;

/// Orders to look at, at the most. A struct of 30 members takes a few thousand.
const MOST_TRIES: usize = 40_000;

/// What an order has to be better by.
const LEAST_GAIN: f64 = 1e-9;

/// A way to change an order: places, not units.
#[derive(Debug, Clone, Copy)]
enum Step {
    Swap(usize, usize),
    Take { from: usize, to: usize },
}

/// Improves a plan until nothing helps.
pub(super) fn improve(plan: &mut Plan) {
    let Some(mut costs) = plan.costs() else { return };
    let mut tries = 0;
    loop {
        let mut better = false;
        // From the outside in: what is around an embedded type is easier to move than what all have.
        for part in (0..plan.parts.len()).rev() {
            while let Some(lower) = step(plan, part, &costs, &mut tries) {
                costs = lower;
                better = true;
            }
        }
        if !better || tries >= MOST_TRIES {
            return;
        }
    }
}

/// Takes the best step of one part, if there is one, and returns what the parts cost then.
fn step(plan: &mut Plan, part: usize, costs: &[f64], tries: &mut usize) -> Option<Vec<f64>> {
    let before = plan.parts[part].order.clone();
    let mut lowest = costs.iter().sum::<f64>() - LEAST_GAIN;
    let mut best: Option<(Vec<f64>, Vec<usize>)> = None;
    for step in steps(plan, part) {
        *tries += 1;
        if *tries >= MOST_TRIES {
            break;
        }
        apply(&mut plan.parts[part].order, step);
        if let Some(now) = after(plan, part, costs) {
            let sum = now.iter().sum::<f64>();
            if sum < lowest {
                lowest = sum - LEAST_GAIN;
                best = Some((now, plan.parts[part].order.clone()));
            }
        }
        plan.parts[part].order.clone_from(&before);
    }
    let (costs, order) = best?;
    plan.parts[part].order = order;
    Some(costs)
}

/// What the parts cost after a change of one. The first part is in all others.
fn after(plan: &Plan, changed: usize, costs: &[f64]) -> Option<Vec<f64>> {
    if changed == 0 {
        return plan.costs();
    }
    let mut costs = costs.to_vec();
    costs[changed] = plan.cost(changed, &plan.parts[0].place(None))?;
    Some(costs)
}

/// All steps between units that may move.
fn steps(plan: &Plan, part: usize) -> Vec<Step> {
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
                steps.push(Step::Take { from, to });
                if from < to {
                    steps.push(Step::Swap(from, to));
                }
            }
        }
    }
    steps
}

fn apply(order: &mut Vec<usize>, step: Step) {
    match step {
        Step::Swap(a, b) => order.swap(a, b),
        Step::Take { from, to } => {
            let unit = order.remove(from);
            order.insert(to, unit);
        }
    }
}
