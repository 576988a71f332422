//! Lines of text, one after the other.

use tenure_report::terminal::Style;

pub(super) struct TerminalText {
    text: String,
    style: Style,
}

impl TerminalText {
    pub(super) fn new(style: Style) -> Self {
        Self { text: String::new(), style }
    }

    pub(super) fn style(&self) -> Style {
        self.style
    }

    pub(super) fn width(&self) -> usize {
        self.style.width
    }

    pub(super) fn into_string(self) -> String {
        self.text
    }

    pub(super) fn line(&mut self, line: &str) {
        self.text += line.trim_end();
        self.text.push('\n');
    }

    pub(super) fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// Lines that fit, each after `indent`.
    pub(super) fn wrapped(&mut self, words: &str, indent: &str) {
        let text = self.style.wrapped(words, indent);
        self.line(&text);
    }

    pub(super) fn bullet(&mut self, words: &str) {
        let text = self.style.wrapped(words, "    ");
        self.line(&text.replacen("    ", "  · ", 1));
    }

    pub(super) fn strong(&mut self, words: &str) {
        let text = self.style.wrapped(words, "");
        self.each_line(&text, Style::strong);
    }

    pub(super) fn quiet(&mut self, words: &str) {
        self.quiet_after("", words);
    }

    pub(super) fn quiet_after(&mut self, indent: &str, words: &str) {
        let text = self.style.wrapped(words, indent);
        self.each_line(&text, Style::quiet);
    }

    /// A repair: green.
    pub(super) fn repair(&mut self, words: &str, indent: &str) {
        let text = self.style.wrapped(&format!("→ {words}"), indent);
        self.each_line(&text, |style, line| style.text(console::Style::new().green(), line));
    }

    fn each_line(&mut self, text: &str, look: impl Fn(Style, &str) -> String) {
        for line in text.lines() {
            let line = look(self.style, line);
            self.line(&line);
        }
    }

    /// `left`, and `right` dim at the right margin, or below where there is no room.
    pub(super) fn line_with(&mut self, left: &Styled, right: &str, indent: usize) {
        /// Farther to the right it would not be read as part of the line.
        const MAX_COLUMNS: usize = 110;
        let width = self.width().min(MAX_COLUMNS.max(left.width + 2 + measured(right)));
        let taken = measured(right);
        if right.is_empty() {
            return self.line(&left.text);
        }
        if left.width + 2 + taken <= width {
            let space = " ".repeat(width - left.width - taken);
            let line = format!("{}{space}{}", left.text, self.style.quiet(right));
            return self.line(&line);
        }
        self.line(&left.text);
        let room = self.width().saturating_sub(indent);
        let line = format!("{}{}", " ".repeat(indent), self.style.quiet(&cut(right, room)));
        self.line(&line);
    }

    /// Items one after the other, after `indent`, on as many lines as it takes.
    pub(super) fn items(&mut self, items: &[Styled], separator: &str, indent: usize) {
        let mut line = String::new();
        let mut taken = 0;
        for (index, item) in items.iter().enumerate() {
            let last = index + 1 == items.len();
            let end = if last { "" } else { separator.trim_end() };
            if taken > 0
                && indent + taken + measured(separator) + item.width + measured(end) > self.width()
            {
                self.line(&format!("{}{line}{}", " ".repeat(indent), separator.trim_end()));
                line.clear();
                taken = 0;
            }
            if taken > 0 {
                line += separator;
                taken += measured(separator);
            }
            line += &item.text;
            taken += item.width;
        }
        if taken > 0 {
            self.line(&format!("{}{line}", " ".repeat(indent)));
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Styled {
    pub(super) text: String,
    pub(super) width: usize,
}

impl Styled {
    pub(super) fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), width: measured(text) }
    }

    pub(super) fn new(text: &str, look: impl FnOnce(&str) -> String) -> Self {
        Self { text: look(text), width: measured(text) }
    }

    pub(super) fn and(mut self, more: &Self) -> Self {
        self.text += &more.text;
        self.width += more.width;
        self
    }
}

pub(super) fn measured(text: &str) -> usize {
    console::measure_text_width(text)
}

pub(super) fn cut(text: &str, columns: usize) -> String {
    if measured(text) <= columns {
        return text.to_owned();
    }
    console::truncate_str(text, columns, "…").into_owned()
}

/// The text in so many columns: cut, or followed by spaces.
pub(super) fn padded(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    let space = " ".repeat(columns.saturating_sub(measured(&text)));
    text + &space
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_at_the_right_is_below() {
        let mut text = TerminalText::new(Style { width: 20, colour: false });
        text.line_with(&Styled::plain("left"), "right", 2);
        text.line_with(&Styled::plain("as long as it gets"), "right", 2);
        assert_eq!(text.into_string(), "left           right\nas long as it gets\n  right\n");
    }

    #[test]
    fn items_go_on_in_the_next_line() {
        let mut text = TerminalText::new(Style { width: 12, colour: false });
        let items: Vec<_> =
            ["one", "two", "three"].iter().map(|each| Styled::plain(each)).collect();
        text.items(&items, ", ", 2);
        assert_eq!(text.into_string(), "  one, two,\n  three\n");
    }
}
