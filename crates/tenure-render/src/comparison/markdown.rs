//! A comparison for a pull request.

use tenure_model::Comparison;

use super::words::{self, shown};
use crate::clean::cleaned;

/// The comparison as Markdown that ends in a line break.
#[must_use]
pub fn markdown(comparison: &Comparison) -> String {
    let it = cleaned(comparison);
    let mut text = format!(
        "`{}` (before) and `{}` (after)\n\n| benchmark | before | after | change |\n|---|--:|--:|---|\n",
        shown(&it.before).replace('`', "'"),
        shown(&it.after).replace('`', "'")
    );
    for row in &it.rows {
        let figures = [row.before, row.after].map(|value| words::figure(value, &row.unit));
        let cells = [
            words::name(row, &it.metric),
            figures[0].clone(),
            figures[1].clone(),
            words::verdict(row),
        ];
        text += &format!("| {} |\n", cells.map(|cell| escaped(&cell)).join(" | "));
    }
    text += &format!("\n{}\n", escaped(&words::measured(&it)));
    for note in words::notes(&it) {
        text += &format!("- {}.\n", escaped(&note));
    }
    text += &format!("\n<sub>tenure compare {}, {}</sub>\n", it.version, escaped(&it.machine));
    text
}

/// Signs that Markdown would take for its own.
fn escaped(text: &str) -> String {
    let is_sign = |letter: char| "\\`*_|<>[]#".contains(letter);
    text.chars().flat_map(|it| is_sign(it).then_some('\\').into_iter().chain([it])).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixtures;
    use super::*;

    #[test]
    fn a_table_has_a_row_for_each_benchmark_and_names_cannot_break_it() {
        let text = markdown(&fixtures::many());
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(rows.len(), 7);
        assert_eq!(rows[2], "| router/get | 811 ns | 619 ns | 1.31× faster \\[1.24, 1.38\\] |");
        assert!(rows[4].starts_with("| parse\\<u8\\>\\|x |"), "{}", rows[4]);
    }
}
