//! The report as one HTML file.

use serde::Serialize;
use tenure_report::chart::{self, Bar, Bars, Figure, Key, Look};
use tenure_report::verdict::{self, Verdict};

use super::result::{Report, Row, Scenario};
use super::table::{microseconds, name, named, rate, ratio};

/// The report as an HTML page.
#[must_use]
pub fn render(report: &Report) -> String {
    chart::page(include_str!("e2e.html"), &Page::of(report), verdict::CSS, &super::json(report))
}

#[derive(Serialize)]
struct Page {
    title: String,
    version: String,
    answer: String,
    quick: bool,
    started: String,
    took: String,
    method: String,
    machine: String,
    kernel: String,
    schema: String,
    missing: Vec<String>,
    verdicts: Vec<Told>,
    scenarios: Vec<Shown>,
}

#[derive(Serialize)]
struct Told {
    outcome: tenure_report::verdict::Outcome,
    words: &'static str,
    claim: String,
    detail: String,
    scenario: String,
    anchor: String,
}

#[derive(Serialize)]
struct Shown {
    anchor: String,
    id: String,
    title: String,
    about: String,
    sockets: bool,
    rival: Option<String>,
    keys: Vec<Key>,
    figures: Vec<Figure>,
    rows: Vec<Line>,
    acquires: Option<Timed>,
}

/// How long acquires took.
#[derive(Serialize)]
struct Timed {
    /// What the columns are.
    names: Vec<&'static str>,
    /// A free list, and its times.
    rows: Vec<(String, Vec<String>)>,
}

#[derive(Serialize)]
struct Line {
    name: String,
    mark: &'static str,
    rate: String,
    cpu: String,
    latency: Option<[String; 3]>,
    baseline: Option<[String; 2]>,
    rival: Option<[String; 2]>,
}

impl Page {
    fn of(report: &Report) -> Self {
        let settings = &report.settings;
        Self {
            title: format!("Tenure's servers on {}", report.machine.line()),
            version: report.version.clone(),
            answer: verdict::answer(&report.verdicts, report.settings.quick),
            quick: settings.quick,
            started: report.started.replace('T', " ").replace('Z', " UTC"),
            took: tenure_report::words::number(report.seconds),
            method: format!(
                "{} threads for each server and for the load generator ({}); {} rounds of {} s of each server, in random order (seed {})",
                settings.threads,
                settings.generator,
                settings.rounds,
                tenure_report::words::short(settings.seconds),
                settings.seed
            ),
            machine: report.machine.line(),
            kernel: report.machine.kernel.clone(),
            schema: report.schema.clone(),
            missing: report.missing.clone(),
            verdicts: verdict::ordered(&report.verdicts).into_iter().map(told).collect(),
            scenarios: report.scenarios.iter().map(shown).collect(),
        }
    }
}

fn told(verdict: &Verdict) -> Told {
    Told {
        outcome: verdict.outcome,
        words: verdict.outcome.words(),
        claim: verdict.claim.clone(),
        detail: verdict.detail.clone(),
        scenario: verdict.scenario.clone(),
        anchor: anchor(&verdict.scenario),
    }
}

fn anchor(id: &str) -> String {
    id.replace('/', "-")
}

fn shown(scenario: &Scenario) -> Shown {
    let rows = &scenario.rows;
    let looks = chart::looks(rows.iter().map(|row| row.cell.as_str()), &scenario.baseline, None);
    Shown {
        anchor: anchor(&scenario.id),
        id: scenario.id.clone(),
        title: scenario.title.clone(),
        about: scenario.about.clone(),
        sockets: scenario.sockets,
        rival: scenario.rival.clone(),
        keys: Vec::new(),
        figures: figures(scenario, &looks),
        rows: rows.iter().map(|row| line(row, scenario)).collect(),
        acquires: timed(rows),
    }
}

fn timed(rows: &[Row]) -> Option<Timed> {
    let told = |ns: u64| tenure_report::words::grouped(&ns.to_string());
    let timed = || rows.iter().filter_map(|row| Some((row, named(&row.acquires?))));
    let names = timed().next()?.1.map(|(name, _)| name).to_vec();
    let rows =
        timed().map(|(row, times)| (row.cell.clone(), times.map(|(_, ns)| told(ns)).to_vec()));
    Some(Timed { names, rows: rows.collect() })
}

fn line(row: &Row, scenario: &Scenario) -> Line {
    let pair =
        |ratios: &super::result::Ratios| [ratio(&ratios.rate, true), ratio(&ratios.cpu, true)];
    Line {
        name: name(row, scenario),
        mark: chart::mark(&row.cell, row.cell == scenario.baseline, false),
        rate: rate(row.ops_per_second.median),
        cpu: microseconds(row.cpu_ns_per_op.median),
        latency: row.latency.as_ref().map(|it| {
            let tail = it.p999_ns.map_or_else(String::new, microseconds);
            [microseconds(it.p50_ns), microseconds(it.p99_ns), tail]
        }),
        baseline: row.to_baseline.as_ref().map(pair),
        rival: row.to_rival.as_ref().map(pair),
    }
}

fn figures(scenario: &Scenario, looks: &[Look<'_>]) -> Vec<Figure> {
    let names: Vec<String> = scenario.rows.iter().map(|row| name(row, scenario)).collect();
    let bars: Vec<Bar<'_>> = scenario
        .rows
        .iter()
        .zip(&names)
        .filter_map(|(row, name)| {
            let look = looks.iter().find(|look| look.name == row.cell)?;
            let cpu = &row.cpu_ns_per_op;
            Some(Bar {
                name,
                role: look.role,
                value: cpu.median,
                interval: Some((cpu.low, cpu.high)),
                figure: format!("{} us {}", microseconds(cpu.median), cpu.interval(microseconds)),
            })
        })
        .collect();
    let described: Vec<String> = scenario
        .rows
        .iter()
        .zip(&names)
        .map(|(row, name)| format!("{name} {} us", microseconds(row.cpu_ns_per_op.median)))
        .collect();
    let of = Bars {
        id: &format!("{}-cpu", anchor(&scenario.id)),
        title: &format!("{}: CPU time per request", scenario.title),
        caption: "CPU time of the server per request",
        aside: "shorter is better; the mark is the 95 % interval",
    };
    of.figure(&bars, &described).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::e2e::fixtures;
    use tenure_report::chart::checks;
    use tenure_report::html;

    #[test]
    fn the_page_asks_for_nothing_and_its_charts_and_ids_are_sound() {
        let page = render(&fixtures::report());
        checks::asks_for_nothing(&page);
        checks::charts_are_sound(&page);
        checks::ids_are_sound(&page);
    }

    #[test]
    fn no_text_of_a_report_becomes_markup() {
        let mut report = fixtures::report();
        let script = "<script>alert(1)</script>";
        report.scenarios[0].rows[0].program = script.to_owned();
        report.scenarios[0].title = script.to_owned();
        report.missing = vec![script.to_owned()];
        checks::no_script_was_let_in(&render(&report), 2);
    }

    #[test]
    fn the_data_in_the_page_is_the_report() {
        let page = render(&fixtures::report());
        let data: Report = serde_json::from_str(html::data(&page)).unwrap();
        assert_eq!(data, fixtures::report());
    }
}
