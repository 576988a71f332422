//! What was asked and answered, in sentences.

pub(super) use tenure_report::words::{counted, number, ratio, short, whole};

use crate::simulate::result::{Check, Group, Machine, Point, Scenario};

/// A sentence cut into parts, and whether each is code: the name of a variant or a member.
pub(super) type Parts = Vec<(String, bool)>;

/// A part of a sentence.
pub(super) fn plain(text: impl Into<String>) -> (String, bool) {
    (text.into(), false)
}

/// A name in a sentence.
pub(super) fn code(name: impl Into<String>) -> (String, bool) {
    (name.into(), true)
}

/// What a group's first scenario with an answer says: which scenario it is, and the sentence.
pub(super) fn answer(group: &Group) -> Option<(usize, Parts)> {
    group.scenarios.iter().enumerate().find_map(|(at, scenario)| Some((at, compared(scenario)?)))
}

/// The point that stands for a scenario: that of the most CPUs.
pub(super) fn headline(scenario: &Scenario) -> Option<&Point> {
    scenario.points.iter().max_by_key(|point| point.cpus).filter(|point| !point.rows.is_empty())
}

/// The fastest variant against the baseline, on the most CPUs.
fn compared(scenario: &Scenario) -> Option<Parts> {
    let point = headline(scenario)?;
    let (best, variant) = point
        .rows
        .iter()
        .filter(|row| scenario.limit.as_ref() != Some(&row.variant))
        .filter_map(|row| Some((row.to_baseline?, row.variant.as_str())))
        .filter(|(ratio, _)| ratio.is_finite() && *ratio > 0.0)
        .min_by(|one, other| one.0.total_cmp(&other.0))?;
    let on = format!("On {} ", counted(point.cpus, "CPU"));
    let (variant, baseline) = (code(variant), code(&scenario.baseline));
    let ratio = ratio(best);
    Some(match standing(best) {
        Standing::Faster => vec![
            plain(on),
            variant,
            plain(format!(" takes {ratio} of the time of ")),
            baseline,
            plain("."),
        ],
        Standing::Same => {
            vec![plain(on), variant, plain(" takes as long as "), baseline, plain(".")]
        }
        Standing::Slower => vec![
            plain(on + "nothing is faster than "),
            baseline,
            plain(": "),
            variant,
            plain(format!(" takes {ratio} of its time.")),
        ],
    })
}

/// On which side of 1 a ratio of times is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Faster,
    Same,
    Slower,
}

/// A ratio that is 1 to two decimals is 1: the model is no finer than that.
pub(super) fn standing(ratio: f64) -> Standing {
    match ratio {
        ratio if ratio < 0.995 => Standing::Faster,
        ratio if ratio > 1.005 => Standing::Slower,
        _ => Standing::Same,
    }
}

/// `2 sockets of 28 cores with 2 hardware threads each`; `None` if it is not as even as that.
pub(super) fn topology(machine: &Machine) -> Option<String> {
    let per = |all: usize, of: usize| (of > 0 && all.is_multiple_of(of)).then(|| all / of);
    let Machine { cores, smt, clusters, sockets, .. } = *machine;
    let even = per(clusters, sockets).zip(per(cores, clusters));
    let (clusters_of, cores_of) = even.filter(|_| cores > 0)?;
    let mut levels = Vec::new();
    if sockets > 1 {
        levels.push(counted(sockets, "socket"));
    }
    if clusters_of > 1 {
        levels.push(counted(clusters_of, "cluster"));
    }
    levels.push(counted(cores_of, "core"));
    let topology = levels.join(" of ");
    let each = counted(smt, "hardware thread");
    Some(if smt > 1 { format!("{topology} with {each} each") } else { topology })
}

/// Simulated time with the unit that suits it: `200 µs`.
pub(super) fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns >= 1e9 => (ns / 1e9, "s"),
        ns if ns >= 1e6 => (ns / 1e6, "ms"),
        ns if ns >= 1e3 => (ns / 1e3, "µs"),
        ns => (ns, "ns"),
    };
    format!("{} {unit}", short(value))
}

