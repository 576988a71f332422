//! What a report says in words: the same in a terminal and in HTML.

use super::result::{Line, Machine, Point, Row, Scenario};
use tenure_report::words::{counted, number, ratio};

/// The machine in a line: its name, what it is, and its CPUs.
#[must_use]
pub fn machine(machine: &Machine) -> String {
    let mut parts = vec![counted(machine.cpus, "CPU")];
    if machine.cores != machine.cpus {
        parts.push(counted(machine.cores, "core"));
    }
    if machine.clusters > machine.sockets {
        parts.push(counted(machine.clusters, "cluster"));
    }
    if machine.sockets > 1 {
        parts.push(counted(machine.sockets, "socket"));
    }
    format!(
        "Simulated: {} ({}). {}.",
        machine.name,
        parts.join(", "),
        machine.about.trim_end_matches('.')
    )
}

/// The point that stands for a scenario: the one with the most CPUs.
#[must_use]
pub fn headline(scenario: &Scenario) -> Option<&Point> {
    scenario.points.iter().max_by_key(|point| point.cpus)
}

/// Ratios this near to 1 are told as no difference.
const SAME: f64 = 0.02;

/// The scenario in a sentence: how its fastest variant compares with its baseline on the most CPUs.
#[must_use]
pub fn sentence(scenario: &Scenario) -> Option<String> {
    let point = headline(scenario)?;
    let on = format!("On {}", counted(point.cpus, "CPU"));
    let baseline = point.rows.iter().find(|row| row.variant == scenario.baseline)?;
    if baseline.ns_per_op.is_none() {
        return Some(format!(
            "{on} no operation of {} was done in the time that was measured.",
            baseline.variant
        ));
    }
    let which = if baseline.retries_per_op >= 0.05 {
        format!(", which retries {} times per operation", number(baseline.retries_per_op))
    } else {
        String::new()
    };
    let rivals = || {
        let rows = point.rows.iter().filter(|row| Some(&row.variant) != scenario.limit.as_ref());
        rows.filter_map(|row| Some((row.variant.as_str(), row.to_baseline?)))
    };
    let least = rivals().map(|(_, to_baseline)| to_baseline).min_by(f64::total_cmp)?;
    // Those that would be told with the same digits.
    let best: Vec<&str> = rivals()
        .filter(|(_, to_baseline)| ratio(*to_baseline) == ratio(least))
        .map(|(variant, _)| variant)
        .collect();
    let (takes, best) = (if best.len() == 1 { "takes" } else { "take" }, listed(&best));
    let (baseline, ratio) = (&baseline.variant, ratio(least));
    Some(if least < 1.0 - SAME {
        format!("{on} {best} {takes} {ratio} of the time of {baseline}{which}.")
    } else if least <= 1.0 + SAME {
        format!("{on} {best} {takes} as long as {baseline}{which}.")
    } else {
        format!("{on} nothing is faster than {baseline}{which}; {best} {takes} {ratio}x its time.")
    })
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [init @ .., last] => format!("{} and {last}", init.join(", ")),
    }
}

/// A member of a line that moved, and its part in what that cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Hot {
    /// Its name, or its place on the line.
    pub name: String,
    /// Accesses per operation.
    pub accesses_per_op: f64,
    /// Its share of the row's accesses for which a line had to come.
    pub misses: f64,
    /// Its share of the time that those waited.
    pub waited: f64,
}

/// Shares below this are left out.
const SHOWN: f64 = 0.005;

/// The members of one of the row's lines that accesses waited for, the most waited for first.
#[must_use]
pub fn hot(row: &Row, line: &Line) -> Vec<Hot> {
    let members = || row.lines.iter().flat_map(|line| &line.members);
    let misses: f64 = members().map(|member| member.misses_per_op).sum();
    let waited: f64 = members().map(|member| member.waited_ns_per_op).sum();
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let mut hot: Vec<Hot> = line
        .members
        .iter()
        .map(|member| Hot {
            name: member.name.clone().unwrap_or_else(|| format!("offset {}", member.offset)),
            accesses_per_op: member.loads_per_op + member.stores_per_op + member.rmws_per_op,
            misses: share(member.misses_per_op, misses),
            waited: share(member.waited_ns_per_op, waited),
        })
        .filter(|hot| hot.misses.max(hot.waited) >= SHOWN)
        .collect();
    hot.sort_by(|one, other| other.waited.total_cmp(&one.waited));
    hot
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::fixtures;

    /// On two CPUs.
    fn scenario(change: impl Fn(&mut Row)) -> Scenario {
        let mut scenario = fixtures::simulated().groups.remove(0).scenarios.remove(0);
        scenario.points.truncate(2);
        let rows = &mut scenario.points[1].rows;
        for row in rows.iter_mut() {
            row.to_baseline = Some(0.5);
            row.retries_per_op = 0.0;
            change(row);
        }
        rows.iter_mut().find(|row| row.variant == "inc_not_zero").unwrap().to_baseline = None;
        scenario
    }

    #[test]
    fn the_sentence_names_the_fastest_its_ratio_and_the_retries_of_the_baseline() {
        let said = |change: fn(&mut Row)| sentence(&scenario(change)).unwrap();
        assert_eq!(
            said(|_| ()),
            "On 2 CPUs rcuref and ticket take 0.50 of the time of inc_not_zero."
        );
        assert_eq!(
            said(|row| {
                row.retries_per_op = 9.6;
                row.to_baseline = Some(if row.variant == "ticket" { 0.21 } else { 0.3 });
            }),
            "On 2 CPUs ticket takes 0.21 of the time of inc_not_zero, which retries 9.60 times per \
             operation."
        );
        assert_eq!(
            said(|row| row.to_baseline = Some(1.01)),
            "On 2 CPUs rcuref and ticket take as long as inc_not_zero."
        );
        assert_eq!(
            said(|row| row.to_baseline = Some(if row.variant == "ticket" { 1.2 } else { 1.5 })),
            "On 2 CPUs nothing is faster than inc_not_zero; ticket takes 1.20x its time."
        );
    }

    #[test]
    fn a_baseline_that_did_nothing_is_no_baseline() {
        let scenario = scenario(|row| row.ns_per_op = None);
        assert_eq!(
            sentence(&scenario).unwrap(),
            "On 2 CPUs no operation of inc_not_zero was done in the time that was measured."
        );
    }

    #[test]
    fn shares_of_a_row_add_up_to_one() {
        for scenario in fixtures::simulated().groups.iter().flat_map(|group| &group.scenarios) {
            for row in scenario.points.iter().flat_map(|point| &point.rows) {
                let hot: Vec<Hot> = row.lines.iter().flat_map(|line| hot(row, line)).collect();
                let waited: f64 = hot.iter().map(|hot| hot.waited).sum();
                assert!(row.lines.is_empty() || (waited - 1.0).abs() < 0.05, "{hot:?}");
            }
        }
    }
}
