//! Text for a terminal.

/// A terminal's abilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns of text.
    pub width: usize,
    /// Whether to use colour.
    pub colour: bool,
}

impl Style {
    /// The style of a file or a pipe.
    pub const PLAIN: Self = Self { width: 100, colour: false };

    /// The text in a style, if there is colour.
    #[must_use]
    pub fn text(self, style: console::Style, text: &str) -> String {
        style.force_styling(self.colour).apply_to(text).to_string()
    }

    /// Text that matters: bold.
    #[must_use]
    pub fn strong(self, text: &str) -> String {
        self.text(console::Style::new().bold(), text)
    }

    /// Text beside it: dim.
    #[must_use]
    pub fn quiet(self, text: &str) -> String {
        self.text(console::Style::new().dim(), text)
    }

    /// The text in lines that fit, each after `indent`. Lines have at least 20 columns.
    #[must_use]
    pub fn wrapped(self, text: &str, indent: &str) -> String {
        let options = textwrap::Options::new(self.width.max(20))
            .initial_indent(indent)
            .subsequent_indent(indent);
        // A figure and its unit stay on one line.
        textwrap::fill(&text.replace(" %", "\u{a0}%"), options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_is_applied_only_where_colour_is_welcome() {
        assert_eq!(Style::PLAIN.strong("bold"), "bold");
        let coloured = Style { colour: true, ..Style::PLAIN };
        assert!(coloured.quiet("dim").starts_with('\u{1b}'));
        assert_eq!(console::strip_ansi_codes(&coloured.quiet("dim")), "dim");
    }

    #[test]
    fn a_figure_and_its_unit_stay_on_one_line() {
        let narrow = Style { width: 20, colour: false };
        assert_eq!(
            narrow.wrapped("an interval cover 95 % here", " "),
            " an interval cover\n 95\u{a0}% here"
        );
    }
}
