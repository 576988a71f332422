//! The report as text for a terminal.

use comfy_table::{Attribute, Cell, Table};
use tenure_report::grid::{self, aligned, line};
use tenure_report::stats::Estimate;
use tenure_report::terminal::Style;
use tenure_report::verdict;
use tenure_report::words::{grouped, number};

use super::result::{Acquires, Ratios, Report, Row, Scenario};

/// The report as text that ends in a line break.
#[must_use]
pub fn render(report: &Report, style: Style) -> String {
    let mut text = String::new();
    let settings = &report.settings;
    let machine = report.machine.line();
    let quick = if settings.quick { "; quick run: too few figures to quote" } else { "" };
    line(&mut text, &style.wrapped(&format!("{machine}{quick}"), ""));
    line(
        &mut text,
        &style.wrapped(
            &format!(
                "{} threads for each server and for the load ({}); {} rounds of {} s each. Requests per second include \
                 the load generator, which runs on the same CPUs; CPU per request is the server's alone, its share of \
                 the kernel included.",
                settings.threads, settings.generator, settings.rounds, settings.seconds
            ),
            "",
        ),
    );
    for scenario in &report.scenarios {
        line(&mut text, "");
        line(
            &mut text,
            &format!("{}  {}", style.strong(&scenario.title), style.quiet(&scenario.id)),
        );
        line(&mut text, &style.wrapped(&scenario.about, ""));
        line(&mut text, "");
        line(&mut text, &table(scenario, style));
        if let Some(acquires) = acquires(scenario, style) {
            line(&mut text, "");
            line(&mut text, &acquires);
        }
    }
    for missing in &report.missing {
        line(&mut text, "");
        line(&mut text, &style.quiet(&style.wrapped(&format!("Not measured: {missing}."), "  ")));
    }
    line(&mut text, "");
    line(&mut text, &style.strong(&verdict::answer(&report.verdicts, report.settings.quick)));
    for verdict in verdict::ordered(&report.verdicts) {
        let words = verdict.outcome.words();
        line(&mut text, &style.wrapped(&format!("{words}: {}", verdict.claim), "  "));
        line(&mut text, &style.wrapped(&verdict.detail, "    "));
    }
    text
}

/// Whether the table has intervals and tails, from the fullest on.
const FULLNESS: [(bool, bool); 3] = [(true, true), (false, true), (false, false)];

fn table(scenario: &Scenario, style: Style) -> String {
    grid::fitting(FULLNESS.map(|fullness| vec![fill(scenario, fullness, style)]), style)
}

fn fill(scenario: &Scenario, (intervals, tails): (bool, bool), style: Style) -> Table {
    let mut table = grid::table(style);
    let other = scenario.rival.as_ref();
    let mut header = vec!["server", "requests/s", "CPU us/req"];
    if scenario.sockets {
        header.extend(["p50 us", "p99 us"]);
        header.extend(tails.then_some("p99.9 us"));
    }
    header.extend(["rate vs baseline", "CPU vs baseline"]);
    let names = other.map(|name| (format!("rate vs {name}"), format!("CPU vs {name}")));
    header.extend(names.iter().flat_map(|(rate, cpu)| [rate.as_str(), cpu.as_str()]));
    table.set_header(
        header
            .into_iter()
            .enumerate()
            .map(|(at, name)| aligned(Cell::new(name).add_attribute(Attribute::Dim), at > 0)),
    );
    for row in &scenario.rows {
        let mut cells = vec![name(row, scenario)];
        cells.push(rate(row.ops_per_second.median));
        cells.push(microseconds(row.cpu_ns_per_op.median));
        if scenario.sockets {
            let latency = row.latency.as_ref();
            let show = |ns: Option<f64>| ns.map_or_else(String::new, microseconds);
            cells.push(show(latency.map(|it| it.p50_ns)));
            cells.push(show(latency.map(|it| it.p99_ns)));
            cells.extend(tails.then(|| show(latency.and_then(|it| it.p999_ns))));
        }
        cells.extend(pair(row.to_baseline.as_ref(), intervals));
        cells.extend(other.into_iter().flat_map(|_| pair(row.to_rival.as_ref(), intervals)));
        table.add_row(
            cells.into_iter().enumerate().map(|(at, text)| aligned(Cell::new(text), at > 0)),
        );
    }
    table
}

