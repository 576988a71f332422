//! Measured curves: one model that every instrument with scenarios, variants and figures converts its results into, and
//! one renderer for each format.
//!
//! ```text
//! an instrument's result ──> Report ──┬──> terminal   tables as full as fit
//!        │                            └──> page       one HTML file with charts
//!        └──> JSON, by its own schema
//! ```
//!
//! A [`Scenario`] has *measures* (what each row shows: a column, a chart), *points* (numbers of threads or CPUs),
//! and at each point *rows* (variants) with one [`Cell`] for each measure. Tables, charts and their captions follow
//! from these; `table` has the one form of a table, which both renderers show.

pub mod checks;
mod figures;
pub mod page;
mod table;
pub mod terminal;

pub use page::Machine;
pub use table::{Column, Line, Only, Section, Shown, Table};

use crate::stats::Estimate;
use crate::verdict::Verdict;
use crate::words::{self, Parts};
use serde::Serialize;

/// What an instrument found.
pub trait Measured: Serialize {
    /// The result as curves.
    fn curves(&self) -> Report;
}

/// One run of an instrument.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// The page's title.
    pub title: String,
    /// The version of Tenure that made it.
    pub version: String,
    /// The version of its JSON.
    pub schema: String,
    /// Its figures are too few to quote.
    pub quick: bool,
    /// What a terminal shows first, a paragraph each.
    #[serde(skip)]
    pub opening: Vec<String>,
    /// What a page says below its title: when and how this was made.
    pub made: Vec<String>,
    /// What differs from what was asked for.
    pub notes: Vec<String>,
    /// The whole run in a sentence, where it is judged.
    #[serde(skip)]
    pub conclusion: Option<String>,
    /// What the figures say about claims.
    #[serde(skip)]
    pub verdicts: Vec<Verdict>,
    /// On what the figures were taken; the page shows it.
    pub machine: Machine,
    /// The scenarios.
    #[serde(skip)]
    pub groups: Vec<Group>,
    /// What was not measured, and why.
    pub missing: Vec<String>,
    /// Parts of a page that one instrument alone has.
    pub chapters: Vec<Chapter>,
    /// What a terminal shows after the scenarios, a paragraph each.
    #[serde(skip)]
    pub closing: Vec<String>,
    /// How the figures were made: HTML.
    pub method: String,
    /// What the page's own parts look like: CSS.
    #[serde(skip)]
    pub style: &'static str,
}

/// Scenarios that belong together.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// The name on the command line.
    pub name: String,
    /// A heading.
    pub title: String,
    /// What is measured, and why.
    pub about: String,
    /// Its scenarios.
    pub scenarios: Vec<Scenario>,
}

/// A part of a page that one instrument alone has.
#[derive(Debug, Clone, Serialize)]
pub struct Chapter {
    /// Unique in the page.
    pub anchor: &'static str,
    /// A heading.
    pub title: &'static str,
    /// What it says, in a sentence without its period.
    pub lead: String,
    /// HTML.
    pub html: String,
}

/// One operation, done by several variants under several conditions.
#[derive(Debug, Clone, Default)]
pub struct Scenario {
    /// Unique in the report: `refs/get-put`.
    pub id: String,
    /// A heading.
    pub title: String,
    /// What one operation is.
    pub about: String,
    /// The row that the others are compared with.
    pub baseline: String,
    /// The row that shows what the hardware allows.
    pub limit: Option<String>,
    /// What its points are.
    pub axis: Axis,
    /// What each row shows.
    pub measures: Vec<Measure>,
    /// The conditions, ascending.
    pub points: Vec<Point>,
    /// Whether its page has bars at one point beside curves over all.
    pub bars: bool,
    /// Tables of something else.
    pub tables: Vec<Table>,
    /// Sentences without a capital and a period.
    pub notes: Vec<String>,
    /// What it says, in a sentence.
    pub answer: Option<Parts>,
    /// What one instrument alone shows of it on a page: HTML.
    pub html: String,
}

/// What the points of a scenario are.
#[derive(Debug, Clone, Default)]
pub struct Axis {
    /// What is counted: `thread`, `CPU`. Empty where there is one point, without a number.
    pub one: &'static str,
    /// The word before a number of them: `at`, `on`.
    pub at: &'static str,
    /// Whether a terminal shows the points side by side, and the measures below each other.
    pub across: bool,
    /// Where something else begins.
    pub beyond: Option<Beyond>,
}