/// How many of the published figures the simulator meets.
pub(super) fn validity(checks: &[Check]) -> String {
    let within = checks.iter().filter(|check| check.within).count();
    format!(
        "{} of {} within a factor of 1.5",
        whole(within),
        match checks.len() {
            1 => "1 published figure is".to_owned(),
            count => format!("{} published figures are", whole(count)),
        }
    )
}

/// Names as `a`, `a and b`, `a, b and c`, or `a, b, c and 3 more`.
pub(super) fn list(names: &[String]) -> Parts {
    const MOST: usize = 4;
    let cut = if names.len() > MOST { &names[..MOST - 1] } else { names };
    let more = names.len() - cut.len();
    let mut parts = Parts::new();
    for (index, name) in cut.iter().enumerate() {
        match index {
            0 => {}
            _ if more == 0 && index + 1 == cut.len() => parts.push(plain(" and ")),
            _ => parts.push(plain(", ")),
        }
        parts.push(code(name));
    }
    if more > 0 {
        parts.push(plain(format!(" and {more} more")));
    }
    parts
}

/// The parts as a text.
#[cfg(test)]
pub(super) fn text(parts: &[(String, bool)]) -> String {
    parts.iter().map(|(part, _)| part.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::html::fixtures;

    #[test]
    fn the_answer_compares_the_fastest_with_the_baseline_on_the_most_cpus() {
        let mut report = fixtures::xeon();
        let (at, sentence) = answer(&report.groups[0]).unwrap();
        assert_eq!(at, 0);
        assert_eq!(text(&sentence), "On 112 CPUs ticket takes 0.23 of the time of inc_not_zero.");
        let scenarios = &mut report.groups[0].scenarios;
        for row in &mut scenarios[0].points.last_mut().unwrap().rows {
            row.to_baseline = row.to_baseline.map(|_| 1.2);
        }
        let (_, sentence) = answer(&report.groups[0]).unwrap();
        assert_eq!(
            text(&sentence),
            "On 112 CPUs nothing is faster than inc_not_zero: rcuref takes 1.20 of its time."
        );
    }

    #[test]
    fn what_has_no_comparison_has_no_answer() {
        let mut group = fixtures::xeon().groups.remove(0);
        group.scenarios.truncate(1);
        group.scenarios[0].points.last_mut().unwrap().rows.clear();
        assert_eq!(answer(&group), None);
    }

    #[test]
    fn a_topology_is_told_from_the_outside_in() {
        let mut machine = fixtures::xeon().machine;
        let told = |machine: &Machine| topology(machine).unwrap_or_default();
        assert_eq!(told(&machine), "2 sockets of 28 cores with 2 hardware threads each");
        (machine.clusters, machine.smt) = (14, 1);
        assert_eq!(told(&machine), "2 sockets of 7 clusters of 4 cores");
        machine.cores = 55;
        assert_eq!(told(&machine), "", "not even");
        assert_eq!(told(&fixtures::one_cpu().machine), "1 core");
    }

    #[test]
    fn times_have_the_unit_that_suits_them() {
        assert_eq!(time(200_000.0), "200 µs");
        assert_eq!(time(2.5e6), "2.5 ms");
        assert_eq!(time(0.0), "0 ns");
    }

    #[test]
    fn lists_end_in_and_or_in_how_many_more() {
        let names: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        let list = |names| text(&list(names));
        assert_eq!(list(&names[..1]), "a");
        assert_eq!(list(&names[..2]), "a and b");
        assert_eq!(list(&names[..4]), "a, b, c and d");
        assert_eq!(list(&names[..]), "a, b, c and 2 more");
    }

    #[test]
    fn validity_counts_what_is_within() {
        let checks = fixtures::xeon().validation;
        assert_eq!(validity(&checks), "5 of 7 published figures are within a factor of 1.5");
    }
}
