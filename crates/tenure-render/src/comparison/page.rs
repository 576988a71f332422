//! A comparison as one HTML page.

use std::collections::HashSet;

use serde::Serialize;
use tenure_model::{ComparedBenchmark, ComparedRound, Comparison, ComparisonVerdict};
use tenure_report::chart::{Axes, Dot, KeyedFigure, LineChart, theme};
use tenure_report::html;
use tenure_report::numbers::{number, ratio};

use super::plot;
use super::words::{self, shown};
use crate::clean::cleaned;

/// One HTML page, with the comparison's JSON in it.
#[must_use]
pub fn page(comparison: &Comparison) -> String {
    let json = serde_json::to_string(comparison).expect("it is made of strings, numbers and lists");
    let css = html::css(&theme::COLOURS, include_str!("style.css"));
    html::page(include_str!("page.html"), &ComparisonPage::of(&cleaned(comparison)), &css, &json)
}

#[derive(Serialize)]
struct ComparisonPage {
    title: String,
    version: String,
    made: String,
    before: String,
    after: String,
    measured: String,
    rows: Vec<PageRow>,
    /// The ends of the plots.
    reach: [String; 2],
    notes: Vec<String>,
    curves: Vec<KeyedFigure>,
}

#[derive(Serialize)]
struct PageRow {
    name: String,
    before: String,
    after: String,
    verdict: String,
    tone: &'static str,
    plot: RatioPlot,
    rounds: Vec<PageRound>,
}

/// Where marks lie, in per cent of the plot's width.
#[derive(Serialize)]
struct RatioPlot {
    low: String,
    width: String,
    median: String,
    /// The rounds' own ratios.
    dots: Vec<String>,
}

#[derive(Serialize)]
struct PageRound {
    before: String,
    after: String,
    again: String,
    ratio: String,
    others: String,
    is_disturbed: bool,
}

impl ComparisonPage {
    fn of(it: &Comparison) -> Self {
        let reach = plot::reach(&it.rows);
        Self {
            title: "tenure compare".to_owned(),
            version: it.version.clone(),
            made: format!("tenure {}, {}", it.version, it.machine),
            before: shown(&it.before),
            after: shown(&it.after),
            measured: words::measured(it),
            rows: it.rows.iter().map(|row| PageRow::of(row, &it.metric, reach)).collect(),
            reach: [1.0 / reach, reach].map(|end| format!("{end:.2}")),
            notes: words::notes(it),
            curves: curves(it),
        }
    }
}

impl PageRow {
    fn of(row: &ComparedBenchmark, metric: &str, reach: f64) -> Self {
        let figure = |value| words::figure(value, &row.unit);
        let tone = match row.verdict {
            ComparisonVerdict::Faster => "faster",
            ComparisonVerdict::Slower => "slower",
            ComparisonVerdict::NoDifference { .. } => "same",
            ComparisonVerdict::TooFewRounds { .. } | ComparisonVerdict::NotResolved { .. } => {
                "unresolved"
            }
        };
        let place = |value: f64| 100.0 * plot::place(value, reach);
        let [low, high] = row.speedup.range.map(place);
        let round = |it: &ComparedRound| PageRound {
            before: figure(it.before),
            after: figure(it.after),
            again: figure(it.again),
            ratio: ratio(it.speedup(row.better)),
            others: number(it.others),
            is_disturbed: it.disturbed,
        };
        let per_cent = |place: f64| format!("{place:.1}%");
        let dots = row.rounds.iter().map(|it| per_cent(place(it.speedup(row.better))));
        Self {
            name: words::name(row, metric),
            before: figure(row.before),
            after: figure(row.after),
            verdict: words::verdict(row),
            tone,
            plot: RatioPlot {
                low: per_cent(low),
                width: per_cent(high - low),
                median: per_cent(place(row.speedup.median)),
                dots: dots.collect(),
            },
            rounds: row.rounds.iter().map(round).collect(),
        }
    }
}

/// A chart for each benchmark that was measured at several numbers of threads.
fn curves(it: &Comparison) -> Vec<KeyedFigure> {
    let mut names: Vec<&str> = it.rows.iter().map(|row| row.name.as_str()).collect();
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(*name));
    let curve = |(at, name): (usize, &str)| {
        let rows: Vec<&ComparedBenchmark> =
            it.rows.iter().filter(|row| row.name == name && row.threads.is_some()).collect();
        let first = rows.first().filter(|_| rows.len() > 1)?;
        let dots = |of: fn(&ComparedBenchmark) -> f64| -> Vec<Dot> {
            let dot = |row: &&ComparedBenchmark| {
                let at = usize::try_from(row.threads?).ok()?;
                Some(Dot { at, value: of(row), interval: None })
            };
            rows.iter().filter_map(dot).collect()
        };
        let title = if name.is_empty() { &it.metric } else { name };
        let better = words::better(first.better);
        let better = match first.unit.as_str() {
            "" => better.to_owned(),
            unit => format!("{unit}, {better}"),
        };
        LineChart {
            id: &format!("curve-{at}"),
            title,
            caption: title,
            better: &better,
            unit: &first.unit,
            axes: Axes { name: "threads", beyond: None, may_be_logarithmic: true },
        }
        .of(&[("before", dots(|row| row.before)), ("after", dots(|row| row.after))])
    };
    names.into_iter().enumerate().filter_map(curve).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixtures;
    use super::*;
    use tenure_report::chart::checks;

    #[test]
    fn the_page_asks_for_nothing_and_has_the_comparison_in_it() {
        for comparison in fixtures::all() {
            let page = page(&comparison);
            checks::asks_for_nothing(&page);
            checks::ids_are_sound(&page);
            let data: Comparison = serde_json::from_str(html::data(&page)).unwrap();
            assert_eq!(data, comparison);
        }
    }

    #[test]
    fn a_sweep_has_a_curve_for_both() {
        let page = page(&fixtures::sweep());
        assert_eq!(checks::charts_are_sound(&page), 1);
        assert!(page.contains("<bdi>before</bdi>") && page.contains("<bdi>after</bdi>"));
        assert_eq!(checks::charts_are_sound(&super::page(&fixtures::many())), 0);
    }

    #[test]
    fn names_are_text() {
        let mut comparison = fixtures::many();
        comparison.rows[0].name = "<script>\u{202e}".to_owned();
        let page = page(&comparison);
        assert!(page.contains("&lt;script&gt;\u{fffd}"));
    }
}
