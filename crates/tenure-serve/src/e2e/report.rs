//! A run as the curves behind tables and pages.

use super::result::{Acquires, Report, Row, Scenario};
use super::scenario::GROUP;
use tenure_report::curves::{
    self, Bars, Cell, Column, Group, Line, Measure, Measured, Section, Show, Table,
};
use tenure_report::verdict;
use tenure_report::words::{grouped, number, short};

impl Measured for Report {
    fn curves(&self) -> curves::Report {
        let settings = &self.settings;
        let quick = if settings.quick { "; quick run: too few figures to quote" } else { "" };
        let how = format!(
            "{} threads for each server and for the load generator ({}); {} rounds of {} s of each server",
            settings.threads,
            settings.generator,
            settings.rounds,
            short(settings.seconds)
        );
        curves::Report {
            title: format!("Tenure's servers on {}", self.machine.line()),
            version: self.version.clone(),
            schema: self.schema.clone(),
            quick: settings.quick,
            opening: vec![
                format!("{}{quick}", self.machine.line()),
                format!(
                    "{how}. Requests per second include the load generator, which runs on the same CPUs; CPU per \
                     request is the server's alone, its share of the kernel included."
                ),
            ],
            made: vec![format!(
                "Measured {} by Tenure {} in {} s. {how}, in random order (seed {}).",
                self.started.replace('T', " ").replace('Z', " UTC"),
                self.version,
                number(self.seconds),
                settings.seed
            )],
            conclusion: Some(verdict::answer(&self.verdicts, settings.quick)),
            verdicts: self.verdicts.clone(),
            machine: (&self.machine).into(),
            groups: vec![Group {
                name: GROUP.to_owned(),
                title: "Whole servers under load".to_owned(),
                about: "All servers of a scenario run at once, each in a process of its own, and are driven \
                        in turn."
                    .to_owned(),
                scenarios: self.scenarios.iter().map(scenario).collect(),
            }],
            missing: self.missing.clone(),
            method: include_str!("method.html").to_owned(),
            ..curves::Report::default()
        }
    }
}

/// A rival adds two figures.
fn measures(rival: Option<&str>) -> Vec<Measure> {
    let plain = |heading: &str| Measure::new(heading, Show::Number);
    let against = |other: &str| {
        let rate = Measure::new(format!("rate vs {other}"), Show::More).with_interval(1);
        [rate, Measure::new(format!("CPU vs {other}"), Show::Less).with_interval(1)]
    };
    let own = [
        Measure::new("requests/s", Show::Whole),
        plain("CPU µs/request").bars(Bars {
            caption: "CPU time of the server per request",
            better: "shorter is better",
            unit: "µs",
        }),
        plain("p50 µs"),
        plain("p99 µs"),
        plain("p99.9 µs").for_steps(2),
    ];
    let ratios = against("baseline").into_iter().chain(rival.into_iter().flat_map(against));
    own.into_iter().chain(ratios).collect()
}

fn scenario(scenario: &Scenario) -> curves::Scenario {
    let row = |row: &Row| {
        let cpu = row.cpu_ns_per_op;
        let us = |ns: f64| Some(Cell::from(ns / 1e3));
        let interval = Some((cpu.low / 1e3, cpu.high / 1e3));
        let cpu = Cell::Figure { value: cpu.median / 1e3, interval, tone: curves::Tone::default() };
        let latency = row.latency.as_ref();
        let ratios = [row.to_baseline, row.to_rival].map(|ratios| {
            [ratios.map(|it| Cell::from(it.rate)), ratios.map(|it| Cell::from(it.cpu))]
        });
        let own = [
            Some(row.ops_per_second.median.into()),
            Some(cpu),
            latency.and_then(|it| us(it.p50_ns)),
            latency.and_then(|it| us(it.p99_ns)),
            latency.and_then(|it| us(it.p999_ns?)),
        ];
        let cells = own.into_iter().chain(ratios.into_iter().flatten());
        let measures = if scenario.rival.is_some() { 9 } else { 7 };
        curves::Row { name: name(row, scenario), cells: cells.take(measures).collect() }
    };
    let baseline = scenario.rows.iter().find(|row| row.cell == scenario.baseline);
    curves::Scenario {
        id: scenario.id.clone(),
        title: scenario.title.clone(),
        about: scenario.about.clone(),
        baseline: baseline.map(|row| name(row, scenario)).unwrap_or_default(),
        measures: measures(scenario.rival.as_deref()),
        points: vec![curves::Point { at: 0, rows: scenario.rows.iter().map(row).collect() }],
        tables: acquires(scenario).into_iter().collect(),
        ..curves::Scenario::default()
    }
}

/// A rival's name has its version.
fn name(row: &Row, scenario: &Scenario) -> String {
    let name = match &scenario.rival {
        Some(rival) if *rival == row.cell => row.program.clone(),
        _ => row.cell.clone(),
    };
    match row.errors {
        0 => name,
        errors => format!("{name} ({errors} errors)"),
    }
}

