//! What was predicted, as prose.

use tenure_report::numbers::{number, times};

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

/// What a change gives its line alone: `this line alone would allow 42× on 64 CPUs`.
pub(crate) fn gain(finding: &Finding, repair: &Repair) -> Option<String> {
    let forecast = finding.forecast.as_ref()?;
    let repaired = forecast.repaired.iter().find(|curve| curve.name == repair.name)?;
    let (cpus, before, after) = headline(forecast, repaired)?;
    let (gain, cpus) = (times([after / before; 2]), counted(cpus, "CPU"));
    Some(format!("this line alone would allow {gain} on {cpus}"))
}

/// The curves of a forecast by their names, the unmodified one first.
pub(crate) fn curves(forecast: &Forecast) -> Vec<(&str, &[Point])> {
    let repaired = forecast.repaired.iter().map(|Curve { name, points }| (&**name, &**points));
    std::iter::once(("unmodified", &*forecast.unmodified)).chain(repaired).collect()
}
