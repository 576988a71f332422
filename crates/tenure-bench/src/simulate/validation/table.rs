//! The figures as tables.

use super::{Check, WITHIN, reproduced};
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
