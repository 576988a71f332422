//! Questions and answers in sentences: the same in a terminal and on a page.

use super::result::WITHIN;
use super::result::{SimulatedMachine, SimulatedPoint, SimulatedScenario, ValidationCheck};
use tenure_report::curves::Tone;
use tenure_report::numbers::{counted, number, ratio, short, whole};
use tenure_report::parts::{Parts, code, list, plain};

pub(super) fn headline(scenario: &SimulatedScenario) -> Option<&SimulatedPoint> {
    scenario.points.iter().max_by_key(|point| point.cpus).filter(|point| !point.rows.is_empty())
}

/// Fewer retries per operation are not mentioned.
const MIN_RETRIES: f64 = 0.05;

/// The fastest variants against the baseline, on the most CPUs.
pub(super) fn answer(scenario: &SimulatedScenario) -> Option<Parts> {
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
    let names: Vec<String> = compared()
        .filter(|(it, _)| ratio(*it) == ratio(best))
        .map(|(_, variant)| variant.to_owned())
        .collect();
    let (variants, ratio) = (list(&names), ratio(best));
    let take = if names.len() == 1 { "takes" } else { "take" };
    let retries =
        base.map(|row| row.retries_per_op).filter(|it| it.is_finite() && *it >= MIN_RETRIES);
    let which = retries.map_or_else(String::new, |retries| {
        format!(", which retries {} times per operation", number(retries))
    });
    let mut parts = vec![plain(&on)];
    match Tone::of(best, None) {
        Tone::Faster => {
            parts.extend(variants);
            parts.extend([plain(format!(" {take} {ratio} of the time of ")), baseline]);
            parts.push(plain(which + "."));
        }
        Tone::Unresolved | Tone::Plain => {
            parts.extend(variants);
            parts.extend([plain(format!(" {take} as long as ")), baseline, plain(which + ".")]);
        }
        Tone::Slower => {
            parts.extend([plain("nothing is faster than "), baseline, plain(which + ": ")]);
            parts.extend(variants);
            parts.push(plain(format!(" {take} {ratio} of its time.")));
        }
    }
    Some(parts)
}

pub(super) fn machine(machine: &SimulatedMachine) -> String {
    let cpus = counted(machine.cpus, "CPU");
    let about = machine.about.trim_end_matches('.');
    format!("Simulated: {}, {cpus}. {about}.", machine.name)
}

/// `2 sockets of 28 cores with 2 hardware threads each`; `None` for uneven machines.
pub(super) fn topology(machine: &SimulatedMachine) -> Option<String> {
    let per = |all: usize, of: usize| (of > 0 && all.is_multiple_of(of)).then(|| all / of);
    let SimulatedMachine { cores, smt, clusters, sockets, .. } = *machine;
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

pub(super) fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns >= 1e9 => (ns / 1e9, "s"),
        ns if ns >= 1e6 => (ns / 1e6, "ms"),
        ns if ns >= 1e3 => (ns / 1e3, "µs"),
        ns => (ns, "ns"),
    };
    format!("{} {unit}", short(value))
}

pub(super) const LEFT_OUT: &str = "The simulator models the transfer of cache lines between cores, and the \
    store buffers of patterns. It leaves out overlapping misses, cache capacity, bandwidth, prefetching and the \
    scheduler.";

/// How many measured figures the simulator meets, also without the fitted ones.
pub(super) fn validity(checks: &[ValidationCheck]) -> String {
    let within =
        |checks: &[&ValidationCheck]| whole(checks.iter().filter(|check| check.within).count());
    let all: Vec<&ValidationCheck> = checks.iter().collect();
    let unfitted: Vec<&ValidationCheck> = checks.iter().filter(|check| !check.fitted).collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::fixtures;
    use tenure_report::parts::text_of;

    fn answered(ratio: impl Fn(&str) -> f64, retries: f64) -> String {
        let mut report = fixtures::xeon();
        let scenario = &mut report.groups[0].scenarios[0];
        for row in &mut scenario.points.last_mut().unwrap().rows {
            row.to_baseline = row.to_baseline.map(|_| ratio(&row.variant));
            row.retries_per_op = if row.variant == scenario.baseline { retries } else { 0.0 };
        }
        text_of(&answer(scenario).unwrap())
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
            text_of(&answer(&scenario).unwrap()),
            "On 112 CPUs no operation of inc_not_zero was done in the time that was measured."
        );
    }

    #[test]
    fn what_has_no_comparison_has_no_answer() {
        let mut scenario = fixtures::xeon().groups.remove(0).scenarios.remove(0);
        scenario.points.last_mut().unwrap().rows.clear();
        assert_eq!(answer(&scenario), None);
    }

    #[test]
    fn a_topology_is_told_from_the_outside_in() {
        let mut machine = fixtures::xeon().machine;
        let told = |machine: &SimulatedMachine| topology(machine).unwrap_or_default();
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
}
