//! A report as tables for a terminal.
//!
//! A table says as much as its width allows: columns go, in the order of `FULLNESS`, until it fits.

use comfy_table::{Attribute, Cell, Color, Table};
use tenure_report::grid::{self, aligned, line};
use tenure_report::stats::Estimate;
use tenure_report::terminal::Style;
use tenure_report::verdict::{self, Outcome};

use super::words;
use crate::result::{Distribution, Group, Report, Row, Scenario};

/// The report as text that ends in a line break: its opening, its scenarios and its ending.
#[must_use]
pub fn render(report: &Report, style: Style) -> String {
    let scenarios = report.groups.iter().flat_map(|group| {
        std::iter::zip(0.., &group.scenarios).map(move |(at, _)| scenario(group, at, style))
    });
    let parts = [opening(report, style)].into_iter().chain(scenarios);
    parts.chain([ending(report, style)]).collect()
}

/// What is to be said before anything was measured.
#[must_use]
pub fn opening(report: &Report, style: Style) -> String {
    let mut text = String::new();
    line(&mut text, &style.wrapped(&machine(report), ""));
    text
}

/// A scenario of a group, by its index; before the first one, what the group is about.
#[must_use]
pub fn scenario(group: &Group, at: usize, style: Style) -> String {
    let mut text = String::new();
    if at == 0 {
        line(&mut text, "");
        line(&mut text, &style.strong(&format!("{}: {}", group.name, group.title)));
        line(&mut text, &style.wrapped(&group.about, ""));
    }
    render_scenario(&mut text, &group.scenarios[at], style);
    text
}

/// What the figures say about this project's claims.
#[must_use]
pub fn ending(report: &Report, style: Style) -> String {
    let mut text = String::new();
    render_verdicts(&mut text, report, style);
    text
}

fn machine(report: &Report) -> String {
    let machine = &report.machine;
    let mut parts = vec![machine.line()];
    if !matches!(machine.virtualisation.as_str(), "" | "none") {
        parts.push(format!("virtualised ({})", machine.virtualisation));
    }
    if report.settings.quick {
        parts.push("quick run: too few figures to quote".to_owned());
    }
    parts.join("; ")
}

fn render_scenario(text: &mut String, scenario: &Scenario, style: Style) {
    line(text, "");
    line(text, &format!("{}  {}", style.strong(&scenario.title), style.quiet(&scenario.id)));
    line(text, &style.wrapped(&scenario.about, ""));
    line(text, "");
    line(text, &table(scenario, style));
    if let Some(singles) = singles(scenario, style) {
        line(text, "");
        line(text, &singles);
    }
    for note in notes(scenario) {
        line(text, &style.quiet(&style.wrapped(&note, "  ")));
    }
}

fn render_verdicts(text: &mut String, report: &Report, style: Style) {
    line(text, "");
    line(text, &style.strong(&words::conclusion(report)));
    for verdict in verdict::ordered(&report.verdicts) {
        let colour = match verdict.outcome {
            Outcome::Holds => console::Style::new().green(),
            Outcome::DoesNotHold => console::Style::new().red(),
            Outcome::NotResolved | Outcome::NeedsMoreCpus => console::Style::new().yellow(),
        };
        let words = verdict.outcome.words();
        let sentence = style.wrapped(&format!("{words}: {}", verdict.claim), "  ");
        line(text, &sentence.replacen(words, &style.text(colour, words), 1));
        line(text, &style.wrapped(&verdict.detail, "    "));
    }
}

/// What a table of a scenario shows.
#[derive(Debug, Clone, Copy)]
struct Columns {
    limit: bool,
    limit_interval: bool,
    mops: bool,
    retries: bool,
    interval: bool,
}

/// How full a table can be, from the fullest.
const FULLNESS: [Columns; 5] = {
    let full =
        Columns { limit: true, limit_interval: true, mops: true, retries: true, interval: true };
    [
        full,
        Columns { limit_interval: false, ..full },
        Columns { limit_interval: false, mops: false, ..full },
        Columns { limit_interval: false, mops: false, interval: false, ..full },
        Columns { limit: false, mops: false, interval: false, ..full },
    ]
};

fn table(scenario: &Scenario, style: Style) -> String {
    let has_retries = rows(scenario).any(|row| row.retries_per_op.is_some());
    let candidates = FULLNESS.into_iter().map(|columns| Columns {
        limit: columns.limit && scenario.limit.is_some(),
        retries: has_retries,
        ..columns
    });
    grid::fitting(candidates.map(|columns| vec![fill(scenario, columns, style)]), style)
}

