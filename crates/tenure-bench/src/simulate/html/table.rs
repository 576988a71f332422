//! All figures of a scenario, as tables.

use serde::Serialize;

use super::words::{self, Standing};
use crate::simulate::result::{Point, Row, Scenario};
use tenure_report::chart;

/// A table of variants, in sections of one number of CPUs each.
#[derive(Serialize)]
pub(super) struct Table {
    caption: String,
    /// The columns after the variants' names.
    columns: Vec<&'static str>,
    sections: Vec<Section>,
}

#[derive(Serialize)]
struct Section {
    title: String,
    rows: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    variant: String,
    mark: &'static str,
    cells: Vec<Cell>,
}

#[derive(Serialize)]
struct Cell {
    figure: String,
    /// `faster`, `slower`, `unresolved`, or empty.
    kind: &'static str,
}

/// A column: its heading, how to fill it, and whether it is left out where it is 0 throughout.
struct Column {
    heading: &'static str,
    optional: bool,
    of: fn(&Row) -> Value,
}

enum Value {
    Number(Option<f64>),
    /// Three decimals: what matters is how far it is from 1.
    Index(f64),
    Count(u64),
    /// Against the baseline; judged.
    Judged(Option<f64>),
    /// Against the limit.
    Ratio(Option<f64>),
}

const fn column(heading: &'static str, of: fn(&Row) -> Value) -> Column {
    Column { heading, optional: false, of }
}

const fn optional(heading: &'static str, of: fn(&Row) -> Value) -> Column {
    Column { heading, optional: true, of }
}

/// What the table that is always seen has: these first columns of all.
const FEW: usize = 7;

const COLUMNS: [Column; 14] = [
    column("ns/op", |row| Value::Number(row.ns_per_op)),
    column("Mops/s", |row| Value::Number(Some(row.mops))),
    column("time vs baseline", |row| Value::Judged(row.to_baseline)),
    optional("time vs limit", |row| Value::Ratio(row.to_limit)),
    optional("retries/op", |row| Value::Number(Some(row.retries_per_op))),
    column("transfers/op", |row| Value::Number(Some(row.transfers_per_op.all))),
    column("fairness", |row| Value::Index(row.fairness)),
    column("within cluster", |row| Value::Number(Some(row.transfers_per_op.cluster))),
    column("within socket", |row| Value::Number(Some(row.transfers_per_op.socket))),
    column("other socket", |row| Value::Number(Some(row.transfers_per_op.remote))),
    column("from memory", |row| Value::Number(Some(row.transfers_per_op.memory))),
    optional("far/op", |row| Value::Number(Some(row.far_per_op))),
    optional("lost reservations/op", |row| Value::Number(Some(row.lost_reservations_per_op))),
    column("operations", |row| Value::Count(row.operations)),
];

/// The figures that matter most, on the most CPUs.
pub(super) fn headline(scenario: &Scenario) -> Option<Table> {
    let point = words::headline(scenario)?;
    let caption = format!("{} on {}", scenario.title, words::counted(point.cpus, "CPU"));
    Some(table(scenario, &COLUMNS[..FEW], &[point], caption))
}

/// All figures on every number of CPUs.
pub(super) fn all(scenario: &Scenario) -> Option<Table> {
    let points: Vec<_> = scenario.points.iter().filter(|point| !point.rows.is_empty()).collect();
    let caption = format!("{}: all figures", scenario.title);
    (!points.is_empty()).then(|| table(scenario, &COLUMNS, &points, caption))
}

fn table(scenario: &Scenario, columns: &[Column], points: &[&Point], caption: String) -> Table {
    let rows = || points.iter().flat_map(|point| &point.rows);
    let columns: Vec<_> = columns
        .iter()
        .filter(|column| !column.optional || rows().any(|row| (column.of)(row).says_something()))
        .collect();
    Table {
        caption,
        columns: columns.iter().map(|column| column.heading).collect(),
        sections: points
            .iter()
            .map(|point| Section {
                title: words::counted(point.cpus, "CPU"),
                rows: point.rows.iter().map(|row| line(row, &columns, scenario)).collect(),
            })
            .collect(),
    }
}

fn line(row: &Row, columns: &[&Column], scenario: &Scenario) -> Line {
    let is_baseline = row.variant == scenario.baseline;
    let is_limit = scenario.limit.as_ref() == Some(&row.variant);
    Line {
        variant: row.variant.clone(),
        mark: chart::mark(&row.variant, is_baseline, is_limit),
        cells: columns.iter().map(|column| (column.of)(row).cell()).collect(),
    }
}

impl Value {
    fn says_something(&self) -> bool {
        match *self {
            Self::Number(value) | Self::Judged(value) | Self::Ratio(value) => {
                value.is_some_and(|value| value != 0.0)
            }
            Self::Index(_) | Self::Count(_) => true,
        }
    }

    fn cell(&self) -> Cell {
        let times = |ratio: f64| match ratio.is_finite() {
            true => format!("{}×", words::ratio(ratio)),
            false => words::number(ratio),
        };
        let (figure, kind) = match *self {
            Self::Number(value) => (words::number(value.unwrap_or(f64::NAN)), ""),
            Self::Index(value) if !value.is_finite() => (words::number(value), ""),
            Self::Index(value) => (format!("{value:.3}"), ""),
            Self::Count(count) => (tenure_report::words::grouped(&count.to_string()), ""),
            Self::Judged(None) | Self::Ratio(None) => (String::new(), ""),
            Self::Ratio(Some(ratio)) => (times(ratio), ""),
            Self::Judged(Some(ratio)) => {
                let kind = match words::standing(ratio) {
                    _ if !ratio.is_finite() => "",
                    Standing::Faster => "faster",
                    Standing::Same => "unresolved",
                    Standing::Slower => "slower",
                };
                (times(ratio), kind)
            }
        };
        Cell { figure, kind }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::fixtures;

    #[test]
    fn a_column_that_is_0_throughout_is_left_out() {
        let report = fixtures::xeon();
        let [refs, dst] = [&report.groups[0].scenarios[0], &report.groups[1].scenarios[0]];
        let columns = |scenario| all(scenario).unwrap().columns;
        assert!(columns(refs).contains(&"time vs limit") && columns(refs).contains(&"retries/op"));
        assert!(!columns(dst).contains(&"time vs limit"), "it has no limit");
        assert!(!columns(refs).contains(&"far/op"));
    }

    #[test]
    fn a_row_in_which_no_operation_ended_has_dashes() {
        let report = fixtures::degenerate();
        let all = all(&report.groups[0].scenarios[0]).unwrap();
        assert_eq!(all.sections[0].rows[0].cells[0].figure, "–");
    }

    #[test]
    fn the_headline_is_on_the_most_cpus() {
        let table = headline(&fixtures::xeon().groups[0].scenarios[0]).unwrap();
        assert_eq!(table.sections.len(), 1);
        assert_eq!(table.sections[0].title, "112 CPUs");
        assert_eq!(table.columns.len(), FEW);
    }
}
