//! Measured curves: one model for the results of every instrument, and one renderer for each format.
//!
//! ```text
//! an instrument's result ──> CurvesReport ──┬──> terminal   tables as full as fit
//!        │                            └──> page       one HTML file with charts
//!        └──> JSON, by its own schema
//! ```
//!
//! A [`CurveScenario`] has *measures* (a column, a chart), *points* (numbers of threads or CPUs), and at each point *rows*
//! (variants) with one [`CurveCell`] for each measure. Tables, charts and captions follow from these; both renderers show
//! `table`'s one form of a table.

pub mod checks;
mod figures;
pub mod page;
mod table;
pub mod terminal;

pub use page::MachineSummary;
pub use table::{Column, Only, Shown, TableLine, TableSection, TextTable};

use crate::numbers;
use crate::parts::Parts;
use crate::stats::Estimate;
use crate::verdict::Verdict;
use serde::Serialize;

/// An instrument's result.
pub trait AsCurves: Serialize {
    /// The result as curves.
    fn curves(&self) -> CurvesReport;
}

/// One run of an instrument.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CurvesReport {
    /// The page's title.
    pub title: String,
    /// Tenure's version.
    pub version: String,
    /// The version of its JSON.
    pub schema: String,
    /// Too few figures to quote.
    pub quick: bool,
    /// A terminal's first paragraphs.
    #[serde(skip)]
    pub opening: Vec<String>,
    /// When and how this was made: the line below a page's title.
    pub made: Vec<String>,
    /// Deviations from the request.
    pub notes: Vec<String>,
    /// The whole run in a sentence, if it is judged.
    #[serde(skip)]
    pub conclusion: Option<String>,
    /// Verdicts on claims.
    #[serde(skip)]
    pub verdicts: Vec<Verdict>,
    /// The machine, as shown on the page.
    pub machine: MachineSummary,
    /// The scenarios.
    #[serde(skip)]
    pub groups: Vec<ScenarioGroup>,
    /// Parts of a page of one instrument.
    pub chapters: Vec<Chapter>,
    /// A terminal's last paragraphs.
    #[serde(skip)]
    pub closing: Vec<String>,
    /// How the figures were made: HTML.
    pub method: String,
    /// CSS of the page's own parts.
    #[serde(skip)]
    pub style: &'static str,
}

/// Scenarios that belong together.
#[derive(Debug, Clone, Default)]
pub struct ScenarioGroup {
    /// Name on the command line.
    pub name: String,
    /// A heading.
    pub title: String,
    /// What is measured, and why.
    pub about: String,
    /// Its scenarios.
    pub scenarios: Vec<CurveScenario>,
}

/// A part of a page of one instrument.
#[derive(Debug, Clone, Serialize)]
pub struct Chapter {
    /// Unique in the page.
    pub anchor: &'static str,
    /// A heading.
    pub title: &'static str,
    /// A sentence without its period.
    pub lead: String,
    /// HTML.
    pub html: String,
}

/// One operation, done by several variants under several conditions.
#[derive(Debug, Clone, Default)]
pub struct CurveScenario {
    /// Unique in the report: `refs/get-put`.
    pub id: String,
    /// A heading.
    pub title: String,
    /// One operation.
    pub about: String,
    /// The row that the others are compared with.
    pub baseline: String,
    /// The row that shows what the hardware allows.
    pub limit: Option<String>,
    /// What its points are.
    pub axis: Axis,
    /// Columns and charts.
    pub measures: Vec<Measure>,
    /// Ascending.
    pub points: Vec<CurvePoint>,
    /// Bars at one point, beside curves over all.
    pub bars: bool,
    /// Tables of other figures.
    pub tables: Vec<TextTable>,
    /// Sentences without a capital and a period.
    pub notes: Vec<String>,
    /// The result, in a sentence.
    pub answer: Option<Parts>,
    /// One instrument's addition to a page: HTML.
    pub html: String,
}

/// What the points of a scenario are.
#[derive(Debug, Clone, Default)]
pub struct Axis {
    /// The unit: `thread`, `CPU`.
    pub one: &'static str,
    /// The word before a number: `at`, `on`.
    pub at: &'static str,
    /// A terminal shows points side by side, and measures below each other.
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
    /// Points there do not stand for the scenario.
    pub overload: bool,
}

/// A scenario under one condition.
#[derive(Debug, Clone, Default)]
pub struct CurvePoint {
    /// Its place on the axis.
    pub at: usize,
    /// The variants.
    pub rows: Vec<CurveRow>,
}

/// A variant under one condition.
#[derive(Debug, Clone)]
pub struct CurveRow {
    /// Unique in the point.
    pub name: String,
    /// One cell for each measure of the scenario.
    pub cells: Vec<Option<CurveCell>>,
}

/// A figure or a text.
#[derive(Debug, Clone)]
pub enum CurveCell {
    /// A figure.
    Figure {
        /// A value, or a median.
        value: f64,
        /// The ends of its interval, if any. Equal ends are one value, which has no interval to show.
        interval: Option<(f64, f64)>,
        /// Ratios have their own.
        tone: Tone,
    },
    /// A text.
    Text(String),
}

impl From<f64> for CurveCell {
    fn from(value: f64) -> Self {
        Self::Figure { value, interval: None, tone: Tone::Plain }
    }
}

impl From<Estimate> for CurveCell {
    fn from(Estimate { median, low, high }: Estimate) -> Self {
        Self::Figure { value: median, interval: Some((low, high)), tone: Tone::Plain }
    }
}

