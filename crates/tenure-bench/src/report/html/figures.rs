//! Which charts a scenario has, and the key to them.

use serde::Serialize;

use super::bars::{self, Bar};
use super::canvas::{self, Alternative};
use super::lines::{self, Dot, Series};
use super::theme::{Marker, Role};
use super::ticks::Scale;
use crate::report::words;
use crate::result::{Point, Row, Scenario};

/// The group whose bars are shown whatever the numbers of threads: layout by counter.
const CELLS: &str = "dst/";

/// A variant in the key.
#[derive(Serialize)]
pub(super) struct Key {
    swatch: String,
    name: String,
    mark: &'static str,
}

/// A chart with its caption.
#[derive(Serialize)]
pub(super) struct Figure {
    /// `lines` or `bars`.
    kind: &'static str,
    caption: String,
    aside: String,
    svg: String,
}

/// What the others are compared with, or what the hardware allows; empty for the rest, and for
/// those whose name says it.
pub(super) fn mark(name: &str, is_baseline: bool, is_limit: bool) -> &'static str {
    let mark = match (is_baseline, is_limit) {
        (true, _) => "baseline",
        (_, true) => "limit",
        _ => "",
    };
    if name == mark { "" } else { mark }
}

/// How a variant is drawn, everywhere in its scenario.
struct Look<'a> {
    name: &'a str,
    role: Role,
    marker: Marker,
}

fn looks(scenario: &Scenario) -> Vec<Look<'_>> {
    let mut looks: Vec<Look<'_>> = Vec::new();
    let mut place = 0;
    for row in scenario.points.iter().flat_map(|point| &point.rows) {
        let name = row.variant.as_str();
        if looks.iter().any(|look| look.name == name) {
            continue;
        }
        let (role, marker) = if name == scenario.baseline {
            (Role::Baseline, Marker::Square)
        } else if scenario.limit.as_deref() == Some(name) {
            (Role::Limit, Marker::None)
        } else {
            place += 1;
            (Role::Series(place - 1), Marker::of_series(place - 1))
        };
        looks.push(Look { name, role, marker });
    }
    looks
}

/// The key and the charts of a scenario. `anchor` is unique in the page.
pub(super) fn of(scenario: &Scenario, anchor: &str) -> (Vec<Key>, Vec<Figure>) {
    let looks = looks(scenario);
    let several = scenario.points.len() > 1;
    let mut figures = Vec::new();
    if let Some(point) =
        words::headline(scenario).filter(|_| !several || scenario.id.starts_with(CELLS))
    {
        figures.extend(times(scenario, point, &looks, anchor));
    }
    if !several {
        // Bars carry their names.
        return (Vec::new(), figures);
    }
    figures.extend(throughput(scenario, &looks, anchor));
    figures.extend(retries(scenario, &looks, anchor));
    let keys = looks
        .iter()
        .map(|look| Key {
            swatch: canvas::swatch(look.role, look.marker),
            name: look.name.to_owned(),
            mark: mark(look.name, look.role == Role::Baseline, look.role == Role::Limit),
        })
        .collect();
    (keys, figures)
}

