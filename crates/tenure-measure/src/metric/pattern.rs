//! Figures that the user describes, of programs whose output no format knows.

use std::fmt;
use std::ops::Range;

use regex_lite::{Match, Regex};
use tenure_model::Better;

use super::figures::{Figures, Reading};
use super::text::{Form, lines, number, number_and_unit, plain};
use super::unit::{FigureUnit, scale};

/// A regular expression that finds figures in what a program prints, line by line.
///
/// Its first group is the number, which may have thousands separators, an exponent, and a suffix such as `k`. A group that is
/// called `name` is the figure's name. Of a unit such as `ms` after the number, or else in the pattern, follows the scale and
/// which figure is the better one.
///
/// ```
/// use tenure_measure::metric::Pattern;
///
/// let found = Pattern::new("ops/s: ([0-9.]+)", None)?.readings("ops/s: 1.5k");
/// assert_eq!(found[0].value, 1500.0);
/// # Ok::<(), tenure_measure::metric::PatternError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
    /// The group that is the number.
    number: usize,
    /// The unit that the pattern names.
    unit: Option<FigureUnit>,
    better: Better,
}

/// Why a pattern cannot be used, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternError(String);

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for PatternError {}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.regex.fmt(f)
    }
}

impl Pattern {
    /// A pattern; `better` is for one that names no unit, or another's.
    ///
    /// # Errors
    ///
    /// If it is no regular expression, if it has no group for the number, or if `better` is `None` and no unit in the pattern says
    /// which figure is the better one.
    pub fn new(pattern: &str, better: Option<Better>) -> Result<Self, PatternError> {
        let regex = Regex::new(pattern).map_err(|error| {
            PatternError(format!("`{pattern}` is no regular expression: {error}"))
        })?;
        let mut groups = regex.capture_names().enumerate().skip(1);
        let Some((number, _)) = groups.find(|(_, name)| *name != Some("name")) else {
            let advice = "put the number in parentheses, as in `ops/s: ([0-9.]+)`";
            return Err(PatternError(format!("`{pattern}` has no group: {advice}")));
        };
        let unit = unit_in(pattern).filter(|it| better.is_none_or(|better| it.better == better));
        let Some(better) = better.or(unit.as_ref().map(|it| it.better)) else {
            let advice = "add --better lower, or --better higher";
            return Err(PatternError(format!(
                "`{pattern}` has no unit such as ns or ops/s: {advice}"
            )));
        };
        Ok(Self { regex, number, unit, better })
    }

    /// The figures that it finds. Several ones without names are `#1`, `#2` and so on.
    #[must_use]
    pub fn readings(&self, output: &str) -> Vec<Reading> {
        let output = plain(output);
        let mut figures = Figures::default();
        for line in lines(&output) {
            for found in self.regex.captures_iter(line) {
                let name = found.name("name").map_or("", |it| it.as_str());
                if let (Some(whole), Some(group)) = (found.get(0), found.get(self.number))
                    && let Some((value, after)) = figure(line, group, whole)
                {
                    figures.push(name, value, self.unit(after));
                }
            }
        }
        let mut readings = figures.readings(true);
        if readings.len() > 1 && !self.regex.capture_names().any(|it| it == Some("name")) {
            for (number, reading) in (1..).zip(&mut readings) {
                reading.name = format!("#{number}");
            }
        }
        readings
    }

    /// The unit after the number if it fits, or else the pattern's.
    fn unit(&self, after: Option<FigureUnit>) -> FigureUnit {
        let unit = after.filter(|it| it.better == self.better).or_else(|| self.unit.clone());
        unit.unwrap_or(FigureUnit { name: String::new(), factor: 1.0, better: self.better })
    }
}

/// The last number of the output, in ns if a unit of time follows it. `None` if that is not above zero, or `nan`.
///
/// ```
/// use tenure_measure::metric::last_number;
///
/// assert_eq!(last_number("8 threads\ntook 1.5 ms, on 2026-11-28"), Some(1.5e6));
/// ```
#[must_use]
pub fn last_number(output: &str) -> Option<f64> {
    let output = plain(output);
    let value = lines(&output).rev().find_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        (0..words.len()).rev().find_map(|at| alone(words[at], words.get(at + 1).copied()))
    })?;
    (value.is_finite() && value > 0.0).then_some(value)
}

