//! Tables of text that fit a terminal.

use crate::terminal::Style;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use std::fmt::Write as _;

/// A table without rules.
#[must_use]
pub fn table(style: Style) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.force_no_tty();
    if style.colour {
        table.enforce_styling();
    }
    table
}

/// A cell to the left, or to the right.
#[must_use]
pub fn aligned(cell: Cell, right: bool) -> Cell {
    cell.set_alignment(if right { CellAlignment::Right } else { CellAlignment::Left })
}

/// The first of `candidates` that fits, each a number of tables below each other; or the last, with its cells broken
/// into lines.
#[must_use]
pub fn fitting(candidates: impl IntoIterator<Item = Vec<Table>>, style: Style) -> String {
    let mut last = Vec::new();
    for mut tables in candidates {
        for table in &mut tables {
            for column in table.column_iter_mut() {
                column.set_padding((0, 2));
            }
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
        let text = joined(&tables);
        // Blanks may stand before the sequence that ends a colour.
        let shown = trimmed(&console::strip_ansi_codes(&text));
        if shown.lines().all(|line| console::measure_text_width(line) <= style.width) {
            return text;
        }
        last = tables;
    }
    for table in &mut last {
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(style.width).unwrap_or(u16::MAX));
    }
    joined(&last)
}

fn joined(tables: &[Table]) -> String {
    tables.iter().map(|table| trimmed(&table.to_string())).collect::<Vec<_>>().join("\n\n")
}

fn trimmed(text: &str) -> String {
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// Adds a line.
pub fn line(text: &mut String, of: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{}", of.trim_end());
}

/// For tests: without colour there is no escape sequence, and with it the same text.
///
/// # Panics
///
/// If not.
#[track_caller]
pub fn assert_colour_is_all_it_adds(render: impl Fn(Style) -> String) {
    let plain = render(Style::PLAIN);
    assert!(!plain.contains('\u{1b}'));
    let coloured = render(Style { colour: true, ..Style::PLAIN });
    assert!(coloured.contains('\u{1b}'));
    assert_eq!(trimmed(&console::strip_ansi_codes(&coloured)), trimmed(&plain));
}
