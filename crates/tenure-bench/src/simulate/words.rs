//! What was asked and answered, in sentences: the same in a terminal and on a page.

pub(super) use tenure_report::words::{counted, number, ratio, short, whole};

use super::result::WITHIN;
use super::result::{Check, Group, Line, Machine, Point, Row, Scenario};

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

/// Fewer retries per operation are not worth a word.
const SOME_RETRIES: f64 = 0.05;

/// The fastest variant, or those that are, against the baseline, on the most CPUs.
fn compared(scenario: &Scenario) -> Option<Parts> {
    let point = headline(scenario)?;
    let on = format!("On {} ", counted(point.cpus, "CPU"));
    let base = point.rows.iter().find(|row| row.variant == scenario.baseline);
    let baseline = code(&scenario.baseline);
    if base.is_some_and(|row| row.operations == 0) {
        let end = " was done in the time that was measured.";
        return Some(vec![plain(on + "no operation of "), baseline, plain(end)]);
    }
    let compared = || {
        let rows = point.rows.iter().filter(|row| scenario.limit.as_ref() != Some(&row.variant));
        rows.filter_map(|row| Some((row.to_baseline?, row.variant.as_str())))
            .filter(|(ratio, _)| ratio.is_finite() && *ratio > 0.0)
    };
    let best = compared().map(|(ratio, _)| ratio).min_by(f64::total_cmp)?;
    let ratio = |of| ratio(of);
    // Those that would be told with the same digits.
    let names: Vec<String> = compared()
        .filter(|(it, _)| ratio(*it) == ratio(best))
        .map(|(_, variant)| variant.to_owned())
        .collect();
    let (variants, ratio) = (list(&names), ratio(best));
    let take = if names.len() == 1 { "takes" } else { "take" };
    let retries =
        base.map(|row| row.retries_per_op).filter(|it| it.is_finite() && *it >= SOME_RETRIES);
    let which = retries.map_or_else(String::new, |retries| {
        format!(", which retries {} times per operation", number(retries))
    });
    let mut parts = vec![plain(&on)];
    match standing(best) {
        Standing::Faster => {
            parts.extend(variants);
            parts.extend([plain(format!(" {take} {ratio} of the time of ")), baseline]);
            parts.push(plain(which + "."));
        }
        Standing::Same => {
            parts.extend(variants);
            parts.extend([plain(format!(" {take} as long as ")), baseline, plain(which + ".")]);
        }
        Standing::Slower => {
            parts.extend([plain("nothing is faster than "), baseline, plain(which + ": ")]);
            parts.extend(variants);
            parts.push(plain(format!(" {take} {ratio} of its time.")));
        }
    }
    Some(parts)
}