/// What begins beyond a place of an axis.
#[derive(Debug, Clone)]
pub struct Beyond {
    /// The last place before it.
    pub edge: usize,
    /// What it is: `more threads than CPUs`.
    pub why: String,
    /// Whether points there do not stand for the scenario.
    pub overload: bool,
}

/// A scenario under one condition.
#[derive(Debug, Clone, Default)]
pub struct Point {
    /// Its place on the axis.
    pub at: usize,
    /// The variants.
    pub rows: Vec<Row>,
}

/// A variant under one condition.
#[derive(Debug, Clone)]
pub struct Row {
    /// Unique in the point.
    pub name: String,
    /// For each measure of the scenario, what is known.
    pub cells: Vec<Option<Cell>>,
}

/// What is known of a row.
#[derive(Debug, Clone)]
pub enum Cell {
    /// A figure.
    Figure {
        /// Its value, or its median.
        value: f64,
        /// The ends of its interval, where it has one.
        interval: Option<(f64, f64)>,
        /// What it says, unless it is a ratio, which says it by itself.
        tone: Tone,
    },
    /// A text.
    Text(String),
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Figure { value, interval: None, tone: Tone::Plain }
    }
}

impl From<Estimate> for Cell {
    fn from(Estimate { median, low, high }: Estimate) -> Self {
        Self::Figure { value: median, interval: Some((low, high)), tone: Tone::Plain }
    }
}

impl Cell {
    /// The figure in a tone.
    #[must_use]
    pub fn toned(self, tone: Tone) -> Self {
        match self {
            Self::Figure { value, interval, .. } => Self::Figure { value, interval, tone },
            text @ Self::Text(_) => text,
        }
    }

    fn value(&self) -> Option<f64> {
        match self {
            Self::Figure { value, .. } => Some(*value),
            Self::Text(_) => None,
        }
    }
}

/// What a figure says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// Nothing.
    #[default]
    #[serde(rename = "")]
    Plain,
    /// Better than what it is compared with.
    Faster,
    /// Worse.
    Slower,
    /// Neither, as far as known.
    Unresolved,
}

impl Tone {
    /// Of a ratio of times. An exact one that is 1 to two decimals is 1.
    #[must_use]
    pub fn of(value: f64, interval: Option<(f64, f64)>) -> Self {
        match interval.unwrap_or((value * 0.995, value / 0.995)) {
            _ if interval.is_none() && !value.is_finite() => Self::Plain,
            (_, high) if high < 1.0 => Self::Faster,
            (low, _) if low > 1.0 => Self::Slower,
            _ => Self::Unresolved,
        }
    }

    fn reversed(self) -> Self {
        match self {
            Self::Faster => Self::Slower,
            Self::Slower => Self::Faster,
            other => other,
        }
    }
}

/// How a figure is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// With three digits that count.
    Number,
    /// Without decimals.
    Whole,
    /// With three decimals: what matters is how far it is from 1.
    Index,
    /// As a ratio that is not judged.
    Ratio,
    /// As a ratio of which less is better.
    Less,
    /// As a ratio of which more is better.
    More,
}

/// What each row shows.
#[derive(Debug, Clone)]
pub struct Measure {
    heading: String,
    show: Show,
    /// For so many steps of narrowness a terminal shows it: 0 is never.
    steps: u8,
    /// The same of its interval; `None` if no table shows it.
    interval: Option<u8>,
    /// Only the table of all figures has it.
    is_detail: bool,
    is_notable: fn(f64) -> bool,
    curve: Option<Curve>,
    bars: Option<Bars>,
}

/// How long the most important columns stay.
const ALWAYS: u8 = u8::MAX;

impl Measure {
    /// A column that every table has.
    #[must_use]
    pub fn new(heading: impl Into<String>, show: Show) -> Self {
        Self {
            heading: heading.into(),
            show,
            steps: ALWAYS,
            interval: None,
            is_detail: false,
            is_notable: |_| true,
            curve: None,
            bars: None,
        }
    }

