use super::{ValidationCheck, WITHIN};
use crate::simulate::prose as simulated;
use tenure_report::curves::{Column, Shown, TableLine, TableSection, TextTable, Tone};
use tenure_report::grid::line;
use tenure_report::numbers;
use tenure_report::terminal::Style;

/// How many figures are reproduced.
#[must_use]
pub fn summary(rows: &[ValidationCheck]) -> String {
    format!("{}.", simulated::validity(rows))
}

/// The list as `docs/validation.md`: one line for each figure, over all machines and numbers of CPUs.
#[must_use]
pub fn markdown(rows: &[ValidationCheck]) -> String {
    let sources = unique(rows.iter().map(|row| row.source.as_str()));
    let notes = unique(rows.iter().map(|row| row.note.as_str()).filter(|note| !note.is_empty()));
    let mut text = format!(
        "# How far the simulator is off\n\n\
         {}\n\n\
         *off* is simulated / published; for a range, from its nearer end. `~`: a parameter of the machine was fitted to this\n\
         figure. **Bold**: not within a factor of {WITHIN}. Letters name notes, numbers sources. Every machine has one set of\n\
         parameters, in `crates/tenure-sim/machines`.\n\n\
         {}\n\
         The documentation of `tenure-sim` has the full list.\n\n\
         Written by `TENURE_BLESS=1 cargo test -p tenure-bench validation`; `tenure sim --validate` prints it.\n\n\
         | what | machine and CPUs | published | simulated | off | |\n\
         |---|---|---|---|---|---|\n",
        summary(rows),
        simulated::LEFT_OUT,
    );
    for same in rows.chunk_by(|one, next| (&one.what, &one.unit) == (&next.what, &next.unit)) {
        let mut machine = "";
        let places = same.iter().map(|row| {
            let name =
                if machine == row.machine { String::new() } else { row.machine.clone() + " " };
            machine = &row.machine;
            format!("{name}{}", row.cpus)
        });
        let places = places.collect::<Vec<_>>().join(", ");
        let joined =
            |of: fn(&ValidationCheck) -> String| same.iter().map(of).collect::<Vec<_>>().join(", ");
        let letter = |at| char::from(b'a' + u8::try_from(at).unwrap_or(25)).to_string();
        let marks = unique(same.iter().map(|row| row.note.as_str()))
            .into_iter()
            .filter_map(|note| notes.iter().position(|it| *it == note).map(letter));
        let cited = unique(same.iter().map(|row| row.source.as_str()))
            .into_iter()
            .filter_map(|source| sources.iter().position(|it| *it == source))
            .map(|at| (at + 1).to_string());
        text += &format!(
            "| {}, {} | {places} | {} | {} | {} | {} |\n",
            same[0].what,
            same[0].unit,
            joined(published),
            joined(|row| numbers::number(row.simulated)),
            joined(off),
            marks.chain(cited).collect::<Vec<_>>().join(" "),
        );
    }
    text += "\n## Notes\n\n";
    for (note, letter) in notes.iter().zip('a'..) {
        text += &format!("- {letter}: {note}\n");
    }
    text += "\n## Sources\n\n";
    for (source, number) in sources.iter().zip(1..) {
        text += &format!("{number}. {source}\n");
    }
    text
}

fn unique<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut kept = Vec::new();
    texts.for_each(|text| {
        if !kept.contains(&text) {
            kept.push(text);
        }
    });
    kept
}

fn off(row: &ValidationCheck) -> String {
    let fitted = if row.fitted { "~" } else { "" };
    let off = numbers::ratio(row.residual);
    if row.within { format!("{fitted}{off}") } else { format!("{fitted}**{off}**") }
}

/// The list as `tenure sim --validate` prints it.
#[must_use]
pub fn terminal(rows: &[ValidationCheck], style: Style) -> String {
    let mut what = "";
    let line_of = |row: &ValidationCheck| {
        let mark = if row.fitted { "~" } else { "" };
        let off = Shown::from(format!("{mark}{}", numbers::ratio(row.residual)));
        let off = off.toned(if row.within { Tone::Plain } else { Tone::Slower });
        let with_unit = |figure: String| format!("{figure} {}", row.unit);
        let texts = [
            row.machine.clone(),
            row.cpus.to_string(),
            with_unit(published(row)),
            with_unit(numbers::number(row.simulated)),
        ];
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
        return numbers::number(low);
    }
    format!("{} to {}", numbers::short(low), numbers::short(high))
}
