use super::ValidationCheck;
use crate::simulate::words as simulated;
use tenure_report::curves::{Column, Shown, TableLine, TableSection, TextTable, Tone};
use tenure_report::grid::line;
use tenure_report::terminal::Style;
use tenure_report::words;

/// How many figures are reproduced.
#[must_use]
pub fn summary(rows: &[ValidationCheck]) -> String {
    format!("{}.", simulated::validity(rows))
}

/// As `docs/validation.md`.
#[must_use]
pub fn markdown(rows: &[ValidationCheck]) -> String {
    let mut text = format!(
        "# How far the simulator is off\n\n\
         {}\n\n\
         *off* is simulated / published; for a range, from its nearer end. *fitted*: a parameter of the machine was\n\
         taken from this figure, so that it tests little. Every machine has one set of parameters, in\n\
         `crates/tenure-sim/machines`.\n\n\
         {}\n\
         The documentation of `tenure-sim` has the list in full.\n\n\
         Written by `TENURE_BLESS=1 cargo test -p tenure-bench validation`; `tenure sim --validate` prints it.\n\n\
         | what | machine | CPUs | published | simulated | off | | source |\n\
         |---|---|---|---|---|---|---|---|\n",
        summary(rows),
        simulated::LEFT_OUT,
    );
    for row in rows {
        let off = words::ratio(row.residual);
        let off = if row.within { off } else { format!("**{off}**") };
        text += &format!(
            "| {} | {} | {} | {} | {} | {off} | {} | {} |\n",
            row.what,
            row.machine,
            row.cpus,
            published(row),
            figure(row, row.simulated),
            if row.fitted { "fitted" } else { "" },
            row.source,
        );
    }
    let mut notes: Vec<String> = rows
        .iter()
        .filter(|row| !row.note.is_empty())
        .map(|row| format!("- {}, {}: {}\n", row.what, row.machine, row.note))
        .collect();
    notes.dedup();
    if !notes.is_empty() {
        text += "\n## Notes\n\n";
        text += &notes.concat();
    }
    text
}

/// As `tenure sim --validate` prints them.
#[must_use]
pub fn terminal(rows: &[ValidationCheck], style: Style) -> String {
    let mut what = "";
    let line_of = |row: &ValidationCheck| {
        let mark = if row.fitted { "~" } else { "" };
        let off = Shown::from(format!("{mark}{}", words::ratio(row.residual)));
        let off = off.toned(if row.within { Tone::Plain } else { Tone::Slower });
        let texts =
            [row.machine.clone(), row.cpus.to_string(), published(row), figure(row, row.simulated)];
        let cells = texts.into_iter().map(Shown::from).chain([off]).collect();
        TableLine { cells, ..TableLine::default() }
    };
    let mut lines = Vec::new();
    for row in rows {
        // Once for a curve.
        let name = if what == row.what { String::new() } else { row.what.clone() };
        what = &row.what;
        lines.push(TableLine { name, ..line_of(row) });
    }
    let table = TextTable {
        columns: vec![
            Column::text("machine"),
            Column::new("CPUs"),
            Column::new("published"),
            Column::new("simulated"),
            Column::new("off"),
        ],
        sections: vec![TableSection { lines, ..TableSection::default() }],
        ..TextTable::default()
    };
    let mut text = String::new();
    let told = format!(
        "{} {} `off` is simulated / published; for a range, from its nearer end; `~` marks figures that a \
         parameter was fitted to. Sources and notes are in docs/validation.md and on the page of any run.",
        summary(rows),
        simulated::LEFT_OUT,
    );
    line(&mut text, &style.wrapped(&told, ""));
    line(&mut text, "");
    line(&mut text, &table.render(style));
    text
}

fn published(row: &ValidationCheck) -> String {
    let [low, high] = row.published;
    if (high - low).abs() < f64::EPSILON {
        return figure(row, low);
    }
    format!("{} to {} {}", words::short(low), words::short(high), row.unit)
}

fn figure(row: &ValidationCheck, value: f64) -> String {
    format!("{} {}", words::number(value), row.unit)
}
