//! What the page shows of a run.

use serde::Serialize;

use tenure_report::chart::{Axes, Dot, KeyedFigure, LineChart};
use tenure_report::numbers::scaled;
use tenure_report::parts::{Parts, marked};

use crate::prose::observed as prose;
use tenure_model::{Finding, Forecast, Report, Run};

/// The head of a page about a run.
#[derive(Serialize)]
pub(super) struct RunHead {
    missing: Vec<String>,
    curves: Option<KeyedFigure>,
    /// What the curves count.
    iteration: &'static str,
}

/// What a finding of a run has beside its words and its map.
#[derive(Serialize)]
pub(super) struct ObservedView {
    pub(super) kind: String,
    place: String,
    /// What the lock guards, and how long it is held.
    lock: Option<String>,
    evidence: String,
    rows: Vec<WordRow>,
    repairs: Vec<RepairView>,
    curves: Option<KeyedFigure>,
}

/// A word and those who use it.
#[derive(Serialize)]
struct WordRow {
    name: String,
    offset: String,
    size: u64,
    type_name: String,
    role: &'static str,
    /// Whether it is written; else it suffers.
    contended: bool,
    /// Who, what, how often per second and thread, where, and the line of source.
    uses: Vec<[String; 5]>,
}

#[derive(Serialize)]
struct RepairView {
    what: Parts,
    text: Option<Parts>,
    code: String,
    /// What it gives the line alone.
    alone: String,
}

impl RunHead {
    pub(super) fn of(report: &Report, run: &Run) -> Self {
        Self {
            missing: prose::missing(report, run),
            iteration: prose::ITERATION,
            curves: run.forecast.as_ref().filter(|_| prose::is_simulated(run)).and_then(
                |forecast| {
                    curves(
                        forecast,
                        "forecast",
                        "Throughput, at most",
                        "Throughput of the whole program",
                    )
                },
            ),
        }
    }
}

impl ObservedView {
    pub(super) fn of(report: &Report, finding: &Finding, anchor: &str) -> Option<Self> {
        let observed = finding.observed.as_ref()?;
        let row = |row: prose::WordUseRow<'_>| WordRow {
            contended: row.first.role.is_contended() || *row.first == finding.contended,
            name: row.name,
            offset: row.offset,
            size: row.first.size,
            type_name: row.first.type_name.clone(),
            role: row.first.role.name(),
            uses: row
                .uses
                .iter()
                .map(|it| {
                    [
                        prose::threads(it),
                        prose::access(it.operation).to_owned(),
                        scaled(it.per_second),
                        prose::at(it),
                        prose::source(it).unwrap_or_default(),
                    ]
                })
                .collect(),
        };
        let repair = |repair: &tenure_model::Repair| RepairView {
            what: marked(&prose::repair(report, finding, repair)),
            text: (!repair.brief.is_empty()).then(|| marked(&repair.text)),
            code: repair.code.join("\n"),
            alone: prose::gain(finding, repair).unwrap_or_default(),
        };
        Some(Self {
            kind: finding.fault(),
            place: prose::place(finding, observed, report.line_bytes),
            lock: prose::lock(finding),
            evidence: prose::evidence(finding, observed),
            rows: prose::rows(finding).into_iter().map(row).collect(),
            repairs: finding.repairs.iter().map(repair).collect(),
            curves: finding.forecast.as_ref().and_then(|forecast| {
                let title = format!("Throughput of {}", finding.title());
                curves(forecast, &format!("{anchor}-curves"), "Unmodified, and repaired", &title)
            }),
        })
    }
}

/// Whether two curves cannot be told apart: they are one, with both names.
fn coincide(one: &[Dot], other: &[Dot]) -> bool {
    const ALIKE: f64 = 0.02;
    let is_alike = |(one, other): (&Dot, &Dot)| {
        one.at == other.at && (one.value - other.value).abs() <= ALIKE * one.value.abs()
    };
    one.len() == other.len() && one.iter().zip(other).all(is_alike)
}

/// A forecast as a chart.
fn curves(forecast: &Forecast, id: &str, caption: &str, title: &str) -> Option<KeyedFigure> {
    let lines = prose::curves(forecast);
    let values = lines.iter().flat_map(|(_, points)| points.iter()).map(|point| point.per_second);
    let most = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
    let (scale, unit) = match most {
        most if most >= 1e6 => (1e6, "million iterations/s"),
        most if most >= 1e4 => (1e3, "thousand iterations/s"),
        _ => (1.0, "iterations/s"),
    };
    let dots = |points: &[tenure_model::Point]| -> Vec<Dot> {
        let dot = |point: &tenure_model::Point| {
            let at = usize::try_from(point.cpus).ok()?;
            Some(Dot { at, value: point.per_second / scale, interval: None })
        };
        points.iter().filter_map(dot).collect()
    };
    let mut told: Vec<(String, Vec<Dot>)> = Vec::new();
    for (name, points) in lines {
        let dots = dots(points);
        match told.iter_mut().find(|(_, other)| coincide(other, &dots)) {
            Some((names, _)) => *names += &format!(", {name}"),
            None => told.push((name.to_owned(), dots)),
        }
    }
    let lines: Vec<(&str, Vec<Dot>)> =
        told.iter().map(|(name, dots)| (&**name, dots.clone())).collect();
    let better = format!("{unit} on {}, more is better", forecast.machine);
    let axes = Axes { name: "CPUs", beyond: None, may_be_logarithmic: true };
    LineChart { id, title, caption, better: &better, unit, axes }.of(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn curves_that_coincide_are_one_with_both_names() {
        let tenure_model::Source::Run(run) = fixtures::run().source else { panic!() };
        let mut forecast = run.forecast.unwrap();
        let names = |forecast: &Forecast| -> Vec<String> {
            let curves = super::curves(forecast, "id", "caption", "title").unwrap();
            let keys = serde_json::to_value(&curves.keys).unwrap();
            let name = |key: &serde_json::Value| key["name"].as_str().unwrap().to_owned();
            keys.as_array().unwrap().iter().map(name).collect()
        };
        assert_eq!(names(&forecast), ["unmodified", "change 1", "all 2 changes"]);
        forecast.repaired[0].points.clone_from(&forecast.unmodified);
        assert_eq!(names(&forecast), ["unmodified, change 1", "all 2 changes"]);
    }
}