/// What a scenario says, as text.
pub(super) fn sentence(scenario: &Scenario) -> Option<String> {
    compared(scenario).map(|parts| text(&parts))
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

/// The machine in a sentence: its name, what it is, and its CPUs.
pub(super) fn machine(machine: &Machine) -> String {
    let cpus = counted(machine.cpus, "CPU");
    let about = machine.about.trim_end_matches('.');
    format!("Simulated: {}, {cpus}. {about}.", machine.name)
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

/// What a simulation leaves out, in a sentence.
pub(super) const LEFT_OUT: &str = "The simulator models the transfer of cache lines between cores and nothing \
    else: no store buffers, no overlapping misses, no cache capacity, no bandwidth, no prefetching and no \
    scheduler.";

/// How many of the measured figures the simulator meets, also without those that it was fitted to.
pub(super) fn validity(checks: &[Check]) -> String {
    let within = |checks: &[&Check]| whole(checks.iter().filter(|check| check.within).count());
    let all: Vec<&Check> = checks.iter().collect();
    let unfitted: Vec<&Check> = checks.iter().filter(|check| !check.fitted).collect();
    let mut text = format!(
        "{} of {} within a factor of {WITHIN}",
        within(&all),
        match all.len() {
            1 => "1 measured figure is".to_owned(),
            count => format!("{} measured figures are", whole(count)),
        }
    );
    if unfitted.len() < all.len() {
        let (within, count) = (within(&unfitted), whole(unfitted.len()));
        text += &format!("; of the {count} that no parameter was fitted to, {within} are");
    }
    text
}

/// From how many CPUs on hardware threads of one core share its cache, as threads fill the cores first;
/// `None` on a machine without them.
pub(super) fn siblings_beyond(machine: &Machine) -> Option<usize> {
    (machine.smt > 1 && machine.cores > 0 && machine.cpus > machine.cores).then_some(machine.cores)
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
pub(super) fn text(parts: &[(String, bool)]) -> String {
    parts.iter().map(|(part, _)| part.as_str()).collect()
}

/// A member of a line that moved, and its part in what that cost.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hot {
    /// Its name, or its place on the line.
    pub(super) name: String,
    /// Accesses per operation.
    pub(super) accesses_per_op: f64,
    /// Its share of the row's accesses for which a line had to come.
    pub(super) misses: f64,
    /// Its share of the time that those waited.
    pub(super) waited: f64,
}

/// Shares below this are left out.
const SHOWN: f64 = 0.005;

/// The members of one of the row's lines that accesses waited for, the most waited for first.
pub(super) fn hot(row: &Row, line: &Line) -> Vec<Hot> {
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

    /// With these times, and retries of the baseline.
    fn answered(ratio: impl Fn(&str) -> f64, retries: f64) -> String {
        let mut report = fixtures::xeon();
        let scenario = &mut report.groups[0].scenarios[0];
        for row in &mut scenario.points.last_mut().unwrap().rows {
            row.to_baseline = row.to_baseline.map(|_| ratio(&row.variant));
            row.retries_per_op = if row.variant == scenario.baseline { retries } else { 0.0 };
        }
        let (at, sentence) = answer(&report.groups[0]).unwrap();
        assert_eq!(at, 0);
        text(&sentence)
    }

    #[test]
    fn the_answer_compares_the_fastest_with_the_baseline_on_the_most_cpus() {
        let ticket = |ratio| move |variant: &str| if variant == "ticket" { ratio } else { 1.5 };
        assert_eq!(
            answered(ticket(0.23), 0.0),
            "On 112 CPUs ticket takes 0.23 of the time of inc_not_zero."
        );
        assert_eq!(
            answered(|_| 0.16, 9.6),
            "On 112 CPUs rcuref and ticket take 0.16 of the time of inc_not_zero, which retries 9.60 \
             times per operation."
        );
        assert_eq!(
            answered(ticket(1.001), 0.0),
            "On 112 CPUs ticket takes as long as inc_not_zero."
        );
        assert_eq!(
            answered(|_| 1.2, 0.0),
            "On 112 CPUs nothing is faster than inc_not_zero: rcuref and ticket take 1.20 of its time."
        );
    }

    #[test]
    fn a_baseline_that_did_nothing_is_no_baseline() {
        let mut scenario = fixtures::xeon().groups.remove(0).scenarios.remove(0);
        for row in &mut scenario.points.last_mut().unwrap().rows {
            row.operations = 0;
        }
        assert_eq!(
            sentence(&scenario).unwrap(),
            "On 112 CPUs no operation of inc_not_zero was done in the time that was measured."
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
        assert_eq!(
            validity(&checks),
            "5 of 7 measured figures are within a factor of 1.5; of the 6 that no parameter was fitted \
             to, 4 are"
        );
        let unfitted: Vec<_> = checks.into_iter().filter(|check| !check.fitted).collect();
        assert_eq!(validity(&unfitted), "4 of 6 measured figures are within a factor of 1.5");
    }

    #[test]
    fn siblings_work_once_every_core_does() {
        assert_eq!(siblings_beyond(&fixtures::xeon().machine), Some(56));
        assert_eq!(siblings_beyond(&fixtures::one_cpu().machine), None);
    }

    #[test]
    fn shares_of_a_row_add_up_to_one() {
        for scenario in fixtures::simulated().groups.iter().flat_map(|group| &group.scenarios) {
            for row in scenario.points.iter().flat_map(|point| &point.rows) {
                let hot: Vec<Hot> = row.lines.iter().flat_map(|line| hot(row, line)).collect();
                let waited: f64 = hot.iter().map(|hot| hot.waited).sum();
                let members: usize = row.lines.iter().map(|line| line.members.len()).sum();
                let left_out = SHOWN * (members - hot.len()) as f64;
                let all = 1.0 - left_out - 1e-9..1.0 + 1e-9;
                assert!(row.lines.is_empty() || all.contains(&waited), "{hot:?}");
            }
        }
    }
}