    /// A terminal shows the column while it is `steps` too narrow for all of them at most.
    #[must_use]
    pub fn for_steps(self, steps: u8) -> Self {
        Self { steps, ..self }
    }

    /// Only a page shows it.
    #[must_use]
    pub fn on_page(self) -> Self {
        self.for_steps(0)
    }

    /// Tables show the interval too, those of a terminal for so many `steps`.
    #[must_use]
    pub fn with_interval(self, steps: u8) -> Self {
        Self { interval: Some(steps), ..self }
    }

    /// Tables show the interval too.
    #[must_use]
    pub fn with_its_interval(self) -> Self {
        self.with_interval(ALWAYS)
    }

    /// Only the page's table of all figures has it.
    #[must_use]
    pub fn detail(self) -> Self {
        Self { is_detail: true, ..self.on_page() }
    }

    /// Where points are side by side, a variant is shown only if one of its figures is notable.
    #[must_use]
    pub fn notable_if(self, is_notable: fn(f64) -> bool) -> Self {
        Self { is_notable, ..self }
    }

    /// A page has a chart of it over the axis.
    #[must_use]
    pub fn curve(self, curve: Curve) -> Self {
        Self { curve: Some(curve), ..self }
    }

    /// A page has bars of it where there is one point.
    #[must_use]
    pub fn bars(self, bars: Bars) -> Self {
        Self { bars: Some(bars), ..self }
    }
}

/// A chart of a measure over the axis.
#[derive(Debug, Clone, Copy)]
pub struct Curve {
    /// A word: `throughput`.
    pub name: &'static str,
    /// Above the chart.
    pub caption: &'static str,
    /// Which direction is better.
    pub better: &'static str,
    /// The unit in full.
    pub unit: &'static str,
    /// Values that are far apart may be shown by their ratios.
    pub may_be_logarithmic: bool,
}

/// Bars of a measure at one point.
#[derive(Debug, Clone, Copy)]
pub struct Bars {
    /// Above the chart.
    pub caption: &'static str,
    /// Which direction is better.
    pub better: &'static str,
    /// The unit.
    pub unit: &'static str,
}

impl Axis {
    /// `8 threads`.
    fn place(&self, at: usize) -> String {
        if self.one.is_empty() { String::new() } else { words::counted(at, self.one) }
    }

    /// ` at 1, 2 and 8 threads`.
    fn phrase(&self, points: &[&Point]) -> String {
        let Some((last, rest)) = points.split_last().filter(|_| !self.one.is_empty()) else {
            return String::new();
        };
        let rest: Vec<String> = rest.iter().map(|point| words::whole(point.at)).collect();
        let and = if rest.is_empty() { "" } else { " and " };
        format!(" {} {}{and}{}", self.at, rest.join(", "), self.place(last.at))
    }

    fn is_beyond(&self, at: usize) -> bool {
        self.beyond.as_ref().is_some_and(|beyond| at > beyond.edge)
    }

    fn is_overload(&self, at: usize) -> bool {
        self.is_beyond(at) && self.beyond.as_ref().is_some_and(|beyond| beyond.overload)
    }
}

impl Scenario {
    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.points.iter().flat_map(|point| &point.rows)
    }

    /// The point that stands for the scenario: the last without overload, or else the first.
    fn headline(&self) -> Option<&Point> {
        let mut points = self.points.iter().filter(|point| !point.rows.is_empty());
        let first = points.clone().next();
        points.rfind(|point| !self.axis.is_overload(point.at)).or(first)
    }

    /// What the others are compared with, or what the hardware allows.
    fn mark(&self, name: &str) -> &'static str {
        if name == self.baseline {
            "baseline"
        } else if self.limit.as_deref() == Some(name) {
            "limit"
        } else {
            ""
        }
    }

    /// Whether a measure has something to say in some rows: figures that are not 0 throughout.
    fn has_any<'a>(measure: usize, mut rows: impl Iterator<Item = &'a Row>) -> bool {
        rows.any(|row| match &row.cells[measure] {
            Some(cell) => cell.value() != Some(0.0),
            None => false,
        })
    }
}

/// A note as a sentence of its own.
fn sentence(note: &str) -> String {
    let mut letters = note.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str())
}

#[cfg(test)]
mod tests;