fn times(scenario: &Scenario, point: &Point, looks: &[Look<'_>], anchor: &str) -> Option<Figure> {
    let threads = words::counted(point.threads, "thread");
    let bars: Vec<_> = point
        .rows
        .iter()
        .filter_map(|row| {
            let look = looks.iter().find(|look| look.name == row.variant)?;
            Some(Bar { name: look.name, role: look.role, time: row.ns_per_op })
        })
        .collect();
    let figures: Vec<_> = point
        .rows
        .iter()
        .map(|row| format!("{} {} ns", row.variant, words::number(row.ns_per_op.median)))
        .collect();
    let svg = bars::chart(
        &bars,
        &Alternative {
            id: &format!("{anchor}-bars"),
            title: &format!("{}: time of one operation at {threads}", scenario.title),
            description: &format!("Bars. {}.", figures.join(", ")),
        },
    )?;
    Some(Figure {
        kind: "bars",
        caption: format!("Time of one operation, {threads}"),
        aside: "shorter is faster; the mark is the 95 % interval".to_owned(),
        svg,
    })
}

fn throughput(scenario: &Scenario, looks: &[Look<'_>], anchor: &str) -> Option<Figure> {
    let dot = |row: &Row| {
        let time = row.ns_per_op;
        // Throughput is the inverse of time, so its interval is the inverse of time's.
        let interval = (row.mops * time.median / time.high, row.mops * time.median / time.low);
        Some((row.mops, Some(interval)))
    };
    let series = series(scenario, looks, dot);
    let (svg, scale) = lines::chart(
        &series,
        &crowded(scenario),
        true,
        &Alternative {
            id: &format!("{anchor}-throughput"),
            title: &format!("{}: throughput over threads", scenario.title),
            description: &described(
                scenario,
                |row| Some(row.mops),
                "million operations per second",
            ),
        },
    )?;
    Some(Figure {
        kind: "lines",
        caption: "Throughput, millions of operations per second".to_owned(),
        aside: aside("higher is faster", scenario, &scale),
        svg,
    })
}

fn retries(scenario: &Scenario, looks: &[Look<'_>], anchor: &str) -> Option<Figure> {
    let some = scenario
        .points
        .iter()
        .flat_map(|point| &point.rows)
        .any(|row| row.retries_per_op.is_some_and(|retries| retries > 0.0));
    let series = series(scenario, looks, |row| Some((row.retries_per_op?, None)));
    let (svg, scale) = lines::chart(
        &series,
        &crowded(scenario),
        false,
        &Alternative {
            id: &format!("{anchor}-retries"),
            title: &format!("{}: retries over threads", scenario.title),
            description: &described(scenario, |row| row.retries_per_op, "retries per operation"),
        },
    )
    .filter(|_| some)?;
    Some(Figure {
        kind: "lines",
        caption: "Failed compare-exchanges per operation".to_owned(),
        aside: aside("lower is better", scenario, &scale),
        svg,
    })
}

fn series(
    scenario: &Scenario,
    looks: &[Look<'_>],
    of: impl Fn(&Row) -> Option<(f64, Option<(f64, f64)>)>,
) -> Vec<Series> {
    looks
        .iter()
        .map(|look| Series {
            role: look.role,
            marker: look.marker,
            dots: scenario
                .points
                .iter()
                .filter_map(|point| {
                    let row = point.rows.iter().find(|row| row.variant == look.name)?;
                    let (value, interval) = of(row)?;
                    // A dashed line has no place for it, and the table has it.
                    let interval = interval.filter(|_| look.role != Role::Limit);
                    Some(Dot { threads: point.threads, value, interval })
                })
                .collect(),
        })
        .filter(|series| !series.dots.is_empty())
        .collect()
}

fn crowded(scenario: &Scenario) -> Vec<usize> {
    scenario.points.iter().filter(|point| point.oversubscribed).map(|point| point.threads).collect()
}

fn aside(first: &str, scenario: &Scenario, scale: &Scale) -> String {
    let mut parts = vec![first.to_owned()];
    if scale.logarithmic {
        parts.push("logarithmic scale".to_owned());
    }
    if !crowded(scenario).is_empty() {
        parts.push("shaded: more threads than CPUs".to_owned());
    }
    parts.join("; ")
}

/// The ends of each line, in words.
fn described(scenario: &Scenario, of: impl Fn(&Row) -> Option<f64>, unit: &str) -> String {
    let (Some(first), Some(last)) = (scenario.points.first(), scenario.points.last()) else {
        return String::new();
    };
    let at = |point: &Point, variant: &str| {
        point.rows.iter().find(|row| row.variant == variant).and_then(&of).map(words::number)
    };
    let lines: Vec<_> = last
        .rows
        .iter()
        .filter_map(|row| {
            let (from, to) = (at(first, &row.variant)?, at(last, &row.variant)?);
            Some(format!("{} from {from} to {to}", row.variant))
        })
        .collect();
    format!(
        "Lines over {} to {} threads, in {unit}: {}.",
        words::whole(first.threads),
        words::whole(last.threads),
        lines.join(", ")
    )
}