fn acquires(scenario: &Scenario) -> Option<Table> {
    let line = |row: &Row| {
        let Acquires { count, p50, p90, p99, p999, max } = row.acquires?;
        let figures = [p50, p90, p99, p999, max, count].map(|figure| grouped(&figure.to_string()));
        Some(Line::of(&row.cell, figures))
    };
    let lines: Vec<Line> = scenario.rows.iter().filter_map(line).collect();
    let headings = ["median", "90 %", "99 %", "99.9 %", "slowest", "acquires"];
    (!lines.is_empty()).then(|| Table {
        caption: "One acquire of a pair of buffers, in nanoseconds, timed inside of the server"
            .to_owned(),
        corner: "acquire of a pair, ns".to_owned(),
        columns: headings.map(Column::new).into(),
        sections: vec![Section { lines, ..Section::default() }],
        ..Table::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::e2e::result::{Latency, Ratios, SCHEMA, Settings};
    use crate::e2e::verdicts;
    use tenure_report::curves::{checks, page, terminal};
    use tenure_report::json;
    use tenure_report::machine::Machine;
    use tenure_report::stats::Estimate;
    use tenure_report::terminal::Style;

    fn about(median: f64) -> Estimate {
        Estimate { median, low: median * 0.97, high: median * 1.03 }
    }

    fn row(cell: &str, rate: f64) -> Row {
        Row {
            cell: cell.to_owned(),
            program: "tenure 0.1.0".to_owned(),
            ops_per_second: about(rate),
            cpu_ns_per_op: about(1e9 / rate),
            latency: Some(Latency { p50_ns: 1e5, p99_ns: 9e5, p999_ns: Some(2e6) }),
            to_baseline: None,
            to_rival: None,
            acquires: None,
            errors: 0,
        }
    }

    fn ratios(rate: f64) -> Option<Ratios> {
        Some(Ratios { rate: about(rate), cpu: about(1.0 / rate), p99: Some(about(0.5)) })
    }

    /// One scenario with a rival, one with timed acquires.
    fn report() -> Report {
        let mut ours = row("ticket, isolated", 1_500_000.0);
        (ours.to_baseline, ours.to_rival) = (ratios(1.01), ratios(2.90));
        let mut theirs = row("memcached", 545_000.0);
        theirs.program = "memcached 1.6.18".to_owned();
        theirs.to_baseline = ratios(0.36);
        theirs.errors = 3;
        let mut base = row("inc_not_zero, shared", 1_480_000.0);
        base.to_rival = ratios(2.75);
        let acquires = Acquires {
            count: 12_345,
            p50: 5_200,
            p90: 6_100,
            p99: 9_000,
            p999: 20_000,
            max: 100_000,
        };
        let mut scan = row("scan", 40_000.0);
        scan.acquires = Some(acquires);
        let mut magazines = row("magazines", 44_000.0);
        magazines.acquires = Some(Acquires { p50: 60, ..acquires });
        magazines.to_baseline = ratios(1.1);
        let scenario = |id: &str, baseline: &str, rival: Option<&str>, rows| Scenario {
            id: id.to_owned(),
            title: format!("About {id}"),
            about: "What is done.".to_owned(),
            sockets: true,
            baseline: baseline.to_owned(),
            rival: rival.map(str::to_owned),
            rows,
        };
        let scenarios = vec![
            scenario(
                "e2e/memcached-pipeline",
                "inc_not_zero, shared",
                Some("memcached"),
                vec![base, ours, theirs],
            ),
            scenario("e2e/http-held", "scan", None, vec![scan, magazines]),
        ];
        Report {
            schema: SCHEMA.to_owned(),
            version: "0.1.0".to_owned(),
            started: "2026-11-21T22:00:00Z".to_owned(),
            seconds: 100.0,
            settings: Settings {
                quick: true,
                seconds: 1.0,
                rounds: 12,
                threads: 2,
                seed: 7,
                generator: "tenure".to_owned(),
            },
            machine: Machine {
                arch: "aarch64".to_owned(),
                cpus: 1,
                kernel: "Linux 6.6.0".to_owned(),
                ..Machine::default()
            },
            verdicts: verdicts::judge(&scenarios),
            scenarios,
            missing: vec!["e2e/http-close: nginx: nginx is not installed".to_owned()],
        }
    }

    #[test]
    fn every_report_is_sound() {
        let mut report = report();
        checks::is_sound(&report, "e2e");
        checks::json_is_read_back(&report);
        checks::fits_usual_terminals(&report);
        let page = page::render(&report);
        assert_eq!(page.matches("data-chart=\"bars\"").count(), 2);
        assert_eq!(page.matches("timed inside of the server</span>").count(), 1);
        let script = "<script>alert(1)</script>";
        report.scenarios[0].rows[0].program = script.to_owned();
        report.scenarios[0].title = script.to_owned();
        report.missing = vec![script.to_owned()];
        checks::no_text_becomes_markup(&report);
    }

    #[test]
    fn every_server_has_a_line_and_what_is_missing_is_told() {
        let text = terminal::render(&report(), Style::PLAIN);
        for part in [
            "ticket, isolated",
            "memcached 1.6.18 (3 errors)",
            "2.75x",
            "acquire of a pair",
            "Not measured: e2e/http-close: nginx",
            "holds here",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
    }

    #[test]
    fn the_committed_schema_is_the_one_that_the_types_have() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/e2e.schema.json");
        json::check_committed(path.as_ref(), &json::schema::<Report>());
    }
}
