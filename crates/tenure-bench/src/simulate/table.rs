//! A report as tables for a terminal: curves, a row for each variant and a column for each number of
//! CPUs; and which members of which lines moved.
//!
//! Where a terminal is too narrow for all columns, a table is continued below.

use comfy_table::{Attribute, Cell, Color, Table};
use tenure_report::grid::{self, aligned, line};
use tenure_report::terminal::Style;
use tenure_report::words::{counted, number, whole};

use super::result::{Group, Point, Report, Row, Scenario};
use super::words::{self, Standing};

/// The report as text that ends in a line break.
#[must_use]
pub fn render(report: &Report, style: Style) -> String {
    let mut text = String::new();
    line(&mut text, &style.wrapped(&words::machine(&report.machine), ""));
    for note in &report.settings.notes {
        line(&mut text, &style.wrapped(note, ""));
    }
    if let Some(note) = siblings(report) {
        line(&mut text, &style.wrapped(&note, ""));
    }
    for group in &report.groups {
        render_group(&mut text, group, style);
    }
    if !report.validation.is_empty() {
        let validity = words::validity(&report.validation);
        let told = format!(
            "How far to trust this: {} {validity} (`tenure sim --validate`, docs/validation.md).",
            words::LEFT_OUT
        );
        line(&mut text, "");
        line(&mut text, &style.wrapped(&told, ""));
    }
    text
}

/// Where curves bend because of hardware threads, if any of these goes so far.
fn siblings(report: &Report) -> Option<String> {
    let cores = words::siblings_beyond(&report.machine)?;
    let points = report.groups.iter().flat_map(|group| &group.scenarios).flat_map(|it| &it.points);
    let beyond = points.map(|point| point.cpus).max().is_some_and(|cpus| cpus > cores);
    beyond.then(|| format!("Beyond {} CPUs, siblings share a core's cache.", whole(cores)))
}

fn render_group(text: &mut String, group: &Group, style: Style) {
    line(text, "");
    line(text, &style.strong(&format!("{}: {}", group.name, group.title)));
    line(text, &style.wrapped(&group.about, ""));
    for scenario in &group.scenarios {
        line(text, "");
        line(text, &format!("{}  {}", style.strong(&scenario.title), style.quiet(&scenario.id)));
        line(text, &style.wrapped(&scenario.about, ""));
        line(text, "");
        line(text, &curves(scenario, style));
        if let Some(point) = words::headline(scenario) {
            line(text, "");
            line(text, &heat(point, style));
        }
        if let Some(sentence) = words::sentence(scenario) {
            line(text, "");
            line(text, &style.strong(&style.wrapped(&sentence, "")));
        }
    }
}

/// A figure that every row has.
struct Figure {
    title: &'static str,
    of: fn(&Row) -> Option<f64>,
    /// Whether a row has something to tell of it. A variant is told if one of its rows has.
    told: fn(&Row) -> bool,
}

/// To the digits that are shown.
const SOME: f64 = 0.005;
/// Less fair than this is worth a line.
const UNFAIR: f64 = 0.9;

const TIME: &str = "ns/op";

const FIGURES: [Figure; 7] = [
    Figure { title: TIME, of: |row| row.ns_per_op, told: |_| true },
    Figure {
        title: "retries/op",
        of: |row| Some(row.retries_per_op),
        told: |row| row.retries_per_op >= SOME,
    },
    Figure {
        title: "lost reservations/op",
        of: |row| Some(row.lost_reservations_per_op),
        told: |row| row.lost_reservations_per_op >= SOME,
    },
    Figure {
        title: "transfers/op",
        of: |row| Some(row.transfers_per_op.all),
        told: |row| row.transfers_per_op.all >= SOME,
    },
    Figure {
        title: "far atomics/op",
        of: |row| Some(row.far_per_op),
        told: |row| row.far_per_op >= SOME,
    },
    Figure { title: "Mops/s", of: |row| Some(row.mops), told: |_| true },
    Figure { title: "fairness", of: |row| Some(row.fairness), told: |row| row.fairness < UNFAIR },
];

fn curves(scenario: &Scenario, style: Style) -> String {
    let points = &scenario.points;
    let candidates = (1..=points.len()).map(|parts| {
        let columns = points.len().div_ceil(parts);
        points.chunks(columns).map(|points| block(scenario, points, style)).collect()
    });
    grid::fitting(candidates, style)
}

/// The curves on some numbers of CPUs.
fn block(scenario: &Scenario, points: &[Point], style: Style) -> Table {
    let mut table = grid::table(style);
    let numbers = points.iter().map(|point| whole(point.cpus));
    let header = std::iter::once("CPUs".to_owned()).chain(numbers);
    table.set_header(
        header.enumerate().map(|(column, text)| {
            aligned(Cell::new(text).add_attribute(Attribute::Dim), column > 0)
        }),
    );
    for figure in &FIGURES {
        let told = |variant: &&str| {
            scenario.points.iter().filter_map(|point| row(point, variant)).any(figure.told)
        };
        let shown: Vec<&str> = variants(scenario).into_iter().filter(told).collect();
        if shown.is_empty() {
            continue;
        }
        let mut title = vec![Cell::new(figure.title).add_attribute(Attribute::Bold)];
        title.resize(points.len() + 1, Cell::new(""));
        table.add_row(title);
        for variant in shown {
            let mut cells = vec![Cell::new(format!("  {variant}"))];
            cells.extend(points.iter().map(|point| cell(figure, row(point, variant))));
            table.add_row(cells);
        }
    }
    table
}

/// The scenario's variants, in its order.
fn variants(scenario: &Scenario) -> Vec<&str> {
    let most = scenario.points.iter().max_by_key(|point| point.rows.len());
    most.into_iter().flat_map(|point| &point.rows).map(|row| row.variant.as_str()).collect()
}