fn rows(scenario: &Scenario) -> impl Iterator<Item = &Row> {
    scenario.points.iter().flat_map(|point| &point.rows)
}

fn fill(scenario: &Scenario, columns: Columns, style: Style) -> Table {
    let mut table = grid::table(style);
    let mut header = vec!["variant", "ns/op"];
    header.extend(columns.mops.then_some("Mops/s"));
    header.extend(columns.retries.then_some("retries"));
    header.push("time vs baseline");
    header.extend(columns.limit.then_some("vs limit"));
    let width = header.len();
    table.set_header(
        header
            .into_iter()
            .enumerate()
            .map(|(index, name)| aligned(Cell::new(name).add_attribute(Attribute::Dim), index > 0)),
    );
    for point in &scenario.points {
        let mut title = words::counted(point.threads, "thread");
        if point.oversubscribed {
            title.push_str(" *");
        }
        let mut cells = vec![Cell::new(title).add_attribute(Attribute::Bold)];
        cells.resize(width, Cell::new(""));
        table.add_row(cells);
        for row in &point.rows {
            table.add_row(cells_of(row, scenario, columns));
        }
    }
    table
}

fn cells_of(row: &Row, scenario: &Scenario, columns: Columns) -> Vec<Cell> {
    let is_baseline = row.variant == scenario.baseline;
    let is_limit = scenario.limit.as_ref() == Some(&row.variant);
    let time = if columns.interval {
        let interval = row.ns_per_op.interval(words::number);
        format!("{} {interval}", words::number(row.ns_per_op.median))
    } else {
        words::number(row.ns_per_op.median)
    };
    let mut cells = vec![Cell::new(format!("  {}", row.variant)), aligned(Cell::new(time), true)];
    if columns.mops {
        cells.push(aligned(Cell::new(words::number(row.mops)), true));
    }
    if columns.retries {
        let retries = row.retries_per_op.map(words::number).unwrap_or_default();
        cells.push(aligned(Cell::new(retries), true));
    }
    cells.push(match &row.to_baseline {
        _ if is_baseline => mark("baseline"),
        Some(ratio) => coloured(ratio),
        None => Cell::new(""),
    });
    if columns.limit {
        cells.push(match &row.to_limit {
            _ if is_limit => mark("limit"),
            Some(ratio) => aligned(Cell::new(shown(ratio, columns.limit_interval)), true),
            None => Cell::new(""),
        });
    }
    cells
}

fn mark(word: &str) -> Cell {
    aligned(Cell::new(word).add_attribute(Attribute::Bold), true)
}

fn coloured(ratio: &Estimate) -> Cell {
    let cell = aligned(Cell::new(shown(ratio, true)), true);
    if !ratio.resolved() {
        cell.add_attribute(Attribute::Dim)
    } else if ratio.high < 1.0 {
        cell.fg(Color::DarkGreen)
    } else {
        cell.fg(Color::DarkRed)
    }
}

fn shown(ratio: &Estimate, interval: bool) -> String {
    let words = words::ratio_or_words(ratio);
    if interval { format!("{words}  {}", ratio.interval(words::ratio)) } else { words }
}

/// How long single operations took, if some were timed.
fn singles(scenario: &Scenario, style: Style) -> Option<String> {
    let timed = |row: &Row| Some((row.variant.clone(), row.singles?));
    let first = rows(scenario).find_map(timed)?.1;
    let fill = |times: &dyn Fn(Distribution) -> Vec<(&'static str, f64)>| {
        let mut table = grid::table(style);
        let header = times(first).into_iter().map(|(name, _)| name);
        table.set_header(["single operations, ns"].into_iter().chain(header).enumerate().map(
            |(index, name)| aligned(Cell::new(name).add_attribute(Attribute::Dim), index > 0),
        ));
        for point in &scenario.points {
            let title = words::counted(point.threads, "thread");
            table.add_row([Cell::new(title).add_attribute(Attribute::Bold)]);
            for (variant, of) in point.rows.iter().filter_map(timed) {
                let mut cells = vec![Cell::new(format!("  {variant}"))];
                let figures = times(of).into_iter().map(|(_, ns)| words::number(ns));
                cells.extend(figures.map(|figure| aligned(Cell::new(figure), true)));
                table.add_row(cells);
            }
        }
        vec![table]
    };
    let all = |of: Distribution| of.named().to_vec();
    let ends = |of: Distribution| [of.named()[0], of.named()[3]].to_vec();
    Some(grid::fitting([fill(&all), fill(&ends)], style))
}