/// The row's name, with the version of a program that others wrote, and with its errors.
pub(super) fn name(row: &Row, scenario: &Scenario) -> String {
    let name = match &scenario.rival {
        Some(rival) if *rival == row.cell => row.program.clone(),
        _ => row.cell.clone(),
    };
    match row.errors {
        0 => name,
        errors => format!("{name} ({errors} errors)"),
    }
}

fn pair(ratios: Option<&Ratios>, interval: bool) -> [String; 2] {
    let show = |estimate: &Estimate| ratio(estimate, interval);
    ratios.map_or_else(Default::default, |ratios| [show(&ratios.rate), show(&ratios.cpu)])
}

/// `1.23 [1.20, 1.27]`, with a sign where it is not resolved.
pub(super) fn ratio(estimate: &Estimate, interval: bool) -> String {
    let sign = if estimate.resolved() { "" } else { " ≈" };
    let interval = if interval {
        format!(" [{:.2}, {:.2}]", estimate.low, estimate.high)
    } else {
        String::new()
    };
    format!("{:.2}{interval}{sign}", estimate.median)
}

pub(super) fn rate(per_second: f64) -> String {
    grouped(&format!("{per_second:.0}"))
}

pub(super) fn microseconds(ns: f64) -> String {
    number(ns / 1000.0)
}

/// How long acquires took, where that was timed.
fn acquires(scenario: &Scenario, style: Style) -> Option<String> {
    let timed: Vec<_> =
        scenario.rows.iter().filter_map(|row| Some((&row.cell, row.acquires?))).collect();
    if timed.is_empty() {
        return None;
    }
    let mut table = grid::table(style);
    let names = named(&timed[0].1).map(|(name, _)| format!("{name} ns"));
    let header =
        ["acquire of a pair".to_owned()].into_iter().chain(names).chain(["acquires".to_owned()]);
    table.set_header(
        header
            .enumerate()
            .map(|(at, name)| aligned(Cell::new(name).add_attribute(Attribute::Dim), at > 0)),
    );
    for (cell, acquires) in timed {
        let figures = named(&acquires).map(|(_, ns)| grouped(&ns.to_string()));
        let count = grouped(&acquires.count.to_string());
        let cells = [cell.clone()].into_iter().chain(figures).chain([count]);
        table.add_row(cells.enumerate().map(|(at, text)| aligned(Cell::new(text), at > 0)));
    }
    Some(grid::fitting([vec![table]], style))
}

/// The times with their names.
pub(super) fn named(acquires: &Acquires) -> [(&'static str, u64); 5] {
    let Acquires { p50, p90, p99, p999, max, .. } = *acquires;
    [("median", p50), ("90 %", p90), ("99 %", p99), ("99.9 %", p999), ("slowest", max)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::e2e::fixtures;

    #[test]
    fn every_server_has_a_line_and_what_is_missing_is_told() {
        let text = render(&fixtures::report(), Style::PLAIN);
        for part in [
            "ticket, isolated",
            "memcached 1.6.18",
            "2.75",
            "Not measured: e2e/http-close: nginx",
            "holds here",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
        assert!(text.contains("acquire of a pair"), "{text}");
    }

    #[test]
    fn a_table_fits_a_narrow_terminal() {
        let narrow = Style { width: 80, ..Style::PLAIN };
        let text = render(&fixtures::report(), narrow);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn colour_is_all_that_it_adds() {
        grid::assert_colour_is_all_it_adds(|style| render(&fixtures::report(), style));
    }
}