impl CurveCell {
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

/// A figure's meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// No meaning.
    #[default]
    #[serde(rename = "")]
    Plain,
    /// Better than the baseline.
    Faster,
    /// Worse.
    Slower,
    /// Neither, as far as known.
    Unresolved,
}

impl Tone {
    /// The tone of a ratio of times. An exact one that is 1 to two decimals is 1; one measured value says nothing.
    #[must_use]
    pub fn of(value: f64, interval: Option<(f64, f64)>) -> Self {
        match interval.unwrap_or((value * 0.995, value / 0.995)) {
            _ if interval.is_none() && !value.is_finite() => Self::Plain,
            _ if interval.is_some_and(is_one_value) => Self::Plain,
            (_, high) if high < 1.0 => Self::Faster,
            (low, _) if low > 1.0 => Self::Slower,
            _ => Self::Unresolved,
        }
    }
}

/// The form of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// A number with three significant digits.
    Number,
    /// A number without decimals.
    Whole,
    /// A number with three decimals: the distance from 1 matters.
    Index,
    /// A ratio that is not judged.
    Ratio,
    /// A ratio of which less is better.
    Less,
}

/// A column or a chart.
#[derive(Debug, Clone)]
pub struct Measure {
    heading: String,
    show: Show,
    /// Steps of narrowness at which a terminal shows it; never at 0.
    steps: u8,
    /// Steps for its interval; `None` if no table shows it.
    interval: Option<u8>,
    /// Only in the table of all figures.
    is_detail: bool,
    is_notable: fn(f64) -> bool,
    curve: Option<CurveStyle>,
    bars: Option<Bars>,
}

const ALWAYS: u8 = u8::MAX;

impl Measure {
    /// A column of every table.
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

    /// Drops the column from a terminal that is more than `steps` too narrow.
    #[must_use]
    pub fn for_steps(self, steps: u8) -> Self {
        Self { steps, ..self }
    }

    /// Only for pages.
    #[must_use]
    pub fn on_page(self) -> Self {
        self.for_steps(0)
    }

    /// Adds the interval, in terminals for so many `steps`.
    #[must_use]
    pub fn with_interval(self, steps: u8) -> Self {
        Self { interval: Some(steps), ..self }
    }

    /// Adds the interval.
    #[must_use]
    pub fn with_its_interval(self) -> Self {
        self.with_interval(ALWAYS)
    }

    /// Only for the page's table of all figures.
    #[must_use]
    pub fn detail(self) -> Self {
        Self { is_detail: true, ..self.on_page() }
    }

    /// Where points are side by side, shows only variants with a notable figure.
    #[must_use]
    pub fn notable_if(self, is_notable: fn(f64) -> bool) -> Self {
        Self { is_notable, ..self }
    }

    /// Adds a chart over the axis to a page.
    #[must_use]
    pub fn curve(self, curve: CurveStyle) -> Self {
        Self { curve: Some(curve), ..self }
    }

    /// Adds bars to the page of a single point.
    #[must_use]
    pub fn bars(self, bars: Bars) -> Self {
        Self { bars: Some(bars), ..self }
    }
}

/// A chart of a measure over the axis.
#[derive(Debug, Clone, Copy)]
pub struct CurveStyle {
    /// A word: `throughput`.
    pub name: &'static str,
    /// The caption above the chart.
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
    /// The caption above the chart.
    pub caption: &'static str,
    /// Which direction is better.
    pub better: &'static str,
    /// The unit.
    pub unit: &'static str,
}

impl Axis {
    /// `8 threads`.
    fn place(&self, at: usize) -> String {
        numbers::counted(at, self.one)
    }

    /// ` at 1, 2 and 8 threads`.
    fn phrase(&self, points: &[&CurvePoint]) -> String {
        let Some((last, rest)) = points.split_last() else { return String::new() };
        let rest: Vec<String> = rest.iter().map(|point| numbers::whole(point.at)).collect();
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

impl CurveScenario {
    fn rows(&self) -> impl Iterator<Item = &CurveRow> {
        self.points.iter().flat_map(|point| &point.rows)
    }

    /// The point that stands for the scenario: the last without overload, or else the first.
    fn headline(&self) -> Option<&CurvePoint> {
        let mut points = self.points.iter().filter(|point| !point.rows.is_empty());
        let first = points.clone().next();
        points.rfind(|point| !self.axis.is_overload(point.at)).or(first)
    }

    fn mark(&self, name: &str) -> &'static str {
        if name == self.baseline {
            "baseline"
        } else if self.limit.as_deref() == Some(name) {
            "limit"
        } else {
            ""
        }
    }

    /// Whether figures are not 0 throughout.
    fn has_any<'a>(measure: usize, mut rows: impl Iterator<Item = &'a CurveRow>) -> bool {
        rows.any(|row| match &row.cells[measure] {
            Some(cell) => cell.value() != Some(0.0),
            None => false,
        })
    }
}

fn is_one_value((low, high): (f64, f64)) -> bool {
    low == high
}

/// `[0.40, 0.42]`, or the reason why there is no interval.
fn ends(interval: Option<(f64, f64)>, digits: fn(f64) -> String) -> String {
    match interval {
        None => String::new(),
        Some(ends) if is_one_value(ends) => "one value".to_owned(),
        Some((low, high)) => format!("[{}, {}]", digits(low), digits(high)),
    }
}

fn sentence(note: &str) -> String {
    let mut letters = note.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str())
}

#[cfg(test)]
mod tests;
