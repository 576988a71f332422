//! What was predicted, as prose.

use tenure_report::numbers::{number, scaled};

use super::counted;
use tenure_model::{Curve, Finding, Forecast, Point, Repair, Run};

/// What predicting took: a sentence.
pub(crate) fn took(seconds: f64) -> String {
    format!("Predicting took {} s of processor time, at the lowest priority.", number(seconds))
}

/// What predicting took, at the end of a sentence on the run.
pub(super) fn predicting(run: &Run) -> String {
    let took = run
        .predicting
        .map(|seconds| format!("; predicting took {} s of processor time", number(seconds)));
    took.unwrap_or_default()
}

/// The number of CPUs for which a figure stands in a sentence.
const HEADLINE: u64 = 64;

/// The number of CPUs of the figure that stands in a sentence, the figure of the unmodified program, and that of the curve.
fn headline(forecast: &Forecast, curve: &Curve) -> Option<(u64, f64, f64)> {
    let at = |points: &[Point], cpus: u64| {
        points.iter().find(|point| point.cpus == cpus).map(|point| point.per_second)
    };
    let both = |cpus: u64| Some((cpus, at(&forecast.unmodified, cpus)?, at(&curve.points, cpus)?));
    let most = curve.points.iter().map(|point| point.cpus).max()?;
    both(HEADLINE).or_else(|| both(most))
}

/// `900 k → 2.8 M iterations/s at 64 CPUs`.
pub(crate) fn gain(finding: &Finding, repair: &Repair) -> Option<String> {
    let forecast = finding.forecast.as_ref()?;
    let repaired = forecast.repaired.iter().find(|curve| curve.name == repair.name)?;
    let (cpus, before, after) = headline(forecast, repaired)?;
    let cpus = counted(cpus, "CPU");
    Some(format!("{} → {} iterations/s at {cpus}", scaled(before), scaled(after)))
}

/// What repairs would give the whole program: `On 64 CPUs it would do, at most, 2.4 times as much with the first repair.`
pub(crate) fn outlook(forecast: &Forecast) -> Option<String> {
    let all = forecast.repaired.iter().filter_map(|curve| {
        let (cpus, before, after) = headline(forecast, curve)?;
        Some((cpus, after / before, &curve.name))
    });
    let all: Vec<_> = all.filter(|(_, gain, _)| gain.is_finite()).collect();
    let (cpus, ..) = all.first()?;
    let on = counted(*cpus, "CPU");
    /// A smaller factor is no gain.
    const MIN_GAIN: f64 = 1.05;
    if all.iter().all(|(_, gain, _)| *gain < MIN_GAIN) {
        return Some(format!(
            "On {on} these repairs alone would not make the whole program faster: what they leave is its limit."
        ));
    }
    let gains = all.iter().enumerate().map(|(at, (_, gain, name))| {
        let as_much = if at == 0 { " as much" } else { "" };
        let decimals = usize::from(*gain < 9.95);
        format!("{gain:.decimals$} times{as_much} with {name}")
    });
    Some(format!(
        "On {on} the whole program would do, at most, {}. Only these lines and the work between accesses to them are \
         simulated.",
        gains.collect::<Vec<_>>().join(", "),
    ))
}

/// The curves of a forecast by their names, the unmodified one first.
pub(crate) fn curves(forecast: &Forecast) -> Vec<(&str, &[Point])> {
    let repaired = forecast.repaired.iter().map(|Curve { name, points }| (&**name, &**points));
    std::iter::once(("unmodified", &*forecast.unmodified)).chain(repaired).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outlook_has_a_factor_for_each_curve_or_says_that_nothing_is_gained() {
        let points = |per_second| vec![Point { cpus: 64, per_second }];
        let curve =
            |name: &str, per_second| Curve { name: name.to_owned(), points: points(per_second) };
        let outlook = |all: &[(&str, f64)]| {
            outlook(&Forecast {
                machine: "m".to_owned(),
                unmodified: points(10.0),
                repaired: all.iter().map(|(name, per_second)| curve(name, *per_second)).collect(),
            })
        };
        assert_eq!(outlook(&[]), None);
        let said = outlook(&[("the first repair", 12.0), ("all 2 repairs", 1540.0)]).unwrap();
        let factors = "1.2 times as much with the first repair, 154 times with all 2 repairs.";
        assert!(said.starts_with("On 64 CPUs ") && said.contains(factors), "{said}");
        let said = outlook(&[("the repair", 10.1)]).unwrap();
        assert!(said.contains("would not make the whole program faster"), "{said}");
    }
}