/// What is to be said below a table.
fn notes(scenario: &Scenario) -> Vec<String> {
    let mut notes = Vec::new();
    if scenario.points.iter().any(|point| point.oversubscribed) {
        notes.push("* more threads than CPUs".to_owned());
    }
    notes.extend(words::disturbed(scenario));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixtures;

    fn widest(text: &str) -> usize {
        text.lines().map(console::measure_text_width).max().unwrap()
    }

    #[test]
    fn it_fits_into_120_100_and_80_columns_without_breaking_a_row() {
        for width in [120, 100, 80] {
            let text = render(&fixtures::xeon(), Style { width, colour: false });
            assert!(widest(&text) <= width, "{} > {width}\n{text}", widest(&text));
            let rows = text.lines().filter(|line| line.starts_with("  rcuref ")).count();
            assert_eq!(
                rows,
                2 * 10,
                "a line in either table for each number of threads at {width}\n{text}"
            );
        }
    }

    #[test]
    fn the_narrowest_terminal_is_survived() {
        for width in [0, 1, 10, 30] {
            let text = render(&fixtures::xeon(), Style { width, colour: false });
            assert!(text.contains("holds here"));
        }
    }

    #[test]
    fn without_colour_there_is_no_escape_sequence_and_with_it_the_same_text() {
        let report = fixtures::xeon();
        grid::assert_colour_is_all_it_adds(|style| render(&report, style));
    }

    #[test]
    fn baseline_and_limit_are_marked_and_ratios_have_intervals() {
        let text = render(&fixtures::xeon(), Style { width: 120, colour: false });
        assert!(text.contains("baseline"));
        assert!(text.contains("limit"));
        assert!(text.contains("x  ["), "{text}");
        assert!(text.contains("not resolved  ["));
    }

    #[test]
    fn single_operations_are_told_where_they_were_timed() {
        let report = fixtures::xeon();
        let scenario = &report.groups[0].scenarios[0];
        let text = singles(scenario, Style::PLAIN).unwrap();
        let first: Vec<_> =
            text.lines().next().unwrap().split("  ").filter(|it| !it.is_empty()).collect();
        assert_eq!(
            first.iter().map(|it| it.trim()).collect::<Vec<_>>(),
            ["single operations, ns", "median", "90 %", "99 %", "99.9 %", "slowest"]
        );
        assert!(text.lines().any(|line| line.starts_with("  rcuref ")), "{text}");
        assert!(render(&report, Style::PLAIN).contains(&text));
        assert_eq!(singles(&report.groups[1].scenarios[0], Style::PLAIN), None);
    }

    #[test]
    fn a_scenario_without_a_limit_has_no_such_column() {
        let report = fixtures::xeon();
        assert!(table(&report.groups[0].scenarios[0], Style::PLAIN).contains("vs limit"));
        assert!(!table(&report.groups[1].scenarios[0], Style::PLAIN).contains("vs limit"));
    }

    #[test]
    fn dropped_slices_and_more_threads_than_cpus_are_noted() {
        let text = render(&fixtures::xeon(), Style::PLAIN);
        assert!(text.contains("256 threads *"));
        assert!(text.contains("300 of 20,300 slices were dropped"), "{text}");
        assert!(!render(&fixtures::one_cpu(), Style::PLAIN).contains("dropped"));
    }

    #[test]
    fn a_report_that_is_told_as_it_grows_reads_like_the_whole() {
        let whole = fixtures::xeon();
        let mut text = opening(&whole, Style::PLAIN);
        let mut growing = fixtures::xeon();
        growing.groups.clear();
        for group in &whole.groups {
            growing.groups.push(Group { scenarios: Vec::new(), ..group.clone() });
            for one in &group.scenarios {
                let group = growing.groups.last_mut().unwrap();
                group.scenarios.push(one.clone());
                text += &scenario(group, group.scenarios.len() - 1, Style::PLAIN);
            }
        }
        text += &ending(&whole, Style::PLAIN);
        assert_eq!(text, render(&whole, Style::PLAIN));
    }

    #[test]
    fn every_verdict_is_told_in_plain_words() {
        let text = render(&fixtures::xeon(), Style::PLAIN);
        for words in ["holds here: ", "does not hold here: ", "not resolved: "] {
            assert!(text.contains(words), "{words}\n{text}");
        }
        let text = render(&fixtures::one_cpu(), Style::PLAIN);
        assert!(text.contains("needs more CPUs: "));
        assert!(text.contains("tenure sim refs --cpus 1..192"));
    }

    #[test]
    fn figures_that_no_run_should_make_are_survived() {
        let text = render(&fixtures::degenerate(), Style::PLAIN);
        assert!(text.contains('–'));
        assert!(!text.contains("NaN") && !text.contains("inf "));
    }
}