/// The number that a word is, or the value in `name=value`: no date, version or share has one. `nan` and `-5` are numbers, and no
/// figures.
fn alone(word: &str, next: Option<&str>) -> Option<f64> {
    if next.is_some_and(|it| it.starts_with('%')) {
        return None;
    }
    let is_name = |it: &str| it.ends_with(|it: char| it.is_alphabetic() || "_)\"'".contains(it));
    let value = word.rsplit_once(['=', ':']).filter(|(name, _)| is_name(name));
    let word = bare(value.map_or(word, |(_, value)| value));
    if let Some(value) = number(word) {
        let unit = next.and_then(|it| FigureUnit::of(bare(it)));
        return Some(value * unit.map_or(1.0, |it| it.factor));
    }
    if let Some((value, unit)) = number_and_unit(word) {
        return Some(value * FigureUnit::of(unit)?.factor);
    }
    word.parse().ok()
}

/// A word without the punctuation around it.
fn bare(word: &str) -> &str {
    let word = word.trim_matches([',', ';', ':', '(', ')', '[', ']', '{', '}', '"', '\'']);
    word.trim_end_matches(['.', '!'])
}

/// The number of a group, and the unit after it. Where the pattern says nothing of what is beside the group, the number is read
/// whole: of `1,234.5` a group `([0-9.]+)` has the `1` alone.
fn figure(line: &str, group: Match<'_>, whole: Match<'_>) -> Option<(f64, Option<FigureUnit>)> {
    let (mut start, mut end) = (group.start(), group.end());
    let (is_open_before, is_open_after) = (whole.start() == start, whole.end() == end);
    if let Some(token) = number_around(line, start) {
        start = if is_open_before { token.start } else { start };
        end = if is_open_after { end.max(token.end) } else { end };
    }
    let is_negative = is_open_before && line[..start].ends_with('-');
    let value = number(line[start..end].trim().trim_end_matches(['.', ',']))?;
    let (factor, unit) = unit_after(&line[end..]);
    (!is_negative).then_some((value * factor, unit))
}

/// Where the number is that `at` is in or begins.
fn number_around(line: &str, at: usize) -> Option<Range<usize>> {
    static NUMBER: Form =
        Form::new("", r"[0-9]+(?:[,_'][0-9]{3})*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?");
    let before = line[..at].trim_end_matches(|it: char| it.is_ascii_digit() || ".,_'".contains(it));
    let from = before.len();
    let token = NUMBER.all(&line[from..]).find(|it| from + it.end() > at)?;
    let token = from + token.start()..from + token.end();
    let after = line[token.end..].strip_prefix(',').unwrap_or_default();
    // In a list, commas part numbers.
    let is_listed =
        after.starts_with(|it: char| it.is_ascii_digit()) || line[..token.start].ends_with(',');
    (token.start <= at && !is_listed)
        .then_some(token)
        .filter(|it| number(&line[it.clone()]).is_some())
}

/// What the prefix right after a number scales it by, and the unit that follows: `k ops/s`, ` MB/s`, ` requests per second`.
fn unit_after(text: &str) -> (f64, Option<FigureUnit>) {
    static WORD: Form = Form::new("", r"^( ?)([^\s,;()\[\]]+(?: per [a-z]+)?)");
    let Some([space, word]) = WORD.parts(text) else { return (1.0, None) };
    let unit = FigureUnit::of(word.trim_end_matches(['.', ':']));
    match scale(word) {
        Some(factor) if unit.is_none() && space.is_empty() => {
            (factor, unit_after(&text[word.len()..]).1)
        }
        _ => (1.0, unit),
    }
}

/// The first unit in the literal text of a pattern.
fn unit_in(pattern: &str) -> Option<FigureUnit> {
    // Escapes, sets and the names and flags of groups: `\s` is no second.
    static SYNTAX: Form = Form::new("", r"\\.|\[[^\]]*\]|\(\?[^:>)]*[:>)]");
    let mut literal = String::new();
    let mut end = 0;
    for syntax in SYNTAX.all(pattern) {
        literal.push_str(&pattern[end..syntax.start()]);
        literal.push(' ');
        end = syntax.end();
    }
    literal.push_str(&pattern[end..]);
    let literal = literal.replace(" per ", "/");
    literal.split(|it: char| !it.is_alphanumeric() && !"_/'".contains(it)).find_map(FigureUnit::of)
}
