//! Standard output: what it can show, and writing to it.

use std::io::{self, IsTerminal, Write};

use tenure_report::terminal::Style;

/// What standard output can show.
pub(crate) fn style() -> Style {
    let terminal = console::Term::stdout();
    if !io::stdout().is_terminal() {
        return Style::PLAIN;
    }
    let width = terminal.size_checked().map_or(Style::PLAIN.width, |(_, columns)| columns.into());
    // https://no-color.org: any value but the empty one.
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    Style { width, colour: !unwanted && !dumb }
}

/// Writes to standard output.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()
}
