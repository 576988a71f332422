//! Lines without colours and progress, and numbers.

use std::borrow::Cow;
use std::sync::OnceLock;

use console::strip_ansi_codes;
use regex_lite::{Match, Regex};

use super::unit::scale;

/// The output without colours.
pub(super) fn plain(output: &str) -> Cow<'_, str> {
    strip_ansi_codes(output)
}

/// The lines as a terminal shows them in the end: what follows a carriage return hides what came before it.
pub(super) fn lines(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.lines()
        .map(|line| line.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or(""))
        .map(str::trim_end)
}

/// The form of a line.
pub(super) struct Form {
    /// A part of every such line. It is looked for first: a log has a million other lines.
    mark: &'static str,
    pattern: &'static str,
    regex: OnceLock<Regex>,
}

impl Form {
    /// The form of lines that have `mark` and match `pattern`.
    pub(super) const fn new(mark: &'static str, pattern: &'static str) -> Self {
        Self { mark, pattern, regex: OnceLock::new() }
    }

    /// All parts of a text that match.
    pub(super) fn all<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Match<'a>> {
        self.regex().find_iter(text)
    }

    /// The text of each group, if the line has this form. Every group of the pattern takes part in each match.
    pub(super) fn parts<'a, const N: usize>(&self, line: &'a str) -> Option<[&'a str; N]> {
        if !line.contains(self.mark) {
            return None;
        }
        Some(self.regex().captures(line)?.extract().1)
    }

    fn regex(&self) -> &Regex {
        self.regex.get_or_init(|| Regex::new(self.pattern).expect("a valid pattern"))
    }
}

/// The number that `text` is as a whole, without a sign: `1,234.5`, `1_000`, `1e-3`, `1.2k`.
pub(super) fn number(text: &str) -> Option<f64> {
    static NUMBER: Form = Form::new(
        "",
        r"^((?:[0-9]{1,3}(?:[,_'][0-9]{3})+|[0-9]+)?(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)([kKMGTPE]i?|)$",
    );
    let [digits, prefix] = NUMBER.parts(text)?;
    let value: f64 = digits.replace([',', '_', '\''], "").parse().ok()?;
    Some(value * if prefix.is_empty() { 1.0 } else { scale(prefix)? })
}

/// A number and the unit that is written right after it: `12.5ms`, `3.2 GiB/s`.
pub(super) fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    static PARTED: Form = Form::new("", r"^([0-9.,]+(?:[eE][+-]?[0-9]+)?) ?([^0-9\s].*)$");
    let [value, unit] = PARTED.parts(text.trim())?;
    Some((number(value)?, unit))
}