fn row<'a>(point: &'a Point, variant: &str) -> Option<&'a Row> {
    point.rows.iter().find(|row| row.variant == variant)
}

fn cell(figure: &Figure, row: Option<&Row>) -> Cell {
    let text = row.and_then(figure.of).map_or_else(|| "–".to_owned(), number);
    let cell = aligned(Cell::new(text), true);
    match row.and_then(|row| row.to_baseline).map(words::standing) {
        Some(Standing::Faster) if figure.title == TIME => cell.fg(Color::DarkGreen),
        Some(Standing::Slower) if figure.title == TIME => cell.fg(Color::DarkRed),
        _ => cell,
    }
}

/// The most lines of a variant that are told.
const MOST_LINES: usize = 3;

/// Which lines moved, and for whom.
fn heat(point: &Point, style: Style) -> String {
    if point.rows.iter().all(|row| row.lines.is_empty()) {
        let text = "No line moved: each CPU kept to its own.";
        return style.quiet(&style.wrapped(text, ""));
    }
    grid::fitting([true, false].map(|accesses| vec![hot(point, accesses, style)]), style)
}

fn hot(point: &Point, accesses: bool, style: Style) -> Table {
    let mut table = grid::table(style);
    let on = format!("heat, {}", counted(point.cpus, "CPU"));
    let mut header = vec![on.as_str(), "transfers/op", "member"];
    header.extend(accesses.then_some("accesses/op"));
    header.extend(["misses", "waiting"]);
    table.set_header(header.into_iter().enumerate().map(|(column, name)| {
        aligned(Cell::new(name).add_attribute(Attribute::Dim), column != 0 && column != 2)
    }));
    for row in &point.rows {
        let mut name = row.variant.as_str();
        for heat in row.lines.iter().take(MOST_LINES) {
            let mut moves = number(heat.transfers_per_op.all);
            for member in words::hot(row, heat) {
                let mut cells = vec![
                    Cell::new(format!("  {}", std::mem::take(&mut name))),
                    aligned(Cell::new(std::mem::take(&mut moves)), true),
                    Cell::new(&member.name),
                ];
                cells.extend(
                    accesses.then(|| aligned(Cell::new(number(member.accesses_per_op)), true)),
                );
                cells.extend(
                    [member.misses, member.waited]
                        .map(|share| aligned(Cell::new(percent(share)), true)),
                );
                table.add_row(cells);
            }
        }
    }
    table
}

fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.0} %", share * 100.0) } else { number(share) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::fixtures;

    fn plain(width: usize) -> String {
        render(&fixtures::simulated(), Style { width, colour: false })
    }

    #[test]
    fn it_fits_into_120_100_and_80_columns() {
        for width in [120, 100, 80] {
            let text = plain(width);
            let widest = text.lines().map(console::measure_text_width).max().unwrap();
            assert!(widest <= width, "{widest} > {width}\n{text}");
        }
    }

    #[test]
    fn curves_that_are_too_wide_are_continued_below_and_lose_nothing() {
        let report = fixtures::simulated();
        let scenario = &report.groups[0].scenarios[0];
        let wide = curves(scenario, Style { width: 100, colour: false });
        let narrow = curves(scenario, Style { width: 50, colour: false });
        assert_eq!(wide.matches("CPUs").count(), 1);
        assert_eq!(narrow.matches("CPUs").count(), 2, "{narrow}");
        for figure in wide.split_whitespace() {
            assert!(narrow.contains(figure), "{figure}\n{narrow}");
        }
    }

    #[test]
    fn the_narrowest_terminal_is_survived() {
        for width in [0, 1, 10, 30] {
            assert!(plain(width).contains("refs"));
        }
    }

    #[test]
    fn without_colour_there_is_no_escape_sequence_and_with_it_the_same_text() {
        let report = fixtures::simulated();
        grid::assert_colour_is_all_it_adds(|style| render(&report, style));
    }

    #[test]
    fn retries_are_told_of_those_who_retry() {
        let report = fixtures::simulated();
        let text = curves(&report.groups[0].scenarios[0], Style::PLAIN);
        let retries = text.lines().skip_while(|line| *line != "retries/op").skip(1);
        let names: Vec<_> = retries
            .take_while(|line| line.starts_with("  "))
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        assert_eq!(names, ["inc_not_zero"]);
    }

    #[test]
    fn heat_names_the_members_that_share_a_line_with_the_count() {
        let report = fixtures::simulated();
        let mut scenarios = report.groups.iter().flat_map(|group| &group.scenarios);
        let cells = scenarios.find(|scenario| scenario.id == "dst/cells").unwrap();
        let text = heat(words::headline(cells).unwrap(), Style::PLAIN);
        let shared: Vec<_> =
            text.lines().skip_while(|line| !line.contains("shared + rcuref")).take(3).collect();
        for member in ["refs", "lwtstate", "rt_genid"] {
            assert!(shared.iter().any(|line| line.contains(member)), "{text}");
        }
    }

    #[test]
    fn where_nothing_moved_it_says_so() {
        let report = fixtures::simulated();
        let private = report.groups[0].scenarios.iter().find(|it| it.id == "refs/last-put");
        let text = heat(words::headline(private.unwrap()).unwrap(), Style::PLAIN);
        assert!(text.starts_with("No line moved"), "{text}");
    }

    #[test]
    fn notes_are_told() {
        assert!(plain(100).contains("1..192 ends at 112"));
    }

    #[test]
    fn figures_that_no_run_should_make_are_survived() {
        let text = render(&fixtures::degenerate(), Style::PLAIN);
        assert!(text.contains('–') && !text.contains("NaN") && !text.contains("inf "), "{text}");
    }
}
