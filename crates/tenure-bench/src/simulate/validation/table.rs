//! The figures as tables.

use super::{Check, WITHIN, reproduced};
use crate::report::grid::{self, aligned, line};
use comfy_table::{Attribute, Cell, Color};
use tenure_report::terminal::Style;
use tenure_report::words;

/// As `docs/validation.md`.
#[must_use]
pub fn markdown(rows: &[Check]) -> String {
    let mut text = format!(
        "# How far the simulator is off\n\n\
         {} of {} figures are within a factor of {WITHIN}. *off* is simulated / published; for a range, from its\n\
         nearer end. Written by `TENURE_BLESS=1 cargo test -p tenure-bench validation`; the machines are in\n\
         `crates/tenure-sim/machines`.\n\n\
         | what | machine | CPUs | published | simulated | off | source |\n\
         |---|---|---|---|---|---|---|\n",
        reproduced(rows),
        rows.len(),
    );
    for row in rows {
        let off = words::ratio(row.residual);
        let off = if row.within { off } else { format!("**{off}**") };
        text += &format!(
            "| {} | {} | {} | {} | {} | {off} | {} |\n",
            row.what,
            row.machine,
            row.cpus,
            published(row),
            figure(row, row.simulated),
            row.source,
        );
    }
    let notes: Vec<&Check> = rows.iter().filter(|row| !row.note.is_empty()).collect();
    if !notes.is_empty() {
        text += "\n## Notes\n\n";
        for row in notes {
            text += &format!("- {}, {}: {}\n", row.what, row.machine, row.note);
        }
    }
    text
}

/// As `tenure sim --validate` prints them.
#[must_use]
pub fn terminal(rows: &[Check], style: Style) -> String {
    let mut table = grid::table(style);
    let header = ["", "machine", "CPUs", "published", "simulated", "off"];
    table.set_header(
        header.iter().enumerate().map(|(at, text)| aligned(Cell::new(text), at >= RIGHT)),
    );
    let mut what = "";
    for row in rows {
        // Said once for a curve.
        let told = if what == row.what { "" } else { &row.what };
        what = &row.what;
        let off = Cell::new(words::ratio(row.residual));
        let off = if row.within { off } else { off.fg(Color::Red).add_attribute(Attribute::Bold) };
        let cells = [
            Cell::new(told),
            Cell::new(&row.machine),
            Cell::new(row.cpus),
            Cell::new(published(row)),
            Cell::new(figure(row, row.simulated)),
            off,
        ];
        table.add_row(cells.into_iter().enumerate().map(|(at, cell)| aligned(cell, at >= RIGHT)));
    }
    let mut text = String::new();
    let told = format!(
        "{} of {} figures are within a factor of {WITHIN}. `off` is simulated / published; for a range, from \
         its nearer end. Sources and notes are in docs/validation.md and on the page of any run.",
        reproduced(rows),
        rows.len()
    );
    line(&mut text, &style.wrapped(&told, ""));
    line(&mut text, "");
    line(&mut text, &grid::fitting([vec![table]], style));
    text
}

/// The first column to be aligned to the right.
const RIGHT: usize = 2;

fn published(row: &Check) -> String {
    let [low, high] = row.published;
    if (high - low).abs() < f64::EPSILON {
        return figure(row, low);
    }
    format!("{} to {}", words::short(low), figure(row, high))
}

fn figure(row: &Check, value: f64) -> String {
    format!("{} {}", words::number(value), row.unit)
}
