//! Repairs that only help together.

use super::{Repaired, repairs};
use crate::pattern::Pattern;

/// The most repairs of one pattern.
const MAX_REPAIRS: usize = 3;
/// Throughputs this close are alike: the earlier repair, or the fewer, are better.
const ALIKE: f64 = 0.05;

/// Repairs one after another, each of the pattern that the one before has left: a line with a lock and a counter is
/// no faster while it has either. Only those that `applies` accepts. As few as give nearly the most; none if nothing helps,
/// or if `throughput` does not know what one gives.
pub fn together(
    pattern: &Pattern,
    mut throughput: impl FnMut(&Pattern) -> Option<f64>,
    applies: impl Fn(&Repaired) -> bool,
) -> Option<Vec<Repaired>> {
    let mut after = vec![throughput(pattern)?];
    let mut chosen: Vec<Repaired> = Vec::new();
    while chosen.len() < MAX_REPAIRS {
        let left = chosen.last().map_or(pattern, |last| &last.pattern);
        let mut all = Vec::new();
        for repair in repairs(left) {
            if applies(&repair) && chosen.iter().all(|other| other.remedy != repair.remedy) {
                all.push((throughput(&repair.pattern)?, repair));
            }
        }
        let most = all.iter().map(|(mops, _)| *mops).fold(0.0, f64::max);
        let best = all.into_iter().find(|(mops, _)| *mops >= most * (1.0 - ALIKE));
        let Some((mops, repair)) = best else { break };
        after.push(mops);
        chosen.push(repair);
    }
    let most = after.iter().copied().fold(0.0, f64::max);
    let enough = after.iter().position(|mops| *mops >= most * (1.0 - ALIKE));
    chosen.truncate(enough.unwrap_or(0));
    Some(chosen)
}
