//! A comparison for a terminal: a row for each benchmark, with a plot of its ratio.

use console::Style as Look;
use tenure_model::{ComparedBenchmark, Comparison, ComparisonVerdict};
use tenure_report::terminal::Style;

use super::plot;
use super::words::{self, shown};
use crate::clean::cleaned;

/// Columns of the plot; odd, so that 1 has the one in the middle.
const PLOT: usize = 25;
const GAP: &str = "  ";

/// The comparison as text that ends in a line break.
#[must_use]
pub fn terminal(comparison: &Comparison, style: Style) -> String {
    let it = cleaned(comparison);
    let mut text = String::new();
    for (name, side) in [("before", &it.before), ("after", &it.after)] {
        text += &(style
            .wrapped(&format!("{name:<6}{GAP}{}", shown(side)), "")
            .replace('\n', "\n        ")
            + "\n");
    }
    text += &(style.wrapped(&words::measured(&it), "") + "\n\n");
    text += &table(&it, style);
    text.push('\n');
    for note in words::notes(&it) {
        text += &(style.wrapped(&format!("{note}."), "") + "\n");
    }
    text
}

fn table(it: &Comparison, style: Style) -> String {
    let rows: Vec<[String; 4]> = it
        .rows
        .iter()
        .map(|row| {
            let figures = [row.before, row.after].map(|value| words::figure(value, &row.unit));
            let [before, after] = figures;
            [words::name(row, &it.metric), before, after, words::verdict(row)]
        })
        .collect();
    let width = |column: usize, heading: &str| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.chain([heading.len()]).max().unwrap_or(0)
    };
    let (before, after, verdict) = (width(1, "before"), width(2, "after"), width(3, ""));
    // Names give way first, to a dozen letters; then the plot goes.
    let others = before + after + verdict + 4 * GAP.len();
    let has_plot = others + PLOT + 12 <= style.width;
    let room = style.width.saturating_sub(others + if has_plot { PLOT } else { 0 }).max(12);
    let name = width(0, "").min(room);
    let reach = plot::reach(&it.rows);
    let mut text = format!("{:name$}{GAP}{:>before$}{GAP}{:>after$}", "", "before", "after");
    if has_plot {
        let [low, high] = [1.0 / reach, reach].map(|it| format!("{it:.2}"));
        let half = PLOT / 2;
        let side = PLOT - half - 1;
        text += &format!("{GAP}{:verdict$}{GAP}{low:<half$}1{high:>side$}", "");
    }
    text = style.quiet(text.trim_end()) + "\n";
    for (row, [title, old, new, words]) in it.rows.iter().zip(&rows) {
        let look = match row.verdict {
            ComparisonVerdict::Faster => Look::new().green(),
            ComparisonVerdict::Slower => Look::new().red(),
            _ => Look::new(),
        };
        let title = fitted(title, name);
        let words = style.text(look, &format!("{words:verdict$}"));
        let plot = if has_plot { format!("{GAP}{}", bar(row, reach)) } else { String::new() };
        let line = format!("{title:name$}{GAP}{old:>before$}{GAP}{new:>after$}{GAP}{words}{plot}");
        text += &(line.trim_end().to_owned() + "\n");
    }
    text
}

fn fitted(name: &str, width: usize) -> String {
    if name.chars().count() <= width {
        return name.to_owned();
    }
    // The end of a long name tells more than its start.
    let skipped = name.chars().count() - width + 1;
    ['…'].into_iter().chain(name.chars().skip(skipped)).collect()
}

/// The interval on a logarithmic scale: `├─●─┤`, and `│` at 1.
fn bar(row: &ComparedBenchmark, reach: f64) -> String {
    let place = |value: f64| (plot::place(value, reach) * (PLOT - 1) as f64).round() as usize;
    let [low, high] = row.speedup.range.map(place);
    let median = place(row.speedup.median);
    let sign = |at| match at {
        _ if at == median => '●',
        _ if at == low => '├',
        _ if at == high => '┤',
        _ if at == PLOT / 2 => '│',
        _ if (low..high).contains(&at) => '─',
        _ => ' ',
    };
    (0..PLOT).map(sign).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixtures;
    use super::*;

    #[test]
    fn one_benchmark_reads_as_a_line() {
        let text = terminal(&fixtures::one(), Style::PLAIN);
        assert_eq!(
            text,
            "before  ./server-old --bench\n\
             after   ./server-new --bench\n\
             Wall time. 6 rounds in 54 s, until every interval was narrow enough. Each runs before, after, and\n\
             before again.\n\n\
             \x20          before   after                             0.72        1        1.38\n\
             wall time  811 ns  619 ns  1.31× faster [1.24, 1.38]              │       ├─●─┤\n\n\
             Control: before against itself is 0.99 to 1.01.\n"
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_as_long_as_figures_fit() {
        for comparison in fixtures::all() {
            for width in [80, 100, 160] {
                let style = Style { width, colour: false };
                for line in terminal(&comparison, style).lines() {
                    assert!(line.chars().count() <= width.max(100), "{width}: {line}");
                }
            }
        }
    }

    #[test]
    fn a_name_that_is_too_long_keeps_its_end() {
        assert_eq!(fitted("group/benchmark", 9), "…enchmark");
        assert_eq!(fitted("group", 9), "group");
    }
}
